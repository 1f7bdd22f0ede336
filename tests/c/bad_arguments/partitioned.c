/* ranks: 2; table: yes; MPI 5.0 chapters 4 and 13.2, 3.6 and 3.11 */
/* Partitions, generalized requests, exchanges in one request, buffers of communicators. */
#include "table.h"
#include <limits.h>

#define SELF MPI_COMM_SELF

static int x[8];
static char room[1000];
static void *address;
static MPI_Request request;
static MPI_Status status;

#define PSEND(buffer, partitions, count, type, dest, tag, comm) \
    MPI_Psend_init(buffer, partitions, count, type, dest, tag, comm, MPI_INFO_NULL, &request)
#define PRECV(buffer, partitions, count, type, source, tag, comm) \
    MPI_Precv_init(buffer, partitions, count, type, source, tag, comm, MPI_INFO_NULL, &request)

static MPI_Request idle_send(void)
{
    PSEND(x, 2, 1, MPI_INT, 0, 5, SELF);
    return request;
}

static MPI_Request started_send(void)
{
    idle_send();
    MPI_Start(&request);
    return request;
}

static MPI_Request receive(void)
{
    PRECV(x, 2, 1, MPI_INT, 0, 6, SELF);
    return request;
}

static MPI_Request plain_receive(void)
{
    MPI_Irecv(x, 1, MPI_INT, 0, 7, SELF, &request);
    return request;
}

static MPI_Request generalized(void)
{
    MPI_Grequest_start(NULL, NULL, NULL, NULL, &request);
    return request;
}

static int frees_send(void)
{
    MPI_Request send = started_send();

    return MPI_Request_free(&send);
}

static int frees_receive(void)
{
    MPI_Request incoming = receive();

    MPI_Start(&incoming);
    return MPI_Request_free(&incoming);
}

static int cancels_send(void)
{
    MPI_Request send = started_send();

    return MPI_Cancel(&send);
}

static int ready_twice(void)
{
    MPI_Request send = started_send();

    MPI_Pready(1, send);
    return MPI_Pready(1, send);
}

/* All partitions are ready: the request is active until it is waited for. */
static MPI_Request ready_send(void)
{
    MPI_Request send = started_send();

    MPI_Pready_range(0, 1, send);
    return send;
}

static int ready_list(int partition, MPI_Request send)
{
    return MPI_Pready_list(1, &partition, send);
}

static int arrived(int partition)
{
    MPI_Request incoming = receive();

    MPI_Start(&incoming);
    return MPI_Parrived(incoming, partition, x);
}

static int complete_twice(void)
{
    MPI_Request copy = generalized();

    MPI_Grequest_complete(copy);
    return MPI_Grequest_complete(copy);
}

static int exchange(int dest, int source, int tag, int count)
{
    return MPI_Isendrecv(x, count, MPI_INT, dest, tag, x + 4, count, MPI_INT, source, 3, SELF,
                         &request);
}

static int replace(int dest, int source, int tag, int count)
{
    return MPI_Isendrecv_replace(x, count, MPI_INT, dest, tag, source, 3, SELF, &request);
}

static int attach_twice(void)
{
    int code, bytes;

    MPI_Comm_attach_buffer(SELF, room, sizeof room);
    code = MPI_Comm_attach_buffer(SELF, room, sizeof room);
    MPI_Comm_detach_buffer(SELF, &address, &bytes);
    return code;
}

#define CASES(X)                                                                                \
    X(psend_to_1, MPI_Psend_init, MPI_ERR_RANK, PSEND(x, 1, 1, MPI_INT, 1, 0, SELF))            \
    X(psend_to_any, MPI_Psend_init, MPI_ERR_RANK,                                               \
      PSEND(x, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, SELF))                                         \
    X(psend_tag_minus_5, MPI_Psend_init, MPI_ERR_TAG, PSEND(x, 1, 1, MPI_INT, 0, -5, SELF))     \
    X(psend_minus_1, MPI_Psend_init, MPI_ERR_ARG, PSEND(x, -1, 1, MPI_INT, 0, 0, SELF))         \
    X(psend_count_minus_1, MPI_Psend_init, MPI_ERR_COUNT, PSEND(x, 1, -1, MPI_INT, 0, 0, SELF)) \
    X(psend_null_type, MPI_Psend_init, MPI_ERR_TYPE,                                            \
      PSEND(x, 1, 1, MPI_DATATYPE_NULL, 0, 0, SELF))                                            \
    X(psend_null_comm, MPI_Psend_init, MPI_ERR_COMM,                                            \
      PSEND(x, 1, 1, MPI_INT, 0, 0, MPI_COMM_NULL))                                             \
    X(psend_null_buffer, MPI_Psend_init, MPI_ERR_BUFFER,                                        \
      PSEND(NULL, 1, 1, MPI_INT, 0, 0, SELF))                                                   \
    X(precv_from_any, MPI_Precv_init, MPI_ERR_RANK,                                             \
      PRECV(x, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, SELF))                                         \
    X(precv_any_tag, MPI_Precv_init, MPI_ERR_TAG,                                               \
      PRECV(x, 1, 1, MPI_INT, 0, MPI_ANY_TAG, SELF))                                            \
    X(precv_uncommitted, MPI_Precv_init, MPI_ERR_TYPE,                                          \
      PRECV(x, 1, 1, uncommitted_type(), 0, 0, SELF))                                           \
    X(precv_nowhere, MPI_Precv_init, MPI_ERR_ARG,                                               \
      MPI_Precv_init(x, 1, 1, MPI_INT, 0, 0, SELF, MPI_INFO_NULL, NULL))                        \
    X(ready_null, MPI_Pready, MPI_ERR_REQUEST, MPI_Pready(0, MPI_REQUEST_NULL))                 \
    X(ready_not_started, MPI_Pready, MPI_ERR_REQUEST, MPI_Pready(0, idle_send()))               \
    X(ready_receive, MPI_Pready, MPI_ERR_REQUEST, MPI_Pready(0, receive()))                     \
    X(ready_plain, MPI_Pready, MPI_ERR_REQUEST, MPI_Pready(0, plain_receive()))                 \
    X(ready_2_of_2, MPI_Pready, MPI_ERR_ARG, MPI_Pready(2, started_send()))                     \
    X(ready_minus_1, MPI_Pready, MPI_ERR_ARG, MPI_Pready(-1, started_send()))                   \
    X(ready_again, MPI_Pready, MPI_ERR_ARG, ready_twice())                                      \
    X(ready_again_at_end, MPI_Pready, MPI_ERR_ARG, MPI_Pready(1, ready_send()))                 \
    X(ready_13_of_2_at_end, MPI_Pready, MPI_ERR_ARG, MPI_Pready(13, ready_send()))              \
    X(range_backwards, MPI_Pready_range, MPI_ERR_ARG, MPI_Pready_range(1, 0, started_send()))   \
    X(range_beyond, MPI_Pready_range, MPI_ERR_ARG, MPI_Pready_range(0, 2, started_send()))      \
    X(range_of_all_numbers, MPI_Pready_range, MPI_ERR_ARG,                                      \
      MPI_Pready_range(0, INT_MAX, started_send()))                                             \
    X(list_beyond, MPI_Pready_list, MPI_ERR_ARG, ready_list(2, started_send()))                 \
    X(list_nowhere, MPI_Pready_list, MPI_ERR_ARG, MPI_Pready_list(1, NULL, started_send()))     \
    X(arrived_2_of_2, MPI_Parrived, MPI_ERR_ARG, arrived(2))                                    \
    X(arrived_at_send, MPI_Parrived, MPI_ERR_REQUEST, MPI_Parrived(started_send(), 0, x))       \
    X(arrived_nowhere, MPI_Parrived, MPI_ERR_ARG, MPI_Parrived(receive(), 0, NULL))             \
    X(free_active, MPI_Request_free, MPI_ERR_REQUEST, frees_send())                             \
    X(free_active_receive, MPI_Request_free, MPI_ERR_REQUEST, frees_receive())                  \
    X(cancel_active, MPI_Cancel, MPI_ERR_REQUEST, cancels_send())                             \
    X(complete_null, MPI_Grequest_complete, MPI_ERR_REQUEST,                                    \
      MPI_Grequest_complete(MPI_REQUEST_NULL))                                                  \
    X(complete_receive, MPI_Grequest_complete, MPI_ERR_REQUEST,                                 \
      MPI_Grequest_complete(plain_receive()))                                                   \
    X(complete_again, MPI_Grequest_complete, MPI_ERR_REQUEST, complete_twice())                 \
    X(generalized_nowhere, MPI_Grequest_start, MPI_ERR_ARG,                                     \
      MPI_Grequest_start(NULL, NULL, NULL, NULL, NULL))                                         \
    X(start_generalized, MPI_Start, MPI_ERR_REQUEST, (generalized(), MPI_Start(&request)))      \
    X(status_nowhere, MPI_Status_set_cancelled, MPI_ERR_ARG, MPI_Status_set_cancelled(NULL, 1)) \
    X(elements_minus_1, MPI_Status_set_elements, MPI_ERR_COUNT,                                 \
      MPI_Status_set_elements(&status, MPI_INT, -1))                                            \
    X(exchange_to_1, MPI_Isendrecv, MPI_ERR_RANK, exchange(1, 0, 3, 1))                         \
    X(exchange_from_1, MPI_Isendrecv, MPI_ERR_RANK, exchange(0, 1, 3, 1))                       \
    X(exchange_any_tag, MPI_Isendrecv, MPI_ERR_TAG, exchange(0, 0, MPI_ANY_TAG, 1))             \
    X(exchange_minus_1, MPI_Isendrecv, MPI_ERR_COUNT, exchange(0, 0, 3, -1))                    \
    X(replace_to_1, MPI_Isendrecv_replace, MPI_ERR_RANK, replace(1, 0, 3, 1))                   \
    X(replace_from_minus_9, MPI_Isendrecv_replace, MPI_ERR_RANK, replace(0, -9, 3, 1))          \
    X(replace_any_tag, MPI_Isendrecv_replace, MPI_ERR_TAG, replace(0, 0, MPI_ANY_TAG, 1))       \
    X(replace_minus_1, MPI_Isendrecv_replace, MPI_ERR_COUNT, replace(0, 0, 3, -1))              \
    X(comm_attach_twice, MPI_Comm_attach_buffer, MPI_ERR_BUFFER, attach_twice())                \
    X(comm_attach_minus_1, MPI_Comm_attach_buffer, MPI_ERR_ARG,                                 \
      MPI_Comm_attach_buffer(SELF, room, -1))                                                   \
    X(comm_attach_null, MPI_Comm_attach_buffer, MPI_ERR_COMM,                                   \
      MPI_Comm_attach_buffer(MPI_COMM_NULL, room, sizeof room))                                 \
    X(comm_detach_nothing, MPI_Comm_detach_buffer, MPI_ERR_BUFFER,                              \
      MPI_Comm_detach_buffer(SELF, &address, x))                                                \
    X(comm_flush_null, MPI_Comm_flush_buffer, MPI_ERR_COMM,                                     \
      MPI_Comm_flush_buffer(MPI_COMM_NULL))                                                     \
    X(comm_iflush_nowhere, MPI_Comm_iflush_buffer, MPI_ERR_ARG,                                 \
      MPI_Comm_iflush_buffer(SELF, NULL))

CASES(BAD_CALL_BODY)
static const struct bad_call table[] = {CASES(BAD_CALL_ROW)};

int main(int argc, char **argv)
{
    return RUN_TABLE(argc, argv);
}
