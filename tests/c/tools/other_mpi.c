/* Prints its rank, the size and a sum over all ranks. Then rank 1 does what the argument says. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int one = rank + 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d, sum %d\n", rank, size, sum);
    if (rank == 1 && strcmp(what, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1 && strcmp(what, "exit") == 0)
        _exit(0);
    if (rank == 1 && strcmp(what, "status") == 0)
        _exit(5);
    if (rank == 0 && strcmp(what, "input") == 0) {
        char bytes[100];
        printf("rank 0 read %d bytes\n", (int)fread(bytes, 1, sizeof bytes, stdin));
    }
    if (strcmp(what, "wait") == 0) {
        printf("ready %d %d\n", rank, (int)getpid());
        fflush(stdout);
        sleep(100);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
