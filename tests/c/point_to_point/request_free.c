/* ranks: 1, 2; transports: all; MPI 5.0 3.7.3, 3.7.6 */
/* A freed request still does its work; Request_get_status looks without touching. */
#include "../check.h"

enum { TAG = 1, DONE = 2, BYTES = 100000 };

static char out[BYTES], in[BYTES];

static void freed_send_arrives(int to, int from)
{
    MPI_Request request;
    MPI_Status status;

    fill(out, BYTES, rank);
    MPI_Isend(out, BYTES, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL, "the handle to be null after Request_free");
    MPI_Recv(in, BYTES, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &status);
    CHECK_FILLED(in, BYTES, from);
    /* The peer says that it has everything: only now may `out` change. */
    MPI_Sendrecv(NULL, 0, MPI_BYTE, from, DONE, NULL, 0, MPI_BYTE, to, DONE, MPI_COMM_WORLD,
                 &status);
}

static void freed_receive_takes_its_message(int to, int from)
{
    MPI_Request request;
    int first = -1, second = -1, values[2] = {7, 8};

    MPI_Irecv(&first, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Isend(&values[0], 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &request);
    MPI_Sendrecv(&values[1], 1, MPI_INT, to, TAG, &second, 1, MPI_INT, from, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_INT(second, 8); /* order: the first message went to the freed receive before this */
    CHECK_INT(first, 7);
}

static void status_without_touching(int to, int from)
{
    MPI_Request send, receive, null = MPI_REQUEST_NULL;
    MPI_Status status;
    int i, done, value = 9, got = -1;

    MPI_Irecv(&got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &receive);
    MPI_Request_get_status(receive, &done, &status);
    CHECK_INT(done, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&value, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &send);
    for (done = 0; !done;)
        MPI_Request_get_status(receive, &done, &status);
    for (i = 0; i < 3; i++) { /* as often as one likes: the request stays */
        MPI_Request_get_status(receive, &done, &status);
        CHECK_INT(done, 1);
        CHECK_STATUS(status, from, TAG, (int)sizeof(int));
        CHECK_INT(got, 9);
    }
    CHECK(receive != MPI_REQUEST_NULL, "the request to live after Request_get_status");
    MPI_Wait(&receive, &status);
    CHECK_STATUS(status, from, TAG, (int)sizeof(int));
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_get_status(null, &done, &status);
    CHECK_INT(done, 1);
    CHECK_EMPTY_STATUS(status);
}

int main(int argc, char **argv)
{
    int to, from;

    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    freed_send_arrives(to, from);
    freed_receive_takes_its_message(to, from);
    status_without_touching(to, from);
    return end();
}
