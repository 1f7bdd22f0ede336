/* ranks: 1, 2, 3, 5, 8; transports: all; MPI 5.0 6.12 and 6.13 */
/* Each collective in its three forms, with results that a program can compute alone: blocking,
 * nonblocking, and persistent started three times. Then 10,000 nonblocking ones at a time, waited
 * for from the last to the first, on a communicator that is freed before. */
#include "../check.h"


enum { COUNT = 3, MOST = 16, MANY = 10000 };

#define OK(call) CHECK_INT(call, MPI_SUCCESS)

/* What rank `from` gives to rank `to` at place `at` in round `round`. */
static int letter(int from, int to, int at, int round)
{
    return from * 1000 + to * 100 + at * 10 + round;
}

/* The number of elements that a rank has in the operations whose blocks differ. */
static int count_of(int who) { return who % 3 + 1; }

/* The buffers of all operations, filled anew for each round. */
static int sends[MOST * MOST], receives[MOST * MOST];
static int counts[MOST], places[MOST], bytes[MOST];
static MPI_Datatype types[MOST];

static void fill_all(int round)
{
    for (int i = 0; i < MOST * MOST; i++) receives[i] = -1;
    for (int to = 0; to < size; to++)
        for (int at = 0; at < COUNT; at++)
            sends[to * COUNT + at] = letter(rank, to, at, round);
}

typedef enum {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
    ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, ALL
} Operation;

static const char *const names[] = {
    "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv",
    "Alltoall", "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter",
    "Reduce_scatter_block", "Scan", "Exscan",
};

/* What is before the communicator, once for the three functions of each operation. */
#define ARGUMENTS_BCAST sends, COUNT, MPI_INT, root
#define ARGUMENTS_GATHER sends, COUNT, MPI_INT, receives, COUNT, MPI_INT, root
#define ARGUMENTS_GATHERV sends, count_of(rank), MPI_INT, receives, counts, places, MPI_INT, root
#define ARGUMENTS_SCATTER sends, COUNT, MPI_INT, receives, COUNT, MPI_INT, root
#define ARGUMENTS_SCATTERV sends, counts, places, MPI_INT, receives, count_of(rank), MPI_INT, root
#define ARGUMENTS_ALLGATHER sends, COUNT, MPI_INT, receives, COUNT, MPI_INT
#define ARGUMENTS_ALLGATHERV sends, count_of(rank), MPI_INT, receives, counts, places, MPI_INT
#define ARGUMENTS_ALLTOALL sends, COUNT, MPI_INT, receives, COUNT, MPI_INT
#define ARGUMENTS_ALLTOALLV sends, same, places, MPI_INT, receives, same, places, MPI_INT
#define ARGUMENTS_ALLTOALLW sends, same, bytes, types, receives, same, bytes, types
#define ARGUMENTS_REDUCE sends, receives, COUNT, MPI_INT, MPI_SUM, root
#define ARGUMENTS_ALLREDUCE sends, receives, COUNT, MPI_INT, MPI_SUM
#define ARGUMENTS_REDUCE_SCATTER sends, receives, same, MPI_INT, MPI_SUM
#define ARGUMENTS_REDUCE_SCATTER_BLOCK sends, receives, COUNT, MPI_INT, MPI_SUM
#define ARGUMENTS_SCAN sends, receives, COUNT, MPI_INT, MPI_SUM

#define CASE(OPERATION, blocking, nonblocking, persistent, ...) \
    case OPERATION: \
        if (form == 0) OK(MPI_##blocking(__VA_ARGS__, MPI_COMM_WORLD)); \
        else if (form == 1) OK(MPI_##nonblocking(__VA_ARGS__, MPI_COMM_WORLD, request)); \
        else OK(MPI_##persistent(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, request)); \
        break

/* Calls an operation in a form: 0 blocking, 1 nonblocking, 2 persistent. */
static void call(Operation operation, int form, int root, MPI_Request *request)
{
    static int same[MOST];
    for (int i = 0; i < size; i++) same[i] = COUNT;
    switch (operation) {
    case BARRIER:
        if (form == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
        else if (form == 1) OK(MPI_Ibarrier(MPI_COMM_WORLD, request));
        else OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, request));
        break;
        CASE(BCAST, Bcast, Ibcast, Bcast_init, ARGUMENTS_BCAST);
        CASE(GATHER, Gather, Igather, Gather_init, ARGUMENTS_GATHER);
        CASE(GATHERV, Gatherv, Igatherv, Gatherv_init, ARGUMENTS_GATHERV);
        CASE(SCATTER, Scatter, Iscatter, Scatter_init, ARGUMENTS_SCATTER);
        CASE(SCATTERV, Scatterv, Iscatterv, Scatterv_init, ARGUMENTS_SCATTERV);
        CASE(ALLGATHER, Allgather, Iallgather, Allgather_init, ARGUMENTS_ALLGATHER);
        CASE(ALLGATHERV, Allgatherv, Iallgatherv, Allgatherv_init, ARGUMENTS_ALLGATHERV);
        CASE(ALLTOALL, Alltoall, Ialltoall, Alltoall_init, ARGUMENTS_ALLTOALL);
        CASE(ALLTOALLV, Alltoallv, Ialltoallv, Alltoallv_init, ARGUMENTS_ALLTOALLV);
        CASE(ALLTOALLW, Alltoallw, Ialltoallw, Alltoallw_init, ARGUMENTS_ALLTOALLW);
        CASE(REDUCE, Reduce, Ireduce, Reduce_init, ARGUMENTS_REDUCE);
        CASE(ALLREDUCE, Allreduce, Iallreduce, Allreduce_init, ARGUMENTS_ALLREDUCE);
        CASE(REDUCE_SCATTER, Reduce_scatter, Ireduce_scatter, Reduce_scatter_init,
             ARGUMENTS_REDUCE_SCATTER);
        CASE(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, Ireduce_scatter_block,
             Reduce_scatter_block_init, ARGUMENTS_REDUCE_SCATTER_BLOCK);
        CASE(SCAN, Scan, Iscan, Scan_init, ARGUMENTS_SCAN);
        CASE(EXSCAN, Exscan, Iexscan, Exscan_init, ARGUMENTS_SCAN);
    case ALL:
        break;
    }
}

/* The sum of what the ranks below `end` give at `place` of their send buffers. */
static int sum(int end, int place, int round)
{
    int all = 0;
    for (int from = 0; from < end; from++) all += letter(from, place / COUNT, place % COUNT, round);
    return all;
}

/* The element at `at` of the block that rank `from` gives to this one. */
static int expected_of(Operation operation, int from, int at, int round)
{
    switch (operation) {
    case GATHER: case GATHERV: case ALLGATHER: case ALLGATHERV:
        return letter(from, 0, at, round);
    default:
        return letter(from, rank, at, round);
    }
}

static void expect(Operation operation, int place, int found, int wanted)
{
    CHECK(found == wanted, "%s to leave %d in element %d, not %d", names[operation], wanted, place,
          found);
}

/* Checks what an operation has left in the buffers. */
static void check_results(Operation operation, int root, int round)
{
    int is_root = rank == root;
    switch (operation) {
    case BCAST:
        for (int at = 0; at < COUNT; at++)
            expect(operation, at, sends[at], letter(root, 0, at, round));
        break;
    case GATHER: case ALLGATHER: case ALLTOALL: case ALLTOALLV: case ALLTOALLW:
        for (int from = 0; from < size && (operation != GATHER || is_root); from++)
            for (int at = 0; at < COUNT; at++)
                expect(operation, from * COUNT + at, receives[from * COUNT + at],
                       expected_of(operation, from, at, round));
        break;
    case GATHERV: case ALLGATHERV:
        for (int from = 0; from < size && (operation != GATHERV || is_root); from++)
            for (int at = 0; at < count_of(from); at++)
                expect(operation, places[from] + at, receives[places[from] + at],
                       expected_of(operation, from, at, round));
        break;
    case SCATTER: case SCATTERV:
        for (int at = 0; at < (operation == SCATTER ? COUNT : count_of(rank)); at++)
            expect(operation, at, receives[at], letter(root, rank, at, round));
        break;
    case REDUCE: case ALLREDUCE:
        for (int at = 0; at < COUNT && (operation != REDUCE || is_root); at++)
            expect(operation, at, receives[at], sum(size, at, round));
        break;
    case REDUCE_SCATTER: case REDUCE_SCATTER_BLOCK:
        for (int at = 0; at < COUNT; at++)
            expect(operation, at, receives[at], sum(size, rank * COUNT + at, round));
        break;
    case SCAN:
        for (int at = 0; at < COUNT; at++)
            expect(operation, at, receives[at], sum(rank + 1, at, round));
        break;
    case EXSCAN:
        for (int at = 0; at < COUNT && rank > 0; at++)
            expect(operation, at, receives[at], sum(rank, at, round));
        break;
    case BARRIER: case ALL:
        break;
    }
}

/* Each operation in each form, with each root of a few. */
static void all_forms(void)
{
    for (Operation operation = 0; operation < ALL; operation++) {
        for (int root = 0; root < size; root += size > 2 ? size - 1 : 1) {
            fill_all(0);
            call(operation, 0, root, NULL);
            check_results(operation, root, 0);
            MPI_Request request;
            fill_all(1);
            call(operation, 1, root, &request);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            check_results(operation, root, 1);
            call(operation, 2, root, &request);
            for (int round = 2; round < 5; round++) {
                fill_all(round);
                OK(MPI_Start(&request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                check_results(operation, root, round);
            }
            OK(MPI_Request_free(&request));
        }
    }
}

/* Nonblocking operations of several kinds on a communicator that is freed while they go on. */
static void many_at_a_time(void)
{
    MPI_Request *requests = malloc(MANY * sizeof *requests);
    int *values = malloc(MANY * sizeof *values);
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int at = 0; at < MANY; at++) {
        values[at] = rank == at % size ? at : 1;
        if (at % 2 == 0) {
            OK(MPI_Ibcast(&values[at], 1, MPI_INT, at % size, comm, &requests[at]));
        } else {
            OK(MPI_Iallreduce(MPI_IN_PLACE, &values[at], 1, MPI_INT, MPI_SUM, comm,
                                 &requests[at]));
        }
    }
    OK(MPI_Comm_free(&comm));
    for (int at = MANY - 1; at >= 0; at--) OK(MPI_Wait(&requests[at], MPI_STATUS_IGNORE));
    for (int at = 0; at < MANY; at++) {
        int wanted = at % 2 == 0 ? at : at + size - 1;
        CHECK(values[at] == wanted, "operation %d of many to give %d, not %d", at, wanted,
              values[at]);
    }
    free(values);
    free(requests);
}

/* A wrong argument is refused in all three forms, and nothing is started. */
static void wrong_arguments(void)
{
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_Request request = MPI_REQUEST_NULL;
    int value = 1, result, form;
    int roots[] = {
        MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD),
        MPI_Ibcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD, &request),
        MPI_Bcast_init(&value, 1, MPI_INT, size, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
    };
    int overlaps[] = {
        MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
        MPI_Iallreduce(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request),
        MPI_Allreduce_init(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request),
    };
    for (form = 0; form < 3; form++) {
        CHECK_INT(class_of(roots[form]), MPI_ERR_ROOT);
        CHECK_INT(class_of(overlaps[form]), MPI_ERR_BUFFER);
    }
    CHECK(request == MPI_REQUEST_NULL, "a refused call to write no request");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(result, size);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int who = 0; who < size; who++) {
        counts[who] = count_of(who);
        places[who] = who * COUNT;
        bytes[who] = who * COUNT * (int)sizeof(int);
        types[who] = MPI_INT;
    }
    all_forms();
    many_at_a_time();
    wrong_arguments();
    return end();
}
