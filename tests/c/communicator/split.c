/* ranks: 1, 2, 3, 8; transports: all; MPI 5.0 7.4.2 */
/* Split by colour, ordered by key and then by old rank; MPI_UNDEFINED gets MPI_COMM_NULL. */
#include "../check.h"

/* What my rank must be: members of my colour with a smaller key, or the same and a lower rank. */
static void check_split(int (*colour)(int), int (*key)(int))
{
    int other, before = 0, members = 0, new_rank, new_size, sum = 0, wanted = 0;
    MPI_Comm part;

    MPI_Comm_split(MPI_COMM_WORLD, colour(rank), key(rank), &part);
    if (colour(rank) == MPI_UNDEFINED) {
        CHECK(part == MPI_COMM_NULL, "MPI_COMM_NULL for colour MPI_UNDEFINED");
        return;
    }
    for (other = 0; other < size; other++)
        if (colour(other) == colour(rank)) {
            members++;
            wanted += other;
            before += key(other) < key(rank) || (key(other) == key(rank) && other < rank);
        }
    MPI_Comm_rank(part, &new_rank);
    MPI_Comm_size(part, &new_size);
    CHECK_INT(new_rank, before);
    CHECK_INT(new_size, members);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
    CHECK_INT(sum, wanted);
    MPI_Comm_free(&part);
}

static int everybody(int r) { return 0 * r; }
static int odd_or_even(int r) { return r % 2; }
static int alone(int r) { return r; }
static int first_three(int r) { return r < 3 ? 7 : MPI_UNDEFINED; }
static int rank_order(int r) { return r; }
static int reversed(int r) { return -r; }
static int same(int r) { return 0 * r + 5; }
static int scrambled(int r) { return r * 5 % 3; }

static void compare_reversed(void)
{
    MPI_Comm part, single;
    int result;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &part);
    MPI_Comm_compare(MPI_COMM_WORLD, part, &result);
    CHECK_INT(result, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_split(part, rank, 0, &single);
    MPI_Comm_compare(single, MPI_COMM_SELF, &result);
    CHECK_INT(result, MPI_CONGRUENT);
    MPI_Comm_compare(single, MPI_COMM_WORLD, &result);
    CHECK_INT(result, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    MPI_Comm_free(&part);
    MPI_Comm_free(&single);
}

int main(int argc, char **argv)
{
    int (*const colours[])(int) = {everybody, odd_or_even, alone, first_three};
    int (*const keys[])(int) = {rank_order, reversed, same, scrambled};
    int c, k;

    begin(&argc, &argv);
    for (c = 0; c < 4; c++)
        for (k = 0; k < 4; k++)
            check_split(colours[c], keys[k]);
    compare_reversed();
    return end();
}
