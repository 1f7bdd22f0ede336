// The smallest C++ program: compiled by mpicxx, runs without LD_LIBRARY_PATH.
#include <mpi.h>
#include <iostream>

int main(int argc, char **argv)
{
    int rank = -1, size = -1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::cout << "hello from " << rank << " of " << size << std::endl;
    return MPI_Finalize();
}
