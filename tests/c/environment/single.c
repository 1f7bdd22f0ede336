/* ranks: 1; launch: direct; transports: one; MPI 5.0 11.2.1 */
/* Started without mpirun, a program is a job of one rank. */
#include "../check.h"

int main(int argc, char **argv)
{
    int value = 5, got = 0;

    begin(&argc, &argv);
    CHECK_INT(size, 1);
    CHECK_INT(rank, 0);
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_INT(got, 5);
    MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(got, 5);
    return end();
}
