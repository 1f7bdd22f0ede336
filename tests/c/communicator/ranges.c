/* ranks: 1, 5; MPI 5.0 7.3.2 */
/* Ranges of ranks: what they name, and that one which leads out of the group is refused before it
 * is written out. */
#include "../check.h"
#include <limits.h>
#include <sys/resource.h>

static MPI_Group world;

static int include(int first, int last, int stride, MPI_Group *made)
{
    int range[1][3];

    range[0][0] = first;
    range[0][1] = last;
    range[0][2] = stride;
    return MPI_Group_range_incl(world, 1, range, made);
}

static void check_refused(int first, int last, int stride, int class)
{
    MPI_Group made = MPI_GROUP_EMPTY;
    int range[1][3];

    CHECK(class_of(include(first, last, stride, &made)) == class, "(%d, %d, %d): class %d", first,
          last, stride, class);
    CHECK(made == MPI_GROUP_NULL, "no group");
    range[0][0] = first;
    range[0][1] = last;
    range[0][2] = stride;
    CHECK_INT(class_of(MPI_Group_range_excl(world, 1, range, &made)), class);
}

/* A group of these ranks of the world. */
static void check_named(int first, int last, int stride, int count, const int *wanted)
{
    MPI_Group made;
    int found[8], own[8] = {0, 1, 2, 3, 4, 5, 6, 7}, i;

    CHECK_INT(include(first, last, stride, &made), MPI_SUCCESS);
    MPI_Group_size(made, &i);
    CHECK_INT(i, count);
    MPI_Group_translate_ranks(made, count, own, world, found);
    for (i = 0; i < count; i++)
        CHECK_INT(found[i], wanted[i]);
    MPI_Group_free(&made);
}

static void check_many_ranges(void)
{
    static int ranges[1000][3];
    MPI_Group made;
    int i;

    for (i = 0; i < 1000; i++) {
        ranges[i][1] = size - 1;
        ranges[i][2] = 1;
    }
    CHECK_INT(class_of(MPI_Group_range_incl(world, 1000, ranges, &made)), MPI_ERR_RANK);
}

int main(int argc, char **argv)
{
    const int first[] = {0}, upwards[] = {1, 3}, downwards[] = {4, 2, 0};
    const int even[] = {0, 2, 4};
    struct rusage before, after;

    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    getrusage(RUSAGE_SELF, &before);
    check_refused(0, INT_MAX, 1, MPI_ERR_RANK);
    check_refused(0, 100000000, 1, MPI_ERR_RANK);
    check_refused(INT_MAX, 0, -1, MPI_ERR_RANK);
    check_refused(INT_MIN, INT_MAX, INT_MAX, MPI_ERR_RANK);
    check_refused(0, -1, -1, MPI_ERR_RANK);
    check_refused(0, 1, 0, MPI_ERR_ARG);
    check_refused(0, 1, -1, MPI_ERR_ARG);
    check_refused(1, 0, INT_MAX, MPI_ERR_ARG);
    check_refused(0, 1, INT_MIN, MPI_ERR_ARG);
    check_refused(0, INT_MAX, INT_MIN, MPI_ERR_ARG);
    check_many_ranges();
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 100 << 10, "less than 100 MiB, not %ld KiB",
          after.ru_maxrss - before.ru_maxrss);
    check_named(0, 0, INT_MIN, 1, first);
    if (size == 5) {
        check_named(1, 4, 2, 2, upwards);
        check_named(4, 0, -2, 3, downwards);
        /* The range ends before its last rank. */
        check_named(0, 5, 2, 3, even);
    }
    MPI_Group_free(&world);
    return end();
}
