/* ranks: 1, 3; transports: one; exit: 42; MPI 5.0 9.5 */
/* Abort ends every rank, those blocked for ever too, with the code given. */
#include "../check.h"

int main(int argc, char **argv)
{
    int never;

    begin(&argc, &argv);
    if (rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 42);
    MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}
