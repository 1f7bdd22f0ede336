/* ranks: 2, 3, 8; transports: all; MPI 5.0 6.14, 7.4 */
/* Collectives of many communicators, which come and go, with messages on their way: each gets what
 * belongs to it, also a rank that is late. */
#include "../check.h"

enum { ROUNDS = 400, TAG = 5, MOST = 700 };

/* x -> a * x + b: the order of the operands matters, their grouping does not. */
static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    unsigned *left = in, *right = inout;
    int i;

    (void)type;
    for (i = 0; i < *len; i++, left += 2, right += 2) {
        right[1] = left[0] * right[1] + left[1];
        right[0] = left[0] * right[0];
    }
}

static void dawdle(unsigned seed)
{
    volatile unsigned turns = (seed * 2654435761u >> 7) % 20 == 0 ? 200000 : 0;

    while (turns > 0)
        turns--;
}

static void check_order(MPI_Comm comm, MPI_Op op, MPI_Datatype pair, int round)
{
    unsigned mine[2], all[2], expected[2] = {1, 0};
    int here, members, other, root;

    MPI_Comm_rank(comm, &here);
    MPI_Comm_size(comm, &members);
    mine[0] = 2 * (unsigned)here + 3;
    mine[1] = (unsigned)(here + round);
    for (other = members - 1; other >= 0; other--) {
        unsigned left = 2 * (unsigned)other + 3;

        expected[1] = left * expected[1] + (unsigned)(other + round);
        expected[0] = left * expected[0];
    }
    MPI_Allreduce(mine, all, 1, pair, op, comm);
    CHECK(all[0] == expected[0] && all[1] == expected[1], "round %d: operands in rank order",
          round);
    root = round % members;
    all[0] = all[1] = 0;
    MPI_Reduce(mine, all, 1, pair, op, root, comm);
    CHECK(here != root || (all[0] == expected[0] && all[1] == expected[1]),
          "round %d: operands in rank order at the root", round);
}

static void check_bcast(MPI_Comm comm, int round)
{
    static int words[MOST];
    int here, members, i, count = round % 3 == 0 ? 1 : round * 13 % MOST, root;

    MPI_Comm_rank(comm, &here);
    MPI_Comm_size(comm, &members);
    root = round / 2 % members;
    for (i = 0; i < count; i++)
        words[i] = here == root ? round + i : -1;
    MPI_Bcast(words, count, MPI_INT, root, comm);
    for (i = 0; i < count; i++)
        CHECK(words[i] == round + i, "round %d: word %d of the root, not %d", round, i, words[i]);
}

int main(int argc, char **argv)
{
    MPI_Comm kept, passing, part;
    MPI_Datatype pair;
    MPI_Op op;
    int round, out[2], in[2];

    begin(&argc, &argv);
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    MPI_Comm_dup(MPI_COMM_WORLD, &kept);
    for (round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];

        out[0] = rank;
        out[1] = round;
        MPI_Irecv(in, 2, MPI_INT, (rank + 1) % size, TAG, kept, &requests[0]);
        MPI_Isend(out, 2, MPI_INT, (rank + size - 1) % size, TAG, kept, &requests[1]);
        MPI_Comm_split(MPI_COMM_WORLD, (rank + round) % 2, -rank, &part);
        check_bcast(part, round);
        dawdle((unsigned)(rank * ROUNDS + round));
        MPI_Comm_dup(kept, &passing);
        check_bcast(passing, round);
        MPI_Comm_free(&passing);
        check_order(part, op, pair, round);
        MPI_Barrier(round % 3 == 0 ? kept : part);
        check_order(kept, op, pair, round);
        MPI_Comm_free(&part);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in[0] == (rank + 1) % size && in[1] == round, "round %d: the message of it", round);
    }
    MPI_Comm_free(&kept);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    return end();
}
