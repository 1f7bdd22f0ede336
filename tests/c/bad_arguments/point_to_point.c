/* ranks: 2; table: yes; MPI 5.0 chapter 3 */
/* Wrong ranks, tags, counts, buffers, types and communicators in point-to-point calls. */
#include "table.h"

#define WORLD MPI_COMM_WORLD
#define ANYTHING MPI_STATUS_IGNORE

static int x[4];
static MPI_Request request;
static MPI_Status status;

static int tag_above_the_bound(void)
{
    int *bound, found = 0;

    MPI_Comm_get_attr(WORLD, MPI_TAG_UB, &bound, &found);
    CHECK(found && *bound >= 32767, "a tag bound of at least 32767");
    if (*bound == 2147483647) /* nothing lies above it */
        return MPI_Send(x, 1, MPI_INT, 0, -2147483647, WORLD);
    return MPI_Send(x, 1, MPI_INT, 0, *bound + 1, WORLD);
}

static int second_attach(void)
{
    static char room[1000], more[1000];
    void *address;
    int code, bytes;

    MPI_Buffer_attach(room, sizeof room);
    code = MPI_Buffer_attach(more, sizeof more);
    MPI_Buffer_detach(&address, &bytes);
    return code;
}

#define CASES(X)                                                                                \
    X(send_to_99, MPI_Send, MPI_ERR_RANK, MPI_Send(x, 1, MPI_INT, 99, 0, WORLD))                \
    X(send_to_size, MPI_Send, MPI_ERR_RANK, MPI_Send(x, 1, MPI_INT, size, 0, WORLD))            \
    X(send_to_minus_5, MPI_Send, MPI_ERR_RANK, MPI_Send(x, 1, MPI_INT, -5, 0, WORLD))           \
    X(send_to_any, MPI_Send, MPI_ERR_RANK, MPI_Send(x, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD))   \
    X(ssend_to_99, MPI_Ssend, MPI_ERR_RANK, MPI_Ssend(x, 1, MPI_INT, 99, 0, WORLD))             \
    X(bsend_to_99, MPI_Bsend, MPI_ERR_RANK, MPI_Bsend(x, 1, MPI_INT, 99, 0, WORLD))             \
    X(rsend_to_99, MPI_Rsend, MPI_ERR_RANK, MPI_Rsend(x, 1, MPI_INT, 99, 0, WORLD))             \
    X(isend_to_99, MPI_Isend, MPI_ERR_RANK, MPI_Isend(x, 1, MPI_INT, 99, 0, WORLD, &request))   \
    X(issend_to_99, MPI_Issend, MPI_ERR_RANK,                                                   \
      MPI_Issend(x, 1, MPI_INT, 99, 0, WORLD, &request))                                        \
    X(send_init_to_99, MPI_Send_init, MPI_ERR_RANK,                                             \
      MPI_Send_init(x, 1, MPI_INT, 99, 0, WORLD, &request))                                     \
    X(recv_from_99, MPI_Recv, MPI_ERR_RANK, MPI_Recv(x, 1, MPI_INT, 99, 0, WORLD, ANYTHING))    \
    X(recv_from_minus_7, MPI_Recv, MPI_ERR_RANK, MPI_Recv(x, 1, MPI_INT, -7, 0, WORLD, &status)) \
    X(irecv_from_99, MPI_Irecv, MPI_ERR_RANK, MPI_Irecv(x, 1, MPI_INT, 99, 0, WORLD, &request)) \
    X(probe_of_99, MPI_Probe, MPI_ERR_RANK, MPI_Probe(99, 0, WORLD, &status))                   \
    X(iprobe_of_99, MPI_Iprobe, MPI_ERR_RANK, MPI_Iprobe(99, 0, WORLD, x, &status))             \
    X(sendrecv_to_99, MPI_Sendrecv, MPI_ERR_RANK,                                               \
      MPI_Sendrecv(x, 1, MPI_INT, 99, 0, x + 1, 1, MPI_INT, 0, 0, WORLD, &status))              \
    X(sendrecv_from_99, MPI_Sendrecv, MPI_ERR_RANK,                                             \
      MPI_Sendrecv(x, 1, MPI_INT, 0, 0, x + 1, 1, MPI_INT, 99, 0, WORLD, &status))              \
    X(tag_minus_5, MPI_Send, MPI_ERR_TAG, MPI_Send(x, 1, MPI_INT, 0, -5, WORLD))                \
    X(tag_any_in_send, MPI_Send, MPI_ERR_TAG, MPI_Send(x, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD))   \
    X(tag_too_large, MPI_Send, MPI_ERR_TAG, tag_above_the_bound())                              \
    X(tag_minus_5_in_recv, MPI_Recv, MPI_ERR_TAG, MPI_Recv(x, 1, MPI_INT, 0, -5, WORLD, &status)) \
    X(tag_minus_9_in_probe, MPI_Probe, MPI_ERR_TAG, MPI_Probe(0, -9, WORLD, &status))           \
    X(count_minus_1, MPI_Send, MPI_ERR_COUNT, MPI_Send(x, -1, MPI_INT, 0, 0, WORLD))            \
    X(count_minus_1_in_recv, MPI_Recv, MPI_ERR_COUNT,                                           \
      MPI_Recv(x, -1, MPI_INT, 0, 0, WORLD, &status))                                           \
    X(count_minus_1_in_irecv, MPI_Irecv, MPI_ERR_COUNT,                                         \
      MPI_Irecv(x, -1, MPI_INT, 0, 0, WORLD, &request))                                         \
    X(null_buffer, MPI_Send, MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, 0, 0, WORLD))           \
    X(null_buffer_in_recv, MPI_Recv, MPI_ERR_BUFFER,                                            \
      MPI_Recv(NULL, 1, MPI_INT, 0, 0, WORLD, &status))                                         \
    X(null_buffer_in_isend, MPI_Isend, MPI_ERR_BUFFER,                                          \
      MPI_Isend(NULL, 1, MPI_INT, 0, 0, WORLD, &request))                                       \
    X(null_type, MPI_Send, MPI_ERR_TYPE, MPI_Send(x, 1, MPI_DATATYPE_NULL, 0, 0, WORLD))        \
    X(null_type_in_recv, MPI_Recv, MPI_ERR_TYPE,                                                \
      MPI_Recv(x, 1, MPI_DATATYPE_NULL, 0, 0, WORLD, &status))                                  \
    X(uncommitted, MPI_Send, MPI_ERR_TYPE, MPI_Send(x, 1, uncommitted_type(), 0, 0, WORLD))     \
    X(freed, MPI_Send, MPI_ERR_TYPE, MPI_Send(x, 1, freed_type(), 0, 0, WORLD))                 \
    X(garbage_type, MPI_Send, MPI_ERR_TYPE, MPI_Send(x, 1, GARBAGE_TYPE, 0, 0, WORLD))          \
    X(null_comm, MPI_Send, MPI_ERR_COMM, MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_NULL))          \
    X(freed_communicator, MPI_Send, MPI_ERR_COMM, MPI_Send(x, 1, MPI_INT, 0, 0, freed_comm()))  \
    X(garbage_comm, MPI_Send, MPI_ERR_COMM, MPI_Send(x, 1, MPI_INT, 0, 0, GARBAGE_COMM))        \
    X(odd_comm, MPI_Recv, MPI_ERR_COMM, MPI_Recv(x, 1, MPI_INT, 0, 0, ODD_COMM, &status))       \
    X(comm_that_is_a_type, MPI_Send, MPI_ERR_COMM,                                              \
      MPI_Send(x, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT))                                         \
    X(no_request, MPI_Isend, MPI_ERR_ARG, MPI_Isend(x, 1, MPI_INT, 0, 0, WORLD, NULL))          \
    X(no_request_in_irecv, MPI_Irecv, MPI_ERR_ARG, MPI_Irecv(x, 1, MPI_INT, 0, 0, WORLD, NULL)) \
    X(no_flag, MPI_Iprobe, MPI_ERR_ARG, MPI_Iprobe(0, 0, WORLD, NULL, &status))                 \
    X(no_message, MPI_Mprobe, MPI_ERR_ARG, MPI_Mprobe(0, 0, WORLD, NULL, &status))              \
    X(no_count, MPI_Get_count, MPI_ERR_ARG, MPI_Get_count(&status, MPI_INT, NULL))              \
    X(detach_of_nothing, MPI_Buffer_detach, MPI_ERR_BUFFER, MPI_Buffer_detach(&request, x))     \
    X(attach_minus_1, MPI_Buffer_attach, MPI_ERR_ARG, MPI_Buffer_attach(x, -1))                 \
    X(count_of_uncommitted, MPI_Get_count, MPI_ERR_TYPE,                                        \
      MPI_Get_count(&status, uncommitted_type(), x))                                            \
    X(elements_of_uncommitted, MPI_Get_elements, MPI_ERR_TYPE,                                  \
      MPI_Get_elements(&status, uncommitted_type(), x))                                         \
    X(two_buffers, MPI_Buffer_attach, MPI_ERR_BUFFER, second_attach())                          \
    X(bsend_without_buffer, MPI_Bsend, MPI_ERR_BUFFER, MPI_Bsend(x, 1, MPI_INT, 0, 0, WORLD))

CASES(BAD_CALL_BODY)
static const struct bad_call table[] = {CASES(BAD_CALL_ROW)};

int main(int argc, char **argv)
{
    return RUN_TABLE(argc, argv);
}
