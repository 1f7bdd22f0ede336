/* ranks: 2; transports: all; MPI 5.0 3.2 */
/* Every length near a power of two and near every packet boundary, at every alignment. */
#include "../check.h"

enum { TAG = 2, LARGEST = 300000, SLACK = 8 };

static char out[LARGEST + SLACK], in[LARGEST + SLACK];

static void bounce(int bytes, int shift)
{
    MPI_Status status;

    if (rank == 0) {
        fill(out + shift, bytes, bytes);
        MPI_Send(out + shift, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    }
    in[shift + bytes] = 99;
    MPI_Recv(in + shift, bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, 1 - rank, TAG, bytes);
    CHECK_FILLED(in + shift, bytes, bytes);
    CHECK_INT(in[shift + bytes], 99);
    if (rank == 1)
        MPI_Send(in + shift, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int bytes, i, near;
    unsigned state = 1;

    begin(&argc, &argv);
    for (bytes = 0; bytes < 300; bytes++)
        bounce(bytes, bytes % SLACK);
    for (i = 9; i <= 18; i++)
        for (near = -40; near <= 3; near++)
            bounce((1 << i) + near, i % SLACK);
    for (i = 1; i <= 40; i++)
        for (near = -60; near <= 0; near += 4)
            bounce(i * 1500 + near, 0);
    for (i = 0; i < 300; i++)
        bounce((int)(next_random(&state) % LARGEST), i % SLACK);
    return end();
}
