/* ranks: 1; transports: one; MPI 5.0 5.1.2 to 5.1.8 */
/* What adds no entry to the type map adds nothing to the bounds: blocks of length 0 in every
 * constructor, and datatypes without data. */
#include "../check.h"

static void check(MPI_Datatype type, MPI_Aint extent, MPI_Aint true_extent, int bytes)
{
    MPI_Aint lower, found;
    int size_found;

    MPI_Type_get_extent(type, &lower, &found);
    CHECK_INT(lower, 0);
    CHECK_INT(found, extent);
    MPI_Type_get_true_extent(type, &lower, &found);
    CHECK_INT(lower, 0);
    CHECK_INT(found, true_extent);
    MPI_Type_size(type, &size_found);
    CHECK_INT(size_found, bytes);
    MPI_Type_free(&type);
}

/* One char, and `length` elements of a type at displacement 8. */
static MPI_Datatype char_and(int length, MPI_Datatype type)
{
    MPI_Datatype types[2] = {MPI_CHAR, MPI_CHAR}, made;
    int lengths[2] = {1, 0};
    MPI_Aint at[2] = {0, 8};

    types[1] = type;
    lengths[1] = length;
    MPI_Type_create_struct(2, lengths, at, types, &made);
    return made;
}

static void check_structures(void)
{
    MPI_Datatype empty, wide, inner;

    check(char_and(1, MPI_LONG), 16, 16, 9);
    check(char_and(0, MPI_LONG), 1, 1, 1);
    MPI_Type_contiguous(0, MPI_LONG, &empty);
    check(char_and(1, empty), 1, 1, 1);
    MPI_Type_create_resized(MPI_LONG, 0, 24, &wide);
    check(char_and(0, wide), 1, 1, 1);
    inner = char_and(0, MPI_LONG);
    check(char_and(1, inner), 9, 9, 2);
    MPI_Type_free(&empty);
    MPI_Type_free(&wide);
    MPI_Type_free(&inner);
}

static void check_lists(void)
{
    MPI_Datatype made;
    int none[2] = {0, 0}, places[2] = {3, -5}, some[2] = {0, 2}, forward[2] = {9, 0};
    MPI_Aint at[2] = {4000, -4000};

    MPI_Type_vector(0, 3, 5, MPI_LONG, &made);
    check(made, 0, 0, 0);
    MPI_Type_vector(3, 0, 5, MPI_LONG, &made);
    check(made, 0, 0, 0);
    MPI_Type_indexed(2, none, places, MPI_LONG, &made);
    check(made, 0, 0, 0);
    MPI_Type_indexed(2, some, forward, MPI_LONG, &made);
    check(made, 16, 16, 16);
    MPI_Type_create_indexed_block(2, 0, places, MPI_LONG, &made);
    check(made, 0, 0, 0);
    MPI_Type_create_hindexed(2, none, at, MPI_LONG, &made);
    check(made, 0, 0, 0);
    MPI_Type_create_hindexed_block(2, 0, at, MPI_LONG, &made);
    check(made, 0, 0, 0);
}

/* Bounds that the program or the array gives stay. */
static void check_bounded(void)
{
    MPI_Datatype empty, made;
    int four = 4, block = MPI_DISTRIBUTE_BLOCK, all = MPI_DISTRIBUTE_DFLT_DARG, eight = 8;

    MPI_Type_contiguous(0, MPI_LONG, &empty);
    MPI_Type_create_resized(empty, 0, 24, &made);
    check(made, 24, 0, 0);
    /* Of 4 longs dealt out to 8 processes, the last has none. */
    MPI_Type_create_darray(8, 7, 1, &four, &block, &all, &eight, MPI_ORDER_C, MPI_LONG, &made);
    check(made, 32, 0, 0);
    MPI_Type_free(&empty);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    check_structures();
    check_lists();
    check_bounded();
    return end();
}
