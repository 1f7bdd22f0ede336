/* ranks: 1, 3; transports: one; exit: 5; MPI 5.0 11.4 */
/* What a rank returns after Finalize is what mpirun returns. */
#include "../check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return rank == size - 1 ? 5 : 0;
}
