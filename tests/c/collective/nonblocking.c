/* ranks: 1, 2, 3, 8; transports: all; MPI 5.0 6.12 */
/* Nonblocking collectives: alone, many in flight, completed in any order, beside blocking ones and
 * point-to-point messages, and on a communicator that is freed meanwhile. */
#include "../check.h"

enum { MANY = 600, LONG = 100000, TAG = 5 };

static MPI_Request requests[MANY + 3];
static int values[MANY];
static char big[LONG];

static void broadcasts(void)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Count count = LONG;
    int root, value, done = 0;

    for (root = 0; root < size; root++) {
        value = rank == root ? 100 + root : -1;
        MPI_Ibcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        CHECK(request == MPI_REQUEST_NULL, "a request that is gone");
        CHECK_INT(value, 100 + root);
        memset(big, 0, LONG);
        if (rank == root)
            fill(big, LONG, root);
        MPI_Ibcast_c(big, count, MPI_CHAR, root, MPI_COMM_WORLD, &request);
        for (done = 0; !done;)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        CHECK_FILLED(big, LONG, root);
    }
}

/* Nobody's barrier completes before rank 0 has called it. */
static void barrier_waits(void)
{
    MPI_Request request;
    int done, other = 0, last = size - 1;

    if (size == 1)
        return;
    if (rank == last) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        CHECK_INT(done, 0);
        MPI_Send(&other, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(&other, 1, MPI_INT, last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    } else {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* More than are active at a time, beside messages and blocking collectives. */
static void many(void)
{
    int i, in = -1, out = rank, sum, next = (rank + 1) % size, before = (rank + size - 1) % size;

    for (i = 0; i < MANY; i++) {
        values[i] = rank == i % size ? i : -1;
        if (i % 7 == 3)
            MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Ibcast(&values[i], 1, MPI_INT, i % size, MPI_COMM_WORLD, &requests[i]);
        if (i == MANY / 2) {
            MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            CHECK_INT(sum, size * (size - 1) / 2);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Irecv(&in, 1, MPI_INT, before, TAG, MPI_COMM_WORLD, &requests[MANY]);
    MPI_Isend(&out, 1, MPI_INT, next, TAG, MPI_COMM_WORLD, &requests[MANY + 1]);
    requests[MANY + 2] = MPI_REQUEST_NULL;
    MPI_Waitall(MANY + 3, requests, MPI_STATUSES_IGNORE);
    CHECK_INT(in, before);
    for (i = 0; i < MANY; i++)
        if (i % 7 != 3)
            CHECK_INT(values[i], i);
}

/* Completed one by one, from the last to the first here, in any order there. */
static void in_any_order(void)
{
    int i, index, done, left = 20;

    for (i = 0; i < 20; i++) {
        values[i] = rank == i % size ? 7 * i : -1;
        MPI_Ibcast(&values[i], 1, MPI_INT, i % size, MPI_COMM_WORLD, &requests[i]);
    }
    if (rank % 2 == 0) {
        for (i = 19; i >= 0; i--)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    } else {
        while (left > 0) {
            MPI_Testany(20, requests, &index, &done, MPI_STATUS_IGNORE);
            if (done && index != MPI_UNDEFINED)
                left--;
        }
        MPI_Testany(20, requests, &index, &done, MPI_STATUS_IGNORE);
        CHECK_INT(done, 1);
        CHECK_INT(index, MPI_UNDEFINED);
    }
    for (i = 0; i < 20; i++)
        CHECK_INT(values[i], 7 * i);
}

/* The communicator and the datatype are given up while the collective goes on. */
static void freed(void)
{
    MPI_Comm copy;
    MPI_Datatype pair;
    MPI_Request both[2];
    int data[3] = {-1, -1, -1};

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    if (rank == size - 1)
        data[0] = 11, data[2] = 22;
    MPI_Ibcast(data, 1, pair, size - 1, copy, &both[0]);
    MPI_Ibarrier(copy, &both[1]);
    MPI_Type_free(&pair);
    MPI_Comm_free(&copy);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK_INT(data[0], 11);
    CHECK_INT(data[1], -1);
    CHECK_INT(data[2], 22);
}

/* Two communicators, whose collectives are started in different orders. */
static void two_communicators(void)
{
    MPI_Comm copy;
    MPI_Request both[2];
    int a = rank == 0 ? 1 : -1, b = rank == 0 ? 2 : -1;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank % 2 == 0) {
        MPI_Ibcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD, &both[0]);
        MPI_Ibcast(&b, 1, MPI_INT, 0, copy, &both[1]);
    } else {
        MPI_Ibcast(&b, 1, MPI_INT, 0, copy, &both[1]);
        MPI_Ibcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD, &both[0]);
    }
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK_INT(a, 1);
    CHECK_INT(b, 2);
    MPI_Comm_free(&copy);
}

/* A message that is too long is the error of the request. */
static void truncated(void)
{
    MPI_Request request;
    int data[2] = {1, 2}, code;

    if (size == 1)
        return;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Ibcast(data, rank == 0 ? 2 : 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    CHECK_INT(code, MPI_SUCCESS);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_INT(class_of(code), rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    CHECK(request == MPI_REQUEST_NULL, "a request that is gone");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    broadcasts();
    barrier_waits();
    many();
    in_any_order();
    freed();
    two_communicators();
    /* A rank that got too much passes on what it has room for: only a tree of depth one. */
    if (size <= 3)
        truncated();
    return end();
}
