/* ranks: 1, 2; transports: all; MPI 5.0 3.8.4 */
/* A receive that nothing matched can be cancelled; it takes no message with it. */
#include "../check.h"

enum { TAG = 6, NEVER = 66 };

static void cancel_unmatched(int source)
{
    MPI_Request request;
    MPI_Status status;
    int data = 5, cancelled = 0;

    MPI_Irecv(&data, 1, MPI_INT, source, NEVER, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK_INT(cancelled, 1);
    CHECK_INT(data, 5);
}

/* The cancelled receive came first in the queue: the message must go to the second. */
static void cancelled_receive_takes_nothing(int to, int from)
{
    MPI_Request first, second, send;
    MPI_Status status;
    int one = -1, two = -1, data = 42, cancelled;

    MPI_Irecv(&one, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &first);
    MPI_Irecv(&two, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &second);
    MPI_Cancel(&first);
    MPI_Wait(&first, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK_INT(cancelled, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&data, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &send);
    MPI_Wait(&second, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK_INT(cancelled, 0);
    CHECK_STATUS(status, from, TAG, (int)sizeof(int));
    CHECK_INT(one, -1);
    CHECK_INT(two, 42);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

/* Cancel or success, never both and never neither: here the message is already there. */
static void cancel_after_match(int to, int from)
{
    MPI_Request receive, send;
    MPI_Status status;
    int got = -1, data = 43, cancelled;

    MPI_Isend(&data, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &send);
    MPI_Probe(from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &receive);
    MPI_Cancel(&receive);
    MPI_Wait(&receive, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK_INT(cancelled, 0);
    CHECK_INT(got, 43);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void cancel_persistent(void)
{
    MPI_Request request;
    MPI_Status status;
    int data, cancelled, round;

    MPI_Recv_init(&data, 1, MPI_INT, MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, &request);
    for (round = 0; round < 3; round++) {
        MPI_Start(&request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK_INT(cancelled, 1);
        CHECK(request != MPI_REQUEST_NULL, "a persistent request to live on after a cancel");
    }
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    int to, from;

    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    cancel_unmatched(from);
    cancel_unmatched(MPI_ANY_SOURCE);
    cancelled_receive_takes_nothing(to, from);
    cancel_after_match(to, from);
    cancel_persistent();
    return end();
}
