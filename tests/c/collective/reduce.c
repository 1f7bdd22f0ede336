/* ranks: 1, 2, 3, 5, 8; transports: all; MPI 5.0 6.9.1, 6.9.6 */
/* Reduce and Allreduce: lengths, roots, IN_PLACE, against sums known without a computer. */
#include "../check.h"

enum { LARGEST = 40000 };

static long *mine, *result;

static void set_mine(int count)
{
    int i;

    for (i = 0; i < count; i++) {
        mine[i] = (long)(i + 1) * (rank + 1);
        result[i] = -7;
    }
}

static void check_result(int count)
{
    long ranks = (long)size * (size + 1) / 2;
    int i;

    for (i = 0; i < count; i++)
        CHECK(result[i] == (i + 1) * ranks, "element %d of %d to be %ld, not %ld", i, count,
              (i + 1) * ranks, result[i]);
}

static void check_untouched(int count)
{
    int i;

    for (i = 0; i < count; i++) {
        CHECK_INT(mine[i], (i + 1) * (rank + 1));
        CHECK_INT(result[i], -7);
    }
}

static void reduce(int count, int root, int in_place)
{
    set_mine(count);
    if (rank == root && in_place) {
        memcpy(result, mine, count * sizeof *mine);
        MPI_Reduce(MPI_IN_PLACE, result, count, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
    } else {
        MPI_Reduce(mine, rank == root ? result : NULL, count, MPI_LONG, MPI_SUM, root,
                   MPI_COMM_WORLD);
    }
    if (rank == root)
        check_result(count);
    else
        check_untouched(count);
}

static void allreduce(int count, int in_place)
{
    set_mine(count);
    if (in_place) {
        memcpy(result, mine, count * sizeof *mine);
        MPI_Allreduce(MPI_IN_PLACE, result, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    } else {
        MPI_Allreduce(mine, result, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    check_result(count);
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 2, 17, 1000, LARGEST};
    unsigned i;
    int root;

    mine = malloc(LARGEST * sizeof *mine);
    result = malloc(LARGEST * sizeof *result);
    begin(&argc, &argv);
    for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (root = 0; root < size; root++) {
            reduce(counts[i], root, 0);
            reduce(counts[i], root, 1);
        }
        allreduce(counts[i], 0);
        allreduce(counts[i], 1);
    }
    free(mine);
    free(result);
    return end();
}
