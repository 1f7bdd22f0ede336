/* ranks: 1, 2, 5; MPI 5.0 4.2 */
/* Partitioned sends and receives: any split, any order of partitions, many starts. */
#include "../check.h"
#include <pthread.h>

enum { MOST = 400000, THREADS = 3 };

static char out[MOST], in[MOST];

/* Around the ring: `sends` partitions of `bytes` bytes become `receives` partitions. */
static void split(int sends, int receives, int bytes, int rounds)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int i, round, flag, each = bytes / receives;
    MPI_Request send, receive;
    MPI_Status status;

    MPI_Psend_init(out, sends, bytes / sends, MPI_BYTE, to, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &send);
    MPI_Precv_init(in, receives, each, MPI_BYTE, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &receive);
    for (round = 0; round < rounds; round++) {
        fill(out, bytes, rank + round);
        memset(in, 0, bytes);
        if (round % 2) {
            MPI_Start(&send);
            MPI_Start(&receive);
        } else {
            MPI_Request both[2] = {receive, send};

            MPI_Startall(2, both);
        }
        MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
        CHECK_INT(flag, 0);
        if (round % 3 == 0) /* the last one first */
            for (i = sends - 1; i >= 0; i--)
                MPI_Pready(i, send);
        else if (round % 3 == 1)
            MPI_Pready_range(0, sends - 1, send);
        else {
            int list[64];

            for (i = 0; i < sends; i++)
                list[i] = (i + 1) % sends;
            MPI_Pready_list(sends, list, send);
        }
        for (i = 0; i < receives; i++)
            for (flag = 0; !flag;)
                MPI_Parrived(receive, i, &flag);
        CHECK_FILLED(in, bytes, from + round); /* before the request is complete */
        MPI_Wait(&receive, &status);
        CHECK_STATUS(status, from, 3, bytes);
        CHECK(receive != MPI_REQUEST_NULL, "the request to stay");
        MPI_Parrived(receive, 0, &flag); /* inactive */
        CHECK_INT(flag, 1);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    CHECK(send == MPI_REQUEST_NULL && receive == MPI_REQUEST_NULL, "null handles");
}

/* A partition is here as soon as its bytes are, and not before. */
static void arrives_by_and_by(void)
{
    MPI_Request send, receive;
    int flag, i;

    fill(out, 400, 9);
    memset(in, 0, 400);
    MPI_Precv_init(in, 2, 200, MPI_BYTE, 0, 4, MPI_COMM_SELF, MPI_INFO_NULL, &receive);
    MPI_Start(&receive); /* before there is a sender */
    MPI_Parrived(receive, 0, &flag);
    CHECK_INT(flag, 0);
    MPI_Psend_init(out, 4, 100, MPI_BYTE, 0, 4, MPI_COMM_SELF, MPI_INFO_NULL, &send);
    MPI_Start(&send);
    MPI_Pready(2, send);
    MPI_Pready(0, send);
    for (i = 0; i < 50; i++) {
        MPI_Parrived(receive, 0, &flag);
        CHECK_INT(flag, 0);
        MPI_Parrived(receive, 1, &flag);
        CHECK_INT(flag, 0);
    }
    MPI_Pready(1, send);
    for (flag = 0; !flag;)
        MPI_Parrived(receive, 0, &flag);
    CHECK_FILLED(in, 200, 9);
    MPI_Parrived(receive, 1, &flag);
    CHECK_INT(flag, 0);
    MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
    CHECK_INT(flag, 0);
    MPI_Pready(3, send);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_FILLED(in, 400, 9);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

/* A partition without data is not here before the sender has marked what it comes from. */
static void empty_ones(void)
{
    MPI_Request requests[2];
    int flag, i;

    MPI_Precv_init(in, 2, 0, MPI_BYTE, 0, 4, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(out, 4, 0, MPI_BYTE, 0, 4, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(2, 3, requests[1]);
    for (flag = 0; !flag;)
        MPI_Parrived(requests[0], 1, &flag);
    for (i = 0; i < 50; i++) {
        MPI_Parrived(requests[0], 0, &flag);
        CHECK_INT(flag, 0);
    }
    MPI_Pready_range(0, 1, requests[1]);
    for (flag = 0; !flag;)
        MPI_Parrived(requests[0], 0, &flag);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* By the order of the calls of init, whatever the order of the starts; ordinary messages with the
 * same tag never match. */
static void matches_once(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, flag;
    int values[3] = {1, 2, 3}, got[3] = {0, 0, 0};
    MPI_Request sends[2], receives[2], plain;

    MPI_Irecv(&got[2], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &plain);
    MPI_Psend_init(&values[0], 1, 1, MPI_INT, to, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[0]);
    MPI_Psend_init_c(&values[1], 1, 1, MPI_INT, to, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[1]);
    MPI_Precv_init(&got[0], 1, 1, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[0]);
    MPI_Precv_init_c(&got[1], 1, 1, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[1]);
    MPI_Start(&sends[1]);
    MPI_Pready(0, sends[1]);
    MPI_Start(&receives[1]);
    MPI_Wait(&receives[1], MPI_STATUS_IGNORE);
    CHECK_INT(got[1], 2);
    MPI_Start(&receives[0]);
    MPI_Start(&sends[0]);
    MPI_Pready(0, sends[0]);
    MPI_Waitall(2, receives, MPI_STATUSES_IGNORE);
    CHECK_INT(got[0], 1);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    MPI_Test(&plain, &flag, MPI_STATUS_IGNORE);
    CHECK_INT(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&values[2], 1, MPI_INT, to, 5, MPI_COMM_WORLD);
    MPI_Wait(&plain, MPI_STATUS_IGNORE);
    CHECK_INT(got[2], 3);
    MPI_Request_free(&sends[0]);
    MPI_Request_free(&sends[1]);
    MPI_Request_free(&receives[0]);
    MPI_Request_free(&receives[1]);
}

/* Two ints of three, sent in 6 partitions and received in 4. */
static void with_gaps(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, i, k, numbers[36], got[36];
    MPI_Request requests[2];
    MPI_Datatype pair, type;

    for (i = 0; i < 36; i++) {
        numbers[i] = 100 * rank + i;
        got[i] = -1;
    }
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 3 * sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Precv_init(got, 4, 3, type, from, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(numbers, 6, 2, type, to, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (k = 0; k < 2; k++) {
        MPI_Startall(2, requests);
        MPI_Pready_range(3, 5, requests[1]);
        MPI_Pready_range(0, 2, requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (i = 0; i < 36; i++)
            CHECK_INT(got[i], i % 3 == 2 ? -1 : 100 * from + i);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Type_free(&type);
    MPI_Type_free(&pair);
}

static void nowhere(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag;

    MPI_Psend_init(out, 2, 10, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(in, 2, 10, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 1, requests[0]);
    MPI_Parrived(requests[1], 1, &flag);
    CHECK_INT(flag, 1);
    MPI_Waitall(2, requests, statuses);
    CHECK_STATUS(statuses[1], MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Parrived(MPI_REQUEST_NULL, 0, &flag);
    CHECK_INT(flag, 1);
}

static MPI_Request shared;

static void *mark(void *number)
{
    int i;

    for (i = *(int *)number; i < 60; i += THREADS)
        MPI_Pready(i, shared);
    return NULL;
}

static void by_several_threads(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, i, round, numbers[THREADS];
    pthread_t threads[THREADS];
    MPI_Request receive;

    MPI_Psend_init(out, 60, 1000, MPI_BYTE, to, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &shared);
    MPI_Precv_init(in, 20, 3000, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (round = 0; round < 20; round++) {
        fill(out, 60000, rank + round);
        MPI_Start(&receive);
        MPI_Start(&shared);
        for (i = 0; i < THREADS; i++) {
            numbers[i] = i;
            pthread_create(&threads[i], NULL, mark, &numbers[i]);
        }
        MPI_Wait(&shared, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        CHECK_FILLED(in, 60000, from + round);
        for (i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    MPI_Request_free(&shared);
    MPI_Request_free(&receive);
}

static void errors(void)
{
    MPI_Request send, receive, requests[2];
    MPI_Status status;
    int flag, list[3] = {0, 2, 0}, lengths[2] = {3, 5}, i;

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Psend_init(out, 3, 4, MPI_BYTE, 0, 8, MPI_COMM_SELF, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 3, 4, MPI_BYTE, 0, 8, MPI_COMM_SELF, MPI_INFO_NULL, &receive);
    CHECK_INT(class_of(MPI_Pready(0, send)), MPI_ERR_REQUEST); /* not started */
    MPI_Start(&send);
    MPI_Start(&receive);
    CHECK_INT(class_of(MPI_Pready(3, send)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Pready(-1, send)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Pready(0, receive)), MPI_ERR_REQUEST);
    CHECK_INT(class_of(MPI_Pready_range(2, 1, send)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Pready_list(3, list, send)), MPI_ERR_ARG); /* sends nothing */
    CHECK_INT(class_of(MPI_Parrived(receive, 3, &flag)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Parrived(send, 0, &flag)), MPI_ERR_REQUEST);
    CHECK_INT(class_of(MPI_Start(&send)), MPI_ERR_REQUEST); /* active */
    CHECK_INT(class_of(MPI_Cancel(&send)), MPI_ERR_REQUEST);
    CHECK_INT(MPI_Pready_range(0, 1, send), MPI_SUCCESS);
    CHECK_INT(class_of(MPI_Pready(1, send)), MPI_ERR_ARG); /* twice */
    CHECK_INT(MPI_Pready(2, send), MPI_SUCCESS);
    CHECK_INT(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CHECK_INT(MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CHECK_INT(class_of(MPI_Pready(0, send)), MPI_ERR_REQUEST);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    CHECK_INT(class_of(MPI_Psend_init(out, 1, 1, MPI_BYTE, 9, 0, MPI_COMM_SELF, MPI_INFO_NULL,
                                      &send)),
              MPI_ERR_RANK);
    CHECK_INT(class_of(MPI_Precv_init(in, 1, 1, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_SELF,
                                      MPI_INFO_NULL, &send)),
              MPI_ERR_RANK);
    CHECK_INT(class_of(MPI_Precv_init(in, 1, 1, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_SELF,
                                      MPI_INFO_NULL, &send)),
              MPI_ERR_TAG);
    CHECK_INT(class_of(MPI_Psend_init(out, -1, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL,
                                      &send)),
              MPI_ERR_ARG);
    /* Not the same amount of data: an error at each start, and the sender is not hurt. */
    for (i = 0; i < 2; i++) {
        MPI_Psend_init(out, 4, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(in, 1, lengths[i], MPI_INT, 0, 9, MPI_COMM_SELF, MPI_INFO_NULL,
                       &requests[1]);
        MPI_Startall(2, requests);
        MPI_Pready_range(0, 3, requests[0]);
        CHECK_INT(class_of(MPI_Wait(&requests[1], &status)), MPI_ERR_TRUNCATE);
        CHECK_INT(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    split(1, 1, 8, 3);
    split(4, 4, 4000, 6);
    split(6, 4, 1200, 6);
    split(3, 16, 48000, 6);
    split(16, 1, MOST, 6);
    split(1, 10, MOST, 3);
    arrives_by_and_by();
    empty_ones();
    matches_once();
    with_gaps();
    nowhere();
    by_several_threads();
    errors();
    return end();
}
