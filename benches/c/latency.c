/* Half of a round trip, in microseconds: mpirun -n 2 latency BYTES... */
#include "measure.h"

static void batch(char *buffer, int bytes, int rounds)
{
    int i;

    for (i = 0; i < rounds; i++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int i;

    begin(argc, argv);
    for (i = 1; i < argc; i++) {
        int bytes = atoi(argv[i]), rounds = bytes <= 8192 ? 1000 : bytes <= 262144 ? 200 : 20;

        report(bytes, measure(batch, bytes, rounds) / rounds / 2 * 1e6);
    }
    MPI_Finalize();
    return 0;
}
