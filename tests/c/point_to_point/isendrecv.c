/* ranks: 1, 2, 5; MPI 5.0 3.11 */
/* Isendrecv and Isendrecv_replace: one request for both, with the status of the receive. */
#include "../check.h"

enum { TAG = 1, MOST = 300000 };

static char out[MOST], in[MOST], expected[MOST];
static const int lengths[] = {0, 1, 1000, 70000, MOST};

static void around_the_ring(int to, int from, int bytes)
{
    MPI_Request request;
    MPI_Status status;
    int done = 0;

    fill(out, bytes, rank + bytes);
    MPI_Isendrecv(out, bytes, MPI_BYTE, to, TAG + rank, in, MOST, MPI_BYTE, from, MPI_ANY_TAG,
                  MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, &status);
    CHECK(request == MPI_REQUEST_NULL, "the request to be null");
    CHECK_STATUS(status, from, TAG + from, bytes);
    CHECK_FILLED(in, bytes, from + bytes);

    fill(in, bytes, rank);
    MPI_Isendrecv_replace_c(in, bytes, MPI_BYTE, to, TAG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
                            &request);
    MPI_Wait(&request, &status);
    CHECK_STATUS(status, from, TAG, bytes);
    CHECK_FILLED(in, bytes, from);
}

/* Both go on whatever the order in which they are waited for. */
static void both_directions(int to, int from)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int there = -1, back = -1, values[2] = {10 + rank, 20 + rank};

    MPI_Isendrecv(&values[0], 1, MPI_INT, to, 5, &there, 1, MPI_INT, from, 5, MPI_COMM_WORLD,
                  &requests[0]);
    MPI_Isendrecv_c(&values[1], 1, MPI_INT, from, 6, &back, 1, MPI_INT, to, 6, MPI_COMM_WORLD,
                    &requests[1]);
    MPI_Isendrecv(out, MOST, MPI_BYTE, to, 7, in, MOST, MPI_BYTE, from, 7, MPI_COMM_WORLD,
                  &requests[2]);
    MPI_Waitall(3, requests, statuses);
    CHECK_INT(there, 10 + from);
    CHECK_INT(back, 20 + to);
    CHECK_STATUS(statuses[0], from, 5, (int)sizeof(int));
    CHECK_STATUS(statuses[2], from, 7, MOST);
}

/* A send that is not complete at once keeps the request open though the receive is done. */
static void ends_with_the_send(void)
{
    MPI_Request request;
    MPI_Status status;
    int done, value = 3, got = -1;

    if (rank == 0) {
        MPI_Isendrecv(out, MOST, MPI_BYTE, 0, 30, &got, 1, MPI_INT, 0, 31, MPI_COMM_SELF,
                      &request);
        MPI_Send(&value, 1, MPI_INT, 0, 31, MPI_COMM_SELF);
        MPI_Test(&request, &done, &status);
        CHECK_INT(done, 0);
        CHECK_INT(got, 3);
        MPI_Recv(in, MOST, MPI_BYTE, 0, 30, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&request, &status);
        CHECK_STATUS(status, 0, 31, (int)sizeof(int));
    }
}

static void nowhere(void)
{
    MPI_Request request;
    MPI_Status status;

    MPI_Isendrecv_replace(in, 10, MPI_BYTE, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                          &request);
    MPI_Wait(&request, &status);
    CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

static void truncated_and_cancelled(void)
{
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0;

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Isendrecv(out, 100000, MPI_BYTE, 0, 8, in, 10, MPI_BYTE, 0, 8, MPI_COMM_SELF, &request);
    CHECK_INT(class_of(MPI_Wait(&request, &status)), MPI_ERR_TRUNCATE);
    CHECK(request == MPI_REQUEST_NULL, "the request to be null");
    /* Nothing is sent if one of the arguments is wrong. */
    CHECK_INT(class_of(MPI_Isendrecv(out, 1, MPI_BYTE, 0, 9, in, 1, MPI_BYTE, 5, 9, MPI_COMM_SELF,
                                     &request)),
              MPI_ERR_RANK);
    MPI_Iprobe(0, 9, MPI_COMM_SELF, &cancelled, MPI_STATUS_IGNORE);
    CHECK_INT(cancelled, 0);
    /* Neither matches: waiting is local. */
    MPI_Isendrecv(out, 100000, MPI_BYTE, 0, 10, in, 10, MPI_BYTE, 0, 11, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK_INT(cancelled, 1);
}

/* A freed request still does its work. */
static void freed(int to, int from)
{
    MPI_Request request;

    fill(out, 100000, rank);
    memset(in, 0, 100000);
    MPI_Isendrecv(out, 100000, MPI_BYTE, to, 12, in, 100000, MPI_BYTE, from, 12, MPI_COMM_WORLD,
                  &request);
    MPI_Request_free(&request);
    fill(expected, 100000, from);
    while (memcmp(in, expected, 100000) != 0)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &(int){0}, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int to, from;
    size_t i;

    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
        around_the_ring(to, from, lengths[i]);
    both_directions(to, from);
    ends_with_the_send();
    nowhere();
    truncated_and_cancelled();
    freed(to, from);
    return end();
}
