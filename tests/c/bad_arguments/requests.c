/* ranks: 1; table: yes; MPI 5.0 3.7, 3.8.3, 3.9 */
/* Requests and messages: garbage, stale, doubled, of the wrong kind, in the wrong state. */
#include "table.h"

static MPI_Status statuses[4];
static int x[4];

static MPI_Request receive(void)
{
    MPI_Request request;

    MPI_Irecv(x, 1, MPI_INT, 0, 900, MPI_COMM_SELF, &request);
    return request;
}

static void stop(MPI_Request *request)
{
    MPI_Cancel(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static MPI_Request stale(void)
{
    MPI_Request request = receive(), copy = request;

    stop(&request);
    return copy;
}

static MPI_Request garbage(void)
{
    return (MPI_Request)0x1234567;
}

static int wait_for(MPI_Request request)
{
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int test(MPI_Request request)
{
    return MPI_Test(&request, x, MPI_STATUS_IGNORE);
}

static int start(MPI_Request request)
{
    return MPI_Start(&request);
}

static int cancel(MPI_Request request)
{
    return MPI_Cancel(&request);
}

static int release(MPI_Request request)
{
    return MPI_Request_free(&request);
}

static int wait_for_garbage_among_others(void)
{
    MPI_Request requests[2];

    requests[0] = MPI_REQUEST_NULL;
    requests[1] = garbage();
    return MPI_Waitall(2, requests, statuses);
}

static int wait_for_one_twice(void)
{
    MPI_Request requests[2];

    MPI_Irecv(x, 1, MPI_INT, 0, 902, MPI_COMM_SELF, &requests[0]);
    requests[1] = requests[0];
    MPI_Send(x, 1, MPI_INT, 0, 902, MPI_COMM_SELF);
    return MPI_Waitall(2, requests, statuses);
}

static int start_plain_receive(void)
{
    MPI_Request request = receive();
    int code = MPI_Start(&request);

    stop(&request);
    return code;
}

static int start_twice(void)
{
    MPI_Request request;
    int code;

    MPI_Recv_init(x, 1, MPI_INT, 0, 901, MPI_COMM_SELF, &request);
    MPI_Start(&request);
    code = MPI_Start(&request);
    stop(&request);
    MPI_Request_free(&request);
    return code;
}

static int mrecv_of(MPI_Message message)
{
    return MPI_Mrecv(x, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

/* What a call does to a nonblocking collective that is not waited for, over or not. */
static int with_collective(int (*act)(MPI_Request *))
{
    MPI_Request request, copy;
    int code;

    MPI_Ibarrier(MPI_COMM_SELF, &request);
    copy = request;
    code = act(&copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
}

/* The same for a persistent one that is started. */
static int with_active_collective(int (*act)(MPI_Request *))
{
    MPI_Request request, copy;
    int code;

    MPI_Allreduce_init(MPI_IN_PLACE, x, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL,
                       &request);
    MPI_Start(&request);
    copy = request;
    code = act(&copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return code;
}

#define CASES(X)                                                                          \
    X(wait_garbage, MPI_Wait, MPI_ERR_REQUEST, wait_for(garbage()))                       \
    X(wait_stale, MPI_Wait, MPI_ERR_REQUEST, wait_for(stale()))                           \
    X(test_garbage, MPI_Test, MPI_ERR_REQUEST, test(garbage()))                           \
    X(test_stale, MPI_Test, MPI_ERR_REQUEST, test(stale()))                               \
    X(wait_a_communicator, MPI_Wait, MPI_ERR_REQUEST, wait_for((MPI_Request)MPI_COMM_WORLD)) \
    X(waitall_garbage, MPI_Waitall, MPI_ERR_REQUEST, wait_for_garbage_among_others())     \
    X(waitall_one_twice, MPI_Waitall, MPI_ERR_REQUEST, wait_for_one_twice())              \
    X(waitall_no_array, MPI_Waitall, MPI_ERR_ARG, MPI_Waitall(2, NULL, statuses))         \
    X(waitall_minus_1, MPI_Waitall, MPI_ERR_COUNT, MPI_Waitall(-1, NULL, statuses))       \
    X(wait_no_request, MPI_Wait, MPI_ERR_ARG, MPI_Wait(NULL, statuses))                   \
    X(free_garbage, MPI_Request_free, MPI_ERR_REQUEST, release(garbage()))                \
    X(free_stale, MPI_Request_free, MPI_ERR_REQUEST, release(stale()))                    \
    X(free_null, MPI_Request_free, MPI_ERR_REQUEST, release(MPI_REQUEST_NULL))            \
    X(cancel_garbage, MPI_Cancel, MPI_ERR_REQUEST, cancel(garbage()))                     \
    X(cancel_null, MPI_Cancel, MPI_ERR_REQUEST, cancel(MPI_REQUEST_NULL))                 \
    X(start_garbage, MPI_Start, MPI_ERR_REQUEST, start(garbage()))                        \
    X(start_null, MPI_Start, MPI_ERR_REQUEST, start(MPI_REQUEST_NULL))                    \
    X(start_not_persistent, MPI_Start, MPI_ERR_REQUEST, start_plain_receive())            \
    X(start_active, MPI_Start, MPI_ERR_REQUEST, start_twice())                            \
    X(cancel_collective, MPI_Cancel, MPI_ERR_REQUEST, with_collective(MPI_Cancel))        \
    X(start_collective, MPI_Start, MPI_ERR_REQUEST, with_collective(MPI_Start))           \
    X(cancel_active_collective, MPI_Cancel, MPI_ERR_REQUEST, with_active_collective(MPI_Cancel)) \
    X(start_active_collective, MPI_Start, MPI_ERR_REQUEST, with_active_collective(MPI_Start)) \
    X(mrecv_null, MPI_Mrecv, MPI_ERR_REQUEST, mrecv_of(MPI_MESSAGE_NULL))                 \
    X(mrecv_garbage, MPI_Mrecv, MPI_ERR_REQUEST, mrecv_of((MPI_Message)0x7654321))        \
    X(get_status_garbage, MPI_Request_get_status, MPI_ERR_REQUEST,                        \
      MPI_Request_get_status(garbage(), x, statuses))                                     \
    X(get_status_no_flag, MPI_Request_get_status, MPI_ERR_ARG,                            \
      MPI_Request_get_status(MPI_REQUEST_NULL, NULL, statuses))

CASES(BAD_CALL_BODY)
static const struct bad_call table[] = {CASES(BAD_CALL_ROW)};

int main(int argc, char **argv)
{
    return RUN_TABLE(argc, argv);
}
