/* ranks: 2; MPI 5.0 15.2 */
/* Rank 0 sends three messages; the tool beside this file counts them. */
#include "../check.h"

int main(int argc, char **argv)
{
    int i, value = 0;

    begin(&argc, &argv);
    for (i = 0; i < 3; i++) {
        if (rank == 0)
            MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1)
        CHECK_INT(value, 2);
    return end();
}
