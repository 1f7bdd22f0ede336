/* ranks: 2; table: yes; MPI 5.0 chapter 6 */
/* Wrong roots, operators, counts, types, buffers in collectives: found before sending. */
#include "table.h"

#define WORLD MPI_COMM_WORLD

static int x[64], y[64];
static MPI_Request request;

#define CASES(X)                                                                                \
    X(barrier_null, MPI_Barrier, MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL))                      \
    X(barrier_freed, MPI_Barrier, MPI_ERR_COMM, MPI_Barrier(freed_comm()))                      \
    X(bcast_root_99, MPI_Bcast, MPI_ERR_ROOT, MPI_Bcast(x, 1, MPI_INT, 99, WORLD))              \
    X(bcast_root_minus_1, MPI_Bcast, MPI_ERR_ROOT, MPI_Bcast(x, 1, MPI_INT, -1, WORLD))         \
    X(bcast_count_minus_1, MPI_Bcast, MPI_ERR_COUNT, MPI_Bcast(x, -1, MPI_INT, 0, WORLD))       \
    X(bcast_null_type, MPI_Bcast, MPI_ERR_TYPE, MPI_Bcast(x, 1, MPI_DATATYPE_NULL, 0, WORLD))   \
    X(bcast_null_buffer, MPI_Bcast, MPI_ERR_BUFFER, MPI_Bcast(NULL, 1, MPI_INT, 0, WORLD))      \
    X(ibarrier_null, MPI_Ibarrier, MPI_ERR_COMM, MPI_Ibarrier(MPI_COMM_NULL, &request))         \
    X(ibarrier_no_request, MPI_Ibarrier, MPI_ERR_ARG, MPI_Ibarrier(WORLD, NULL))                \
    X(ibcast_root_99, MPI_Ibcast, MPI_ERR_ROOT, MPI_Ibcast(x, 1, MPI_INT, 99, WORLD, &request)) \
    X(ibcast_count_minus_1, MPI_Ibcast, MPI_ERR_COUNT,                                          \
      MPI_Ibcast(x, -1, MPI_INT, 0, WORLD, &request))                                           \
    X(ibcast_null_type, MPI_Ibcast, MPI_ERR_TYPE,                                               \
      MPI_Ibcast(x, 1, MPI_DATATYPE_NULL, 0, WORLD, &request))                                  \
    X(ibcast_null_buffer, MPI_Ibcast, MPI_ERR_BUFFER,                                           \
      MPI_Ibcast(NULL, 1, MPI_INT, 0, WORLD, &request))                                         \
    X(init_band_of_doubles, MPI_Allreduce_init, MPI_ERR_OP,                                     \
      MPI_Allreduce_init(x, y, 1, MPI_DOUBLE, MPI_BAND, WORLD, MPI_INFO_NULL, &request))        \
    X(init_same_buffer, MPI_Allreduce_init, MPI_ERR_BUFFER,                                     \
      MPI_Allreduce_init(x, x, 1, MPI_INT, MPI_SUM, WORLD, MPI_INFO_NULL, &request))            \
    X(init_null_comm, MPI_Allreduce_init, MPI_ERR_COMM,                                         \
      MPI_Allreduce_init(x, y, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL, MPI_INFO_NULL, &request))    \
    X(reduce_root_2, MPI_Reduce, MPI_ERR_ROOT,                                                  \
      MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, size, WORLD))                                       \
    X(reduce_null_op, MPI_Reduce, MPI_ERR_OP, MPI_Reduce(x, y, 1, MPI_INT, MPI_OP_NULL, 0, WORLD)) \
    X(band_of_doubles, MPI_Allreduce, MPI_ERR_OP,                                               \
      MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_BAND, WORLD))                                      \
    X(sum_of_bytes, MPI_Allreduce, MPI_ERR_OP, MPI_Allreduce(x, y, 1, MPI_BYTE, MPI_SUM, WORLD)) \
    X(maxloc_of_ints, MPI_Allreduce, MPI_ERR_OP,                                                \
      MPI_Allreduce(x, y, 1, MPI_INT, MPI_MAXLOC, WORLD))                                       \
    X(max_of_complex, MPI_Allreduce, MPI_ERR_OP,                                                \
      MPI_Allreduce(x, y, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, WORLD))                             \
    X(allreduce_same_buffer, MPI_Allreduce, MPI_ERR_BUFFER,                                     \
      MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, WORLD))                                          \
    X(allreduce_count_minus_1, MPI_Allreduce, MPI_ERR_COUNT,                                    \
      MPI_Allreduce(x, y, -1, MPI_INT, MPI_SUM, WORLD))                                         \
    X(allreduce_into_in_place, MPI_Allreduce, MPI_ERR_BUFFER,                                   \
      MPI_Allreduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, WORLD))                               \
    X(gather_root_minus_3, MPI_Gather, MPI_ERR_ROOT,                                            \
      MPI_Gather(x, 1, MPI_INT, y, 1, MPI_INT, -3, WORLD))                                      \
    X(gather_in_place_off_root, MPI_Gather, MPI_ERR_BUFFER,                                     \
      MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, y, 1, MPI_INT, 0, WORLD))                            \
    X(scatter_null_type, MPI_Scatter, MPI_ERR_TYPE,                                             \
      MPI_Scatter(x, 1, MPI_INT, y, 1, MPI_DATATYPE_NULL, 0, WORLD))                            \
    X(allgather_count_minus_1, MPI_Allgather, MPI_ERR_COUNT,                                    \
      MPI_Allgather(x, -1, MPI_INT, y, 1, MPI_INT, WORLD))                                      \
    X(allgather_null_buffer, MPI_Allgather, MPI_ERR_BUFFER,                                     \
      MPI_Allgather(x, 1, MPI_INT, NULL, 1, MPI_INT, WORLD))                                    \
    X(alltoall_garbage_comm, MPI_Alltoall, MPI_ERR_COMM,                                        \
      MPI_Alltoall(x, 1, MPI_INT, y, 1, MPI_INT, GARBAGE_COMM))                                 \
    X(alltoall_null_type, MPI_Alltoall, MPI_ERR_TYPE,                                           \
      MPI_Alltoall(x, 1, MPI_DATATYPE_NULL, y, 1, MPI_INT, WORLD))

CASES(BAD_CALL_BODY)
static const struct bad_call table[] = {CASES(BAD_CALL_ROW)};

int main(int argc, char **argv)
{
    return RUN_TABLE(argc, argv);
}
