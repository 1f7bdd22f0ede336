/* One way, 16 messages in flight, in MB/s: mpirun -n 2 bandwidth BYTES... */
#include "measure.h"

enum { WINDOW = 16 };

static void batch(char *buffer, int bytes, int rounds)
{
    MPI_Request requests[WINDOW];
    int i, j;

    for (i = 0; i < rounds; i++) {
        for (j = 0; j < WINDOW; j++)
            if (rank == 0)
                MPI_Isend(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[j]);
            else
                MPI_Irecv(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[j]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int i;

    begin(argc, argv);
    for (i = 1; i < argc; i++) {
        int bytes = atoi(argv[i]), rounds = bytes <= 8192 ? 100 : bytes <= 262144 ? 20 : 3;
        double seconds = measure(batch, bytes, rounds);

        report(bytes, (double)bytes * WINDOW * rounds / seconds / 1e6);
    }
    MPI_Finalize();
    return 0;
}
