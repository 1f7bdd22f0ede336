/* Messages per second, one way, 64 in flight: mpirun -n 2 rate BYTES... */
#include "measure.h"

enum { WINDOW = 64, ROUNDS = 100 };

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
        int bytes = atoi(argv[i]);

        report(bytes, WINDOW * (double)ROUNDS / measure(batch, bytes, ROUNDS));
    }
    MPI_Finalize();
    return 0;
}
