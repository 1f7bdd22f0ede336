/* A job that writes the whole of a file again and again, collectively, until somebody ends it.
 *
 *     file_writer FILE
 *
 * In round k each byte becomes k; short runs of all ranks lie between each other, so that some
 * ranks write for all. Each rank prints "ready RANK PID" after the first rounds.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN = 512, RUNS = 4096 };

int main(int argc, char **argv)
{
    static char data[RUN * RUNS];
    MPI_Datatype run, filetype;
    MPI_File file;
    int rank, size, round;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    MPI_Type_contiguous(RUN, MPI_BYTE, &run);
    MPI_Type_create_resized(run, 0, (MPI_Aint)RUN * size, &filetype);
    MPI_Type_commit(&filetype);
    MPI_File_set_view(file, (MPI_Offset)RUN * rank, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
    for (round = 0;; round++) {
        memset(data, round % 200 + 1, sizeof data);
        MPI_File_write_at_all(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
        if (round == 3) {
            printf("ready %d %ld\n", rank, (long)getpid());
            fflush(stdout);
        }
    }
}
