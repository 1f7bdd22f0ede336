/* ranks: 1, 3; transports: all; MPI 5.0 6.4 to 6.9 */
/* The _c twins of the collectives. */
#include "../check.h"

enum { COUNT = 100, RANKS = 8 };

int main(int argc, char **argv)
{
    static int mine[COUNT], all[RANKS * COUNT], sum[COUNT], back[RANKS * COUNT];
    int i;

    begin(&argc, &argv);
    for (i = 0; i < COUNT; i++)
        mine[i] = rank == 0 ? i : -1;
    MPI_Bcast_c(mine, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK_INT(mine[COUNT - 1], COUNT - 1);
    MPI_Reduce_c(mine, sum, COUNT, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
    for (i = 0; rank == size - 1 && i < COUNT; i++)
        CHECK_INT(sum[i], i * size);
    MPI_Allreduce_c(mine, sum, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < COUNT; i++) {
        CHECK_INT(sum[i], i * size);
        mine[i] = 1000 * rank + i;
    }
    MPI_Gather_c(mine, COUNT, MPI_INT, all, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
    for (i = 0; rank == 0 && i < COUNT * size; i++)
        CHECK_INT(all[i], 1000 * (i / COUNT) + i % COUNT);
    memset(mine, 0, sizeof mine);
    MPI_Scatter_c(all, COUNT, MPI_INT, mine, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
    for (i = 0; i < COUNT; i++)
        CHECK_INT(mine[i], 1000 * rank + i);
    MPI_Allgather_c(mine, COUNT, MPI_INT, all, COUNT, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < COUNT * size; i++)
        CHECK_INT(all[i], 1000 * (i / COUNT) + i % COUNT);
    MPI_Alltoall_c(all, COUNT, MPI_INT, back, COUNT, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < COUNT * size; i++)
        CHECK_INT(back[i], 1000 * rank + i % COUNT);
    return end();
}
