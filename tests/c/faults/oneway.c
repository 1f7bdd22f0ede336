/* Rank 0 sends eight bytes that need no receive, and leaves: `oneway FILE`. It prints "ready" when
 * nothing that it sent before waits for an answer; it goes on when FILE is there, so that a test
 * can cut the network between. Rank 1 calls MPI no more: only rank 0's MPI_Finalize can tell that
 * the bytes did not arrive. Rank 1 ends well after a minute, for a library that does not tell. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    double x = 1.0;

    begin(&argc, &argv);
    if (rank == 1) {
        MPI_Recv(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sleep(60);
        return 0;
    }
    MPI_Ssend(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    printf("ready\n");
    fflush(stdout);
    while (access(argv[1], F_OK) != 0)
        continue;
    MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    return end();
}
