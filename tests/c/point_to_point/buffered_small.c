/* ranks: 2; transports: all; MPI 5.0 3.6 */
/* A buffered message takes at most 64 bytes of the attached buffer beside its own, so a program
 * that counts with less than MPI_BSEND_OVERHEAD, as other libraries let it, has room. */
#include "../check.h"

enum { MESSAGES = 50, BYTES = 100, OVERHEAD = 64 };

int main(int argc, char **argv)
{
    static char room[MESSAGES * (BYTES + OVERHEAD)], data[BYTES];
    int i, bytes;
    void *address;

    begin(&argc, &argv);
    CHECK(OVERHEAD <= MPI_BSEND_OVERHEAD, "the constant to be a bound");
    if (rank == 0) {
        MPI_Buffer_attach(room, sizeof room);
        for (i = 0; i < MESSAGES; i++) {
            fill(data, BYTES, (unsigned)i);
            MPI_Bsend(data, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        for (i = MESSAGES - 1; i >= 0; i--) {
            MPI_Recv(data, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_FILLED(data, BYTES, (unsigned)i);
        }
    } else {
        MPI_Buffer_detach(&address, &bytes);
        CHECK_INT(bytes, sizeof room);
    }
    return end();
}
