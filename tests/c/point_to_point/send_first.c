/* ranks: 2; transports: all; MPI 5.0 3.5 */
/* Programs that count on being able to send first: far more messages than a rank takes in while it
 * computes, and their receiver waits itself, in a send or for the last of them. */
#include "../check.h"

enum { SMALL = 150000, LONGER = 30000, BYTES = 1024, LAST = 1, TAG = 2 };

static void send_all(int count, int bytes, int to)
{
    static char data[BYTES];
    int i;

    for (i = 0; i < count; i++) {
        fill(data, bytes, i);
        MPI_Send(data, bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    }
}

static void receive_all(int count, int bytes, int from)
{
    static char data[BYTES];
    MPI_Status status;
    int i;

    for (i = 0; i < count; i++) {
        MPI_Recv(data, BYTES, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, from, TAG, bytes);
        CHECK_FILLED(data, bytes, i);
    }
}

int main(int argc, char **argv)
{
    int other;

    begin(&argc, &argv);
    other = 1 - rank;
    send_all(SMALL, 8, other);
    receive_all(SMALL, 8, other);
    if (rank == 0) {
        send_all(LONGER, BYTES, other);
        MPI_Send(NULL, 0, MPI_BYTE, other, LAST, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, other, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        receive_all(LONGER, BYTES, other);
    }
    return end();
}
