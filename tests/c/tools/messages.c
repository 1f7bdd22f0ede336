/* np=2: rank 0 sends some messages of some length to rank 1, which sends each back if asked to.
 *
 *     messages BYTES COUNT [back]
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, number, bytes = argc > 1 ? atoi(argv[1]) : 0, count = argc > 2 ? atoi(argv[2]) : 1;
    int comes_back = argc > 3;
    char *buffer = calloc((size_t)bytes + 1, 1);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (number = 0; number < count; number++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (comes_back && rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
        if (comes_back && rank == 0)
            MPI_Recv(buffer, bytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    free(buffer);
    return 0;
}
