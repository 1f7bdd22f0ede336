/* ranks: 2; table: yes; MPI 5.0 6.12 and 6.13 */
/* Nonblocking and persistent collectives: wrong roots, operators, counts, types, buffers. */
#include "table.h"

#define WORLD MPI_COMM_WORLD
#define WITH WORLD, &request
#define INIT WORLD, MPI_INFO_NULL, &request

static int x[64], y[64], one[2] = {1, 1}, minus[2] = {1, -1}, at[2] = {0, 1};
static MPI_Request request;

#define CASES(X)                                                                                \
    X(igather_root_99, MPI_Igather, MPI_ERR_ROOT,                                               \
      MPI_Igather(x, 1, MPI_INT, y, 1, MPI_INT, 99, WITH))                                      \
    X(igatherv_null_comm, MPI_Igatherv, MPI_ERR_COMM,                                           \
      MPI_Igatherv(x, 1, MPI_INT, y, one, at, MPI_INT, 0, MPI_COMM_NULL, &request))             \
    X(iscatter_null_type, MPI_Iscatter, MPI_ERR_TYPE,                                           \
      MPI_Iscatter(x, 1, MPI_INT, y, 1, MPI_DATATYPE_NULL, 0, WITH))                            \
    X(iscatterv_root_minus_3, MPI_Iscatterv, MPI_ERR_ROOT,                                      \
      MPI_Iscatterv(x, one, at, MPI_INT, y, 1, MPI_INT, -3, WITH))                              \
    X(iallgather_count_minus_1, MPI_Iallgather, MPI_ERR_COUNT,                                  \
      MPI_Iallgather(x, 1, MPI_INT, y, -1, MPI_INT, WITH))                                      \
    X(iallgatherv_minus_1, MPI_Iallgatherv, MPI_ERR_COUNT,                                      \
      MPI_Iallgatherv(x, 1, MPI_INT, y, minus, at, MPI_INT, WITH))                              \
    X(iallgatherv_no_counts, MPI_Iallgatherv, MPI_ERR_ARG,                                      \
      MPI_Iallgatherv(x, 1, MPI_INT, y, NULL, at, MPI_INT, WITH))                               \
    X(ialltoall_null_buffer, MPI_Ialltoall, MPI_ERR_BUFFER,                                     \
      MPI_Ialltoall(x, 1, MPI_INT, NULL, 1, MPI_INT, WITH))                                     \
    X(ialltoallv_uncommitted, MPI_Ialltoallv, MPI_ERR_TYPE,                                     \
      MPI_Ialltoallv(x, one, at, uncommitted_type(), y, one, at, MPI_INT, WITH))                \
    X(ialltoallw_no_types, MPI_Ialltoallw, MPI_ERR_ARG,                                         \
      MPI_Ialltoallw(x, one, at, NULL, y, one, at, NULL, WITH))                                 \
    X(ireduce_null_op, MPI_Ireduce, MPI_ERR_OP,                                                 \
      MPI_Ireduce(x, y, 1, MPI_INT, MPI_OP_NULL, 0, WITH))                                      \
    X(iallreduce_garbage_op, MPI_Iallreduce, MPI_ERR_OP,                                        \
      MPI_Iallreduce(x, y, 1, MPI_INT, (MPI_Op)0x1234567, WITH))                                \
    X(iallreduce_into_in_place, MPI_Iallreduce, MPI_ERR_BUFFER,                                 \
      MPI_Iallreduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, WITH))                               \
    X(ireduce_scatter_minus_1, MPI_Ireduce_scatter, MPI_ERR_COUNT,                              \
      MPI_Ireduce_scatter(x, y, minus, MPI_INT, MPI_SUM, WITH))                                 \
    X(ireduce_scatter_block_band, MPI_Ireduce_scatter_block, MPI_ERR_OP,                        \
      MPI_Ireduce_scatter_block(x, y, 1, MPI_DOUBLE, MPI_BAND, WITH))                           \
    X(iscan_same_buffer, MPI_Iscan, MPI_ERR_BUFFER,                                             \
      MPI_Iscan(x, x, 1, MPI_INT, MPI_SUM, WITH))                                               \
    X(iexscan_no_request, MPI_Iexscan, MPI_ERR_ARG,                                             \
      MPI_Iexscan(x, y, 1, MPI_INT, MPI_SUM, WORLD, NULL))                                      \
    X(barrier_init_freed, MPI_Barrier_init, MPI_ERR_COMM,                                       \
      MPI_Barrier_init(freed_comm(), MPI_INFO_NULL, &request))                                  \
    X(barrier_init_garbage_info, MPI_Barrier_init, MPI_ERR_INFO,                                \
      MPI_Barrier_init(WORLD, (MPI_Info)0x1234567, &request))                                   \
    X(bcast_init_root_2, MPI_Bcast_init, MPI_ERR_ROOT,                                          \
      MPI_Bcast_init(x, 1, MPI_INT, size, INIT))                                                \
    X(gather_init_null_type, MPI_Gather_init, MPI_ERR_TYPE,                                     \
      MPI_Gather_init(x, 1, MPI_DATATYPE_NULL, y, 1, MPI_INT, 0, INIT))                         \
    X(gatherv_init_no_request, MPI_Gatherv_init, MPI_ERR_ARG,                                   \
      MPI_Gatherv_init(x, 1, MPI_INT, y, one, at, MPI_INT, 0, WORLD, MPI_INFO_NULL, NULL))      \
    X(scatter_init_minus_1, MPI_Scatter_init, MPI_ERR_COUNT,                                    \
      MPI_Scatter_init(x, 1, MPI_INT, y, -1, MPI_INT, 0, INIT))                                 \
    X(scatterv_init_null_buffer, MPI_Scatterv_init, MPI_ERR_BUFFER,                             \
      MPI_Scatterv_init(x, one, at, MPI_INT, NULL, 1, MPI_INT, 0, INIT))                        \
    X(allgather_init_null, MPI_Allgather_init, MPI_ERR_COMM,                                    \
      MPI_Allgather_init(x, 1, MPI_INT, y, 1, MPI_INT, MPI_COMM_NULL, MPI_INFO_NULL, &request)) \
    X(allgatherv_init_no_places, MPI_Allgatherv_init, MPI_ERR_ARG,                              \
      MPI_Allgatherv_init(x, 1, MPI_INT, y, one, NULL, MPI_INT, INIT))                          \
    X(alltoall_init_minus_1, MPI_Alltoall_init, MPI_ERR_COUNT,                                  \
      MPI_Alltoall_init(x, -1, MPI_INT, y, 1, MPI_INT, INIT))                                   \
    X(alltoallv_init_minus_1, MPI_Alltoallv_init, MPI_ERR_COUNT,                                \
      MPI_Alltoallv_init(x, one, at, MPI_INT, y, minus, at, MPI_INT, INIT))                     \
    X(alltoallw_init_no_counts, MPI_Alltoallw_init, MPI_ERR_ARG,                                \
      MPI_Alltoallw_init(x, NULL, at, NULL, y, NULL, at, NULL, INIT))                           \
    X(reduce_init_root_99, MPI_Reduce_init, MPI_ERR_ROOT,                                       \
      MPI_Reduce_init(x, y, 1, MPI_INT, MPI_SUM, 99, INIT))                                     \
    X(reduce_scatter_init_null_op, MPI_Reduce_scatter_init, MPI_ERR_OP,                         \
      MPI_Reduce_scatter_init(x, y, one, MPI_INT, MPI_OP_NULL, INIT))                           \
    X(block_init_same_buffer, MPI_Reduce_scatter_block_init, MPI_ERR_BUFFER,                    \
      MPI_Reduce_scatter_block_init(x, x, 1, MPI_INT, MPI_SUM, INIT))                           \
    X(scan_init_freed_type, MPI_Scan_init, MPI_ERR_TYPE,                                        \
      MPI_Scan_init(x, y, 1, freed_type(), MPI_SUM, INIT))                                      \
    X(exscan_init_sum_of_bytes, MPI_Exscan_init, MPI_ERR_OP,                                    \
      MPI_Exscan_init(x, y, 1, MPI_BYTE, MPI_SUM, INIT))

CASES(BAD_CALL_BODY)
static const struct bad_call table[] = {CASES(BAD_CALL_ROW)};

int main(int argc, char **argv)
{
    return RUN_TABLE(argc, argv);
}
