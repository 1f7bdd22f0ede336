/* ranks: 2; MPI 5.0 13.2 */
/* Generalized requests: when their functions are called, with what, and what the calls return. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <pthread.h>
#include <time.h>

typedef struct {
    int queries, frees, cancels, complete; /* calls, and the argument of the last cancel */
    int query_code, free_code;             /* what the functions return */
    int order_is_right;                    /* freed after it was queried */
    MPI_Request request;
} Operation;

static int query(void *state, MPI_Status *status)
{
    Operation *operation = state;

    operation->queries++;
    MPI_Status_set_elements(status, MPI_INT, 7);
    MPI_Status_set_cancelled(status, operation->cancels > 0);
    status->MPI_SOURCE = 41;
    status->MPI_TAG = 42;
    return operation->query_code;
}

static int release(void *state)
{
    Operation *operation = state;

    operation->frees++;
    operation->order_is_right = operation->queries > 0;
    return operation->free_code;
}

static int cancel(void *state, int complete)
{
    Operation *operation = state;

    operation->cancels++;
    operation->complete = complete;
    return MPI_SUCCESS;
}

static Operation begun(void *place)
{
    Operation operation = {0};

    MPI_Grequest_start(query, release, cancel, place, &operation.request);
    CHECK(operation.request != MPI_REQUEST_NULL, "a request");
    return operation;
}

#define CHECK_CALLS(operation, query_calls, free_calls) \
    do {                                                \
        CHECK_INT((operation).queries, query_calls);    \
        CHECK_INT((operation).frees, free_calls);       \
    } while (0)

static void one_by_one(void)
{
    static Operation it;
    MPI_Status status;
    int done, index;

    it = begun(&it);
    MPI_Test(&it.request, &done, &status);
    CHECK_INT(done, 0);
    MPI_Request_get_status(it.request, &done, &status);
    CHECK_INT(done, 0);
    CHECK_CALLS(it, 0, 0);
    MPI_Grequest_complete(it.request);
    CHECK_CALLS(it, 0, 0);
    MPI_Request_get_status(it.request, &done, &status);
    CHECK_INT(done, 1);
    CHECK_STATUS(status, 41, 42, 7 * (int)sizeof(int));
    CHECK_CALLS(it, 1, 0);
    MPI_Request_get_status_any(1, &it.request, &index, &done, &status);
    CHECK_INT(index, 0);
    CHECK_CALLS(it, 2, 0);
    status.MPI_ERROR = 1234;
    MPI_Wait(&it.request, &status);
    CHECK_INT(status.MPI_ERROR, 1234);
    CHECK_STATUS(status, 41, 42, 7 * (int)sizeof(int));
    CHECK_CALLS(it, 3, 1);
    CHECK_INT(it.order_is_right, 1);
    CHECK(it.request == MPI_REQUEST_NULL, "the request to be null");

    it = begun(&it);
    MPI_Grequest_complete(it.request);
    MPI_Test(&it.request, &done, MPI_STATUS_IGNORE);
    CHECK_INT(done, 1);
    CHECK_CALLS(it, 1, 1);
}

/* Freed before it is complete, and after. */
static void freed(void)
{
    static Operation it;
    MPI_Request copy;

    it = begun(&it);
    copy = it.request;
    MPI_Request_free(&it.request);
    CHECK(it.request == MPI_REQUEST_NULL, "the request to be null");
    CHECK_CALLS(it, 0, 0);
    MPI_Grequest_complete(copy);
    CHECK_CALLS(it, 0, 1);
    CHECK_INT(class_of(MPI_Grequest_complete(copy)), MPI_ERR_REQUEST);

    it = begun(&it);
    MPI_Grequest_complete(it.request);
    CHECK_INT(class_of(MPI_Grequest_complete(it.request)), MPI_ERR_REQUEST);
    MPI_Request_free(&it.request);
    CHECK_CALLS(it, 0, 1);

    MPI_Irecv(&copy, 0, MPI_INT, rank, 3, MPI_COMM_SELF, &it.request);
    CHECK(class_of(MPI_Grequest_complete(it.request)) != MPI_SUCCESS, "an error: it is a receive");
    MPI_Cancel(&it.request);
    MPI_Wait(&it.request, MPI_STATUS_IGNORE);
}

static void cancelled(void)
{
    static Operation it;
    MPI_Status status;
    int flag;

    it = begun(&it);
    MPI_Cancel(&it.request);
    CHECK_INT(it.cancels, 1);
    CHECK_INT(it.complete, 0);
    MPI_Grequest_complete(it.request);
    MPI_Cancel(&it.request);
    CHECK_INT(it.cancels, 2);
    CHECK(it.complete, "complete to be true");
    MPI_Wait(&it.request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK_INT(flag, 1);
    CHECK_CALLS(it, 1, 1);
}

/* An error of the query function is not lost if the free function succeeds. */
static void query_fails(int free_code, int expected)
{
    static Operation it[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];

    it[0] = begun(&it[0]);
    it[1] = begun(&it[1]);
    it[0].query_code = it[1].query_code = MPI_ERR_IO;
    it[0].free_code = it[1].free_code = free_code;
    MPI_Grequest_complete(it[0].request);
    MPI_Grequest_complete(it[1].request);
    CHECK_INT(class_of(MPI_Wait(&it[0].request, MPI_STATUS_IGNORE)), expected);
    CHECK(it[0].request == MPI_REQUEST_NULL, "the request to be null");
    requests[0] = MPI_REQUEST_NULL;
    requests[1] = it[1].request;
    CHECK_INT(class_of(MPI_Waitall(2, requests, statuses)), MPI_ERR_IN_STATUS);
    CHECK_INT(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_INT(statuses[1].MPI_ERROR, expected);
    CHECK_CALLS(it[0], 1, 1);
    CHECK_CALLS(it[1], 1, 1);
}

/* The code of the free function counts; of several requests, in the status. */
static void errors(void)
{
    static Operation it[2];
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int value = 5, got = -1, count, indices[3];

    it[0] = begun(&it[0]);
    it[0].free_code = MPI_ERR_IO;
    MPI_Grequest_complete(it[0].request);
    CHECK_INT(class_of(MPI_Wait(&it[0].request, statuses)), MPI_ERR_IO);
    CHECK(it[0].request == MPI_REQUEST_NULL, "the request to be null");
    CHECK_CALLS(it[0], 1, 1);

    it[0] = begun(&it[0]);
    it[0].query_code = MPI_ERR_IO;
    MPI_Grequest_complete(it[0].request);
    CHECK_INT(class_of(MPI_Request_get_status(it[0].request, &count, statuses)), MPI_ERR_IO);
    MPI_Request_free(&it[0].request);

    it[0] = begun(&it[0]);
    it[1] = begun(&it[1]);
    it[1].free_code = MPI_ERR_QUOTA;
    MPI_Irecv(&got, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[1]);
    MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_SELF);
    MPI_Grequest_complete(it[0].request);
    MPI_Grequest_complete(it[1].request);
    requests[0] = it[0].request;
    requests[2] = it[1].request;
    memset(statuses, 77, sizeof statuses);
    CHECK_INT(class_of(MPI_Waitall(3, requests, statuses)), MPI_ERR_IN_STATUS);
    CHECK_INT(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_INT(statuses[1].MPI_ERROR, MPI_SUCCESS);
    CHECK_INT(statuses[2].MPI_ERROR, MPI_ERR_QUOTA);
    CHECK_STATUS(statuses[1], 0, 4, (int)sizeof(int));
    CHECK_INT(got, 5);
    CHECK_CALLS(it[0], 1, 1);
    CHECK_CALLS(it[1], 1, 1);

    it[0] = begun(&it[0]);
    it[0].free_code = MPI_ERR_QUOTA;
    requests[0] = MPI_REQUEST_NULL;
    requests[1] = it[0].request;
    MPI_Grequest_complete(it[0].request);
    CHECK_INT(class_of(MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE)),
              MPI_ERR_IN_STATUS);
    CHECK_INT(count, 1);
    CHECK_INT(indices[0], 1);
    CHECK_CALLS(it[0], 1, 1);
}

static void with_others(void)
{
    static Operation it[3];
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int i, value = rank, got = -1, index, done, count, indices[4], peer = 1 - rank;

    for (i = 0; i < 3; i++) {
        it[i] = begun(&it[i]);
        requests[i] = it[i].request;
    }
    MPI_Irecv(&got, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &requests[3]);
    MPI_Testall(4, requests, &done, statuses);
    CHECK_INT(done, 0);
    MPI_Grequest_complete(requests[1]);
    MPI_Waitany(3, requests, &index, &statuses[0]);
    CHECK_INT(index, 1);
    CHECK_STATUS(statuses[0], 41, 42, 7 * (int)sizeof(int));
    CHECK_CALLS(it[1], 1, 1);
    MPI_Grequest_complete(requests[2]);
    MPI_Waitsome(3, requests, &count, indices, statuses);
    CHECK_INT(count, 1);
    CHECK_INT(indices[0], 2);
    CHECK_STATUS(statuses[0], 41, 42, 7 * (int)sizeof(int));
    CHECK_CALLS(it[2], 1, 1);
    MPI_Grequest_complete(requests[0]);
    MPI_Sendrecv(&value, 1, MPI_INT, peer, 5, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Waitall(4, requests, statuses);
    CHECK_STATUS(statuses[0], 41, 42, 7 * (int)sizeof(int));
    CHECK_EMPTY_STATUS(statuses[1]);
    CHECK_STATUS(statuses[3], peer, 5, (int)sizeof(int));
    CHECK_INT(got, peer);
    CHECK_CALLS(it[0], 1, 1);
}

static void *complete(void *state)
{
    Operation *operation = state;
    struct timespec pause = {0, 300000000};

    nanosleep(&pause, NULL); /* most likely the others sleep by then; if not, all is right too */
    MPI_Grequest_complete(operation->request);
    return NULL;
}

static void *wait_for(void *state)
{
    MPI_Wait(state, MPI_STATUS_IGNORE);
    return NULL;
}

/* Threads that wait, one alone or several, wake when another one completes their requests. */
static void between_threads(int waiting)
{
    static Operation it[2];
    pthread_t threads[4];
    MPI_Request requests[2];
    int i;

    for (i = 0; i < waiting; i++) {
        it[i] = begun(&it[i]);
        requests[i] = it[i].request;
        pthread_create(&threads[2 + i], NULL, complete, &it[i]);
    }
    for (i = 1; i < waiting; i++)
        pthread_create(&threads[i], NULL, wait_for, &requests[i]);
    wait_for(&requests[0]);
    for (i = 1; i < waiting; i++)
        pthread_join(threads[i], NULL);
    for (i = 0; i < waiting; i++) {
        pthread_join(threads[2 + i], NULL);
        CHECK_CALLS(it[i], 1, 1);
    }
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    one_by_one();
    freed();
    cancelled();
    query_fails(MPI_SUCCESS, MPI_ERR_IO);
    query_fails(MPI_ERR_QUOTA, MPI_ERR_QUOTA);
    errors();
    with_others();
    between_threads(1);
    between_threads(2);
    return end();
}
