/* ranks: 3, 8; transports: all; MPI 5.0 7.4.2 */
/* Disjoint parts make communicators of their own at the same time, then meet again. */
#include "../check.h"

int main(int argc, char **argv)
{
    MPI_Comm part, inner, outer;
    int i, me, members, sum, value;

    begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    for (i = 0; i < 1 + rank % 2 * 9; i++) { /* the odd ones make ten, the even ones one */
        MPI_Comm_dup(part, &inner);
        MPI_Comm_rank(inner, &me);
        MPI_Comm_size(inner, &members);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, inner);
        CHECK_INT(sum, members * (members - 1) / 2);
        MPI_Comm_free(&inner);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &outer);
    MPI_Comm_dup(part, &inner);
    value = 10 * (rank % 2);
    MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                         outer, MPI_STATUS_IGNORE);
    CHECK_INT(value, 10 * ((rank + size - 1) % size % 2));
    value = rank % 2;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inner);
    CHECK_INT(sum, rank % 2 * members);
    MPI_Comm_free(&inner);
    MPI_Comm_free(&outer);
    MPI_Comm_free(&part);
    return end();
}
