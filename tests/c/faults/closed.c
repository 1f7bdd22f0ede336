/* Rank 0 closes all files that it has not opened, those of the library among them. With a word it
 * then waits for the other rank; without, it makes a mistake, which only it can report. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int file;

        for (file = 3; file < 1024; file++)
            close(file);
        if (argc == 1)
            MPI_Send(NULL, 0, MPI_INT, size, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return end();
}
