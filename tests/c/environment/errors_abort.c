/* ranks: 2; transports: one; exit: nonzero; MPI 5.0 9.3 */
/* The handler MPI_ERRORS_ABORT ends the rank with the error, and with it the job. */
#include "../check.h"

int main(int argc, char **argv)
{
    int never;

    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    if (rank == 1)
        MPI_Send(&never, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(&never, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}
