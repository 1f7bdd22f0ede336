/* ranks: 2, 4; transports: all; MPI 5.0 3.5, 2.9 */
/* A rank that computes for longer than every timer of the network loses nothing. */
#include "../check.h"

enum { TAG = 1, MESSAGES = 50, BYTES = 9000, LARGE = 500000 };

static void compute(double seconds)
{
    double until = MPI_Wtime() + seconds;
    volatile double x = 1.0;
    int i;

    while (MPI_Wtime() < until)
        for (i = 0; i < 10000; i++)
            x = x * 1.0000001;
}

static void send_all(void)
{
    static char data[MESSAGES][BYTES], large[LARGE];
    MPI_Request requests[MESSAGES + 1];
    int i;

    for (i = 0; i < MESSAGES; i++) {
        fill(data[i], BYTES, i);
        MPI_Isend(data[i], BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    fill(large, LARGE, 77);
    MPI_Isend(large, LARGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[MESSAGES]);
    compute(rank % 2 ? 0.4 : 0.1);
    MPI_Waitall(MESSAGES + 1, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    static char large[LARGE];
    MPI_Status status;
    MPI_Request early;
    int source, i;

    begin(&argc, &argv);
    if (rank > 0) {
        send_all();
        return end();
    }
    MPI_Irecv(large, LARGE, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &early);
    compute(0.7);
    MPI_Wait(&early, &status);
    CHECK_FILLED(large, BYTES, 0);
    for (source = 1; source < size; source++) {
        for (i = source == 1; i < MESSAGES; i++) {
            MPI_Recv(large, LARGE, MPI_BYTE, source, TAG, MPI_COMM_WORLD, &status);
            CHECK_STATUS(status, source, TAG, BYTES);
            CHECK_FILLED(large, BYTES, i);
        }
        MPI_Recv(large, LARGE, MPI_BYTE, source, TAG, MPI_COMM_WORLD, &status);
        CHECK_FILLED(large, LARGE, 77);
    }
    return end();
}
