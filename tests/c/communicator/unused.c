/* ranks: 1, 2, 3; MPI 5.0 7.4.3 */
/* Communicators that are never used, nor freed, where others were: nobody misses anything. */
#include "../check.h"

int main(int argc, char **argv)
{
    MPI_Comm used, unused[4];
    int i;

    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &used);
    MPI_Barrier(used);
    MPI_Comm_free(&used);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < 3; i++)
        MPI_Comm_dup(i == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD, &unused[i]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &unused[3]);
    return end();
}
