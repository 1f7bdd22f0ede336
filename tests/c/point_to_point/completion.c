/* ranks: 2; transports: all; MPI 5.0 3.7.3, 3.7.5 */
/* The eight ways to complete requests, with null requests among the live ones. */
#include "../check.h"

enum { COUNT = 8, GO = 100 };

static int data[COUNT];
static MPI_Request requests[COUNT];

/* Requests 2 and 5 stay null; the others receive the value 10 + i with tag i. */
static int is_null(int i)
{
    return i == 2 || i == 5;
}

static void post(void)
{
    int i;

    for (i = 0; i < COUNT; i++) {
        data[i] = -1;
        requests[i] = MPI_REQUEST_NULL;
        if (!is_null(i))
            MPI_Irecv(&data[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
    }
}

static void ask_for_messages(void)
{
    MPI_Send(NULL, 0, MPI_INT, 0, GO, MPI_COMM_WORLD);
}

static void answer(int rounds)
{
    int i, round, value;

    for (round = 0; round < rounds; round++) {
        MPI_Recv(NULL, 0, MPI_INT, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = COUNT - 1; i >= 0; i--) {
            value = 10 + i;
            if (!is_null(i))
                MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        }
    }
}

static void check_one(int i, const MPI_Status *status)
{
    CHECK_STATUS(*status, 0, i, (int)sizeof(int));
    CHECK_INT(data[i], 10 + i);
    CHECK(requests[i] == MPI_REQUEST_NULL, "request %d to be null after completion", i);
}

static void one_by_one(int waiting)
{
    MPI_Status status;
    int i, done;

    post();
    for (i = 0; i < COUNT; i++) {
        if (is_null(i))
            continue;
        MPI_Test(&requests[i], &done, &status);
        CHECK_INT(done, 0);
    }
    ask_for_messages();
    for (i = 0; i < COUNT; i++) {
        done = 0;
        if (waiting)
            MPI_Wait(&requests[i], &status);
        else
            while (!done)
                MPI_Test(&requests[i], &done, &status);
        if (is_null(i))
            CHECK_EMPTY_STATUS(status);
        else
            check_one(i, &status);
    }
}

static void all(int waiting)
{
    MPI_Status statuses[COUNT];
    int i, done;

    post();
    MPI_Testall(COUNT, requests, &done, statuses);
    CHECK_INT(done, 0);
    ask_for_messages();
    if (waiting)
        MPI_Waitall(COUNT, requests, statuses);
    else
        while (!done)
            MPI_Testall(COUNT, requests, &done, statuses);
    for (i = 0; i < COUNT; i++)
        if (is_null(i))
            CHECK_EMPTY_STATUS(statuses[i]);
        else
            check_one(i, &statuses[i]);
}

static void any(int waiting)
{
    MPI_Status status;
    int i, index, done, left = COUNT - 2;

    post();
    MPI_Testany(COUNT, requests, &index, &done, &status);
    CHECK_INT(done, 0);
    CHECK_INT(index, MPI_UNDEFINED);
    ask_for_messages();
    for (; left > 0; left--) {
        done = 0;
        if (waiting)
            MPI_Waitany(COUNT, requests, &index, &status);
        else
            while (!done)
                MPI_Testany(COUNT, requests, &index, &done, &status);
        CHECK(index >= 0 && index < COUNT && !is_null(index), "a live index, not %d", index);
        check_one(index, &status);
    }
    for (i = 0; i < 2; i++) { /* nothing is left: at once, with MPI_UNDEFINED */
        index = done = 0;
        if (waiting)
            MPI_Waitany(COUNT, requests, &index, &status);
        else
            MPI_Testany(COUNT, requests, &index, &done, &status);
        CHECK_INT(index, MPI_UNDEFINED);
        CHECK_INT(done, !waiting);
        CHECK_EMPTY_STATUS(status);
    }
}

static void some(int waiting)
{
    MPI_Status statuses[COUNT];
    int i, count, indices[COUNT], left = COUNT - 2;

    post();
    MPI_Testsome(COUNT, requests, &count, indices, statuses);
    CHECK_INT(count, 0);
    ask_for_messages();
    while (left > 0) {
        if (waiting)
            MPI_Waitsome(COUNT, requests, &count, indices, statuses);
        else
            MPI_Testsome(COUNT, requests, &count, indices, statuses);
        CHECK(count >= waiting && count <= left, "1 to %d completions, not %d", left, count);
        for (i = 0; i < count; i++)
            check_one(indices[i], &statuses[i]);
        left -= count;
    }
    (waiting ? MPI_Waitsome : MPI_Testsome)(COUNT, requests, &count, indices, statuses);
    CHECK_INT(count, MPI_UNDEFINED);
}

static void nothing_at_all(void)
{
    int done = 0, index = 0, count = 0;

    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Testall(0, NULL, &done, MPI_STATUSES_IGNORE);
    CHECK_INT(done, 1);
    MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE);
    CHECK_INT(index, MPI_UNDEFINED);
    MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE);
    CHECK_INT(count, MPI_UNDEFINED);
}

int main(int argc, char **argv)
{
    int waiting;

    begin(&argc, &argv);
    if (rank == 0)
        answer(8);
    for (waiting = 0; rank == 1 && waiting < 2; waiting++) {
        one_by_one(waiting);
        all(waiting);
        any(waiting);
        some(waiting);
    }
    nothing_at_all();
    return end();
}
