/* Rank 0 sends eight bytes that need no receive, and leaves: `oneway FILE`. Rank 1 prints "ready"
 * when all are there; rank 0 goes on when FILE is there, so that a test can cut the network
 * between. Rank 1 calls MPI no more: only rank 0's MPI_Finalize can tell that the bytes did not
 * arrive. Rank 1 ends well after a minute, for a library that does not tell. */
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
    if (rank == 1) {
        sleep(60);
        return 0;
    }
    while (access(argv[1], F_OK) != 0)
        continue;
    MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    return end();
}
