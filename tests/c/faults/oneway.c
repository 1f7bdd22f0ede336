/* Rank 0 sends eight bytes that need no receive, and leaves; rank 1 waits for them:
 * `oneway FILE`. Rank 1 prints "ready" when all are there; they go on when FILE is there, so that
 * a test can cut the network between. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    double x = 1.0;

    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        printf("ready\n");
        fflush(stdout);
    }
    while (access(argv[1], F_OK) != 0)
        continue;
    if (rank == 0)
        MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}
