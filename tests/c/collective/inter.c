/* ranks: 2, 3, 5, 8; transports: all; MPI 5.0 6.2.2, 7.6 */
/* Each collective on an inter-communicator in its three forms, with results that a program can
 * compute alone, and with the root on either side. Then many at a time, waited for from the last
 * to the first, and arguments that only an inter-communicator refuses. */
#include "../check.h"

#define OK(call) CHECK_INT(call, MPI_SUCCESS)
#define FAILS(call, class) CHECK_INT(class_of(call), class)

enum { COUNT = 3, MOST = 16, MANY = 600 };

/* This process's side (0 or 1), its rank there, and the sizes of this side and the other one. */
static int side, here, own, others;
static MPI_Comm inter;

/* What rank `from` of side `of` gives to rank `to` at place `at` in round `round`. */
static int letter(int of, int from, int to, int at, int round)
{
    return of * 100000 + from * 10000 + to * 1000 + at * 10 + round;
}

/* The number of elements that a process has in the operations whose blocks differ. */
static int count_of(int of, int who) { return (of + who) % 3; }

static int sends[MOST * MOST], receives[MOST * MOST];
/* Of each process on the other side: its elements, where they are in elements and bytes. */
static int counts[MOST], places[MOST], bytes[MOST], same[MOST], parts[MOST];
static MPI_Datatype types[MOST];

typedef enum {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
    ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, ALL
} Operation;

static const char *const names[] = {
    "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv",
    "Alltoall", "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter",
    "Reduce_scatter_block",
};

#define CASE(OPERATION, blocking, nonblocking, persistent, ...) \
    case OPERATION: \
        if (form == 0) OK(MPI_##blocking(__VA_ARGS__, inter)); \
        else if (form == 1) OK(MPI_##nonblocking(__VA_ARGS__, inter, request)); \
        else OK(MPI_##persistent(__VA_ARGS__, inter, MPI_INFO_NULL, request)); \
        break

/* Calls an operation in a form: 0 blocking, 1 nonblocking, 2 persistent. */
static void call(Operation operation, int form, int root, MPI_Request *request)
{
    int mine = count_of(side, here);
    switch (operation) {
    case BARRIER:
        if (form == 0) OK(MPI_Barrier(inter));
        else if (form == 1) OK(MPI_Ibarrier(inter, request));
        else OK(MPI_Barrier_init(inter, MPI_INFO_NULL, request));
        break;
        CASE(BCAST, Bcast, Ibcast, Bcast_init, root == MPI_ROOT ? sends : receives, COUNT,
             root == MPI_PROC_NULL ? MPI_DATATYPE_NULL : MPI_INT, root);
        CASE(GATHER, Gather, Igather, Gather_init, sends, COUNT, MPI_INT, receives, COUNT, MPI_INT,
             root);
        CASE(GATHERV, Gatherv, Igatherv, Gatherv_init, sends, mine, MPI_INT, receives, counts,
             places, MPI_INT, root);
        CASE(SCATTER, Scatter, Iscatter, Scatter_init, sends, COUNT, MPI_INT, receives, COUNT,
             MPI_INT, root);
        CASE(SCATTERV, Scatterv, Iscatterv, Scatterv_init, sends, counts, places, MPI_INT, receives,
             mine, MPI_INT, root);
        CASE(ALLGATHER, Allgather, Iallgather, Allgather_init, sends, COUNT, MPI_INT, receives,
             COUNT, MPI_INT);
        CASE(ALLGATHERV, Allgatherv, Iallgatherv, Allgatherv_init, sends, mine, MPI_INT, receives,
             counts, places, MPI_INT);
        CASE(ALLTOALL, Alltoall, Ialltoall, Alltoall_init, sends, COUNT, MPI_INT, receives, COUNT,
             MPI_INT);
        CASE(ALLTOALLV, Alltoallv, Ialltoallv, Alltoallv_init, sends, same, places, MPI_INT,
             receives, same, places, MPI_INT);
        CASE(ALLTOALLW, Alltoallw, Ialltoallw, Alltoallw_init, sends, same, bytes, types, receives,
             same, bytes, types);
        CASE(REDUCE, Reduce, Ireduce, Reduce_init, sends, receives, COUNT, MPI_INT, MPI_SUM, root);
        CASE(ALLREDUCE, Allreduce, Iallreduce, Allreduce_init, sends, receives, COUNT, MPI_INT,
             MPI_SUM);
        CASE(REDUCE_SCATTER, Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, sends, receives,
             parts, MPI_INT, MPI_SUM);
        CASE(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, Ireduce_scatter_block,
             Reduce_scatter_block_init, sends, receives, others, MPI_INT, MPI_SUM);
    case ALL:
        break;
    }
}

static void fill_all(int round)
{
    for (int i = 0; i < MOST * MOST; i++) {
        receives[i] = -1;
        sends[i] = letter(side, here, i / COUNT, i % COUNT, round);
    }
}

/* The sum of what the other side gives at `place` of the send buffers. */
static int sum(int place, int round)
{
    int all = 0;
    for (int from = 0; from < others; from++)
        all += letter(1 - side, from, place / COUNT, place % COUNT, round);
    return all;
}

/* Checks that the receive buffer has `wanted` at `at`. */
static void expect(Operation operation, int at, int wanted)
{
    CHECK(receives[at] == wanted, "%s: element %d to be %d, not %d", names[operation], at, wanted,
          receives[at]);
}

static void check_blocks(Operation operation, int round)
{
    int is_v = operation == GATHERV || operation == ALLGATHERV;
    int is_all_to_all = operation >= ALLTOALL && operation <= ALLTOALLW;
    for (int from = 0; from < others; from++) {
        int count = is_v ? counts[from] : COUNT;
        for (int at = 0; at < COUNT; at++) {
            int to = is_all_to_all ? here : 0;
            expect(operation, from * COUNT + at,
                   at < count ? letter(1 - side, from, to, at, round) : -1);
        }
    }
}

/* `from` is the side of the root, `root` its rank there. */
static void check_rooted(Operation operation, int from, int root, int round)
{
    int is_root = side == from && here == root, count = side == from ? 0 : COUNT;
    switch (operation) {
    case GATHER: case GATHERV:
        if (is_root) return check_blocks(operation, round);
        count = 0;
        break;
    case REDUCE:
        count = is_root ? COUNT : 0;
        for (int at = 0; at < count; at++) expect(operation, at, sum(at, round));
        break;
    case BCAST:
        for (int at = 0; at < count; at++) expect(operation, at, letter(from, root, 0, at, round));
        break;
    default:
        if (operation == SCATTERV && count) count = count_of(side, here);
        for (int at = 0; at < count; at++)
            expect(operation, at, letter(from, root, here, at, round));
    }
    expect(operation, count, -1);
}

static void check(Operation operation, int from, int root, int round)
{
    int before = 0;
    switch (operation) {
    case BARRIER:
        return expect(operation, 0, -1);
    case ALLREDUCE:
        for (int at = 0; at < COUNT; at++) expect(operation, at, sum(at, round));
        return expect(operation, COUNT, -1);
    case REDUCE_SCATTER:
        for (int i = 0; i < here; i++) before += parts[i];
        for (int at = 0; at < parts[here]; at++) expect(operation, at, sum(before + at, round));
        return expect(operation, parts[here], -1);
    case REDUCE_SCATTER_BLOCK:
        for (int at = 0; at < others; at++) expect(operation, at, sum(here * others + at, round));
        return expect(operation, others, -1);
    case ALLGATHER: case ALLGATHERV: case ALLTOALL: case ALLTOALLV: case ALLTOALLW:
        return check_blocks(operation, round);
    default:
        return check_rooted(operation, from, root, round);
    }
}

static int is_rooted(Operation operation)
{
    return (operation >= BCAST && operation <= SCATTERV) || operation == REDUCE;
}

/* Calls an operation in all forms, with this root. */
static void in_three_forms(Operation operation, int from, int root)
{
    MPI_Request request;
    int named = side != from ? root : here == root ? MPI_ROOT : MPI_PROC_NULL;
    fill_all(0);
    call(operation, 0, named, NULL);
    check(operation, from, root, 0);
    fill_all(1);
    call(operation, 1, named, &request);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(operation, from, root, 1);
    call(operation, 2, named, &request);
    for (int round = 2; round < 5; round++) {
        fill_all(round);
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check(operation, from, root, round);
    }
    OK(MPI_Request_free(&request));
}

/* The order of the operands of an operator that does not commute: the ranks, as digits. */
static void append(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int *left = in, *right = inout;
    (void)type;
    /* A pair: how many digits, and the digits. */
    for (int i = 0; i < *length; i++) {
        int shift = 1;
        for (int digit = 0; digit < right[2 * i]; digit++) shift *= 10;
        right[2 * i + 1] += left[2 * i + 1] * shift;
        right[2 * i] += left[2 * i];
    }
}

static void check_order(void)
{
    int given[2] = {1, here + 1}, got[2], wanted = 0;
    MPI_Op op;
    for (int from = 0; from < others; from++) wanted = wanted * 10 + from + 1;
    OK(MPI_Op_create(append, 0, &op));
    OK(MPI_Allreduce(given, got, 1, MPI_2INT, op, inter));
    CHECK_INT(got[0], others);
    CHECK_INT(got[1], wanted);
    OK(MPI_Op_free(&op));
}

/* Nonblocking ones beside blocking ones. The requests outlive the communicator. */
static void check_many(void)
{
    static int given[MANY], got[MANY];
    static MPI_Request requests[MANY];
    MPI_Comm old;
    OK(MPI_Comm_dup(inter, &old));
    for (int i = 0; i < MANY; i++) {
        given[i] = side * 1000 + i;
        if (i % 2) OK(MPI_Iallreduce(&given[i], &got[i], 1, MPI_INT, MPI_MAX, old, &requests[i]));
        else OK(MPI_Ibarrier(old, &requests[i]));
        if (i % 50 == 0) OK(MPI_Barrier(old));
    }
    OK(MPI_Comm_free(&old));
    for (int i = MANY - 1; i >= 0; i--) {
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        if (i % 2) CHECK_INT(got[i], (1 - side) * 1000 + i);
    }
}

/* Messages that are too long for shared memory, and none at all. */
static void check_lengths(void)
{
    enum { LONG = 300000 };
    static int given[LONG], got[LONG];
    for (int i = 0; i < LONG; i++) given[i] = i + side, got[i] = -1;
    OK(MPI_Allreduce(given, got, LONG, MPI_INT, MPI_MAX, inter));
    for (int i = 0; i < LONG; i++) CHECK_INT(got[i], i + 1 - side);
    OK(MPI_Bcast(side ? got : given, LONG, MPI_INT,
                 side ? 0 : here ? MPI_PROC_NULL : MPI_ROOT, inter));
    if (side) for (int i = 0; i < LONG; i++) CHECK_INT(got[i], i);
    OK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, inter));
    OK(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, inter));
    /* Data of one side only. */
    OK(MPI_Allgather(given, side ? 0 : 2, MPI_INT, got, side ? 2 : 0, MPI_INT, inter));
    for (int i = 0; side && i < 2 * others; i++) CHECK_INT(got[i], i % 2);
}

static void check_errors(void)
{
    int given[MOST] = {0}, got[MOST];
    FAILS(MPI_Bcast(given, 1, MPI_INT, others, inter), MPI_ERR_ROOT);
    FAILS(MPI_Gather(given, 1, MPI_INT, got, 1, MPI_INT, -7, inter), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(given, -1, MPI_INT, MPI_ROOT, inter), MPI_ERR_COUNT);
    FAILS(MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_ARG);
    FAILS(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, inter), MPI_ERR_ARG);
    FAILS(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, inter), MPI_ERR_ARG);
    FAILS(MPI_Allreduce(got, got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
    FAILS(MPI_Bcast(given, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD), MPI_ERR_ROOT);
    OK(MPI_Barrier(inter));
}

int main(int argc, char **argv)
{
    MPI_Comm local;
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    side = rank >= (size + 2) / 3;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local));
    OK(MPI_Comm_rank(local, &here));
    OK(MPI_Comm_size(local, &own));
    others = size - own;
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : own, 1, &inter));
    for (int i = 0; i < others; i++) {
        counts[i] = count_of(1 - side, i);
        same[i] = COUNT;
        places[i] = i * COUNT;
        bytes[i] = i * COUNT * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    /* The sum is the same on both sides: own * others. */
    for (int i = 0; i < own; i++) parts[i] = others + (i == 0) - (i == own - 1);

    for (Operation operation = BARRIER; operation < ALL; operation++) {
        if (!is_rooted(operation)) {
            in_three_forms(operation, 0, 0);
            continue;
        }
        int sizes[] = {side ? others : own, side ? own : others};
        for (int from = 0; from < 2; from++) {
            in_three_forms(operation, from, 0);
            if (sizes[from] > 1) in_three_forms(operation, from, sizes[from] - 1);
        }
    }
    check_order();
    check_many();
    check_lengths();
    check_errors();
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
    return end();
}
