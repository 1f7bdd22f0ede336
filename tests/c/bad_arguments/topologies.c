/* ranks: 2; table: yes; MPI 5.0 8.5 */
/* Topologies: of another kind or of none, dimensions and ranks beyond them, arrays too short. */
#include "table.h"
#include <limits.h>

static int one = 1, minus = -1, two = 2, none, many[4], falling[2] = {4, 3};
static MPI_Comm comm;

static MPI_Comm grid(void)
{
    MPI_Cart_create(MPI_COMM_SELF, 1, &one, &none, 0, &comm);
    return comm;
}

static MPI_Comm graph(void)
{
    MPI_Graph_create(MPI_COMM_SELF, 1, &one, &none, 0, &comm);
    return comm;
}

#define ADJACENT(in, source, in_weights, out, out_weights)                                      \
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, in, source, in_weights, out, &none,           \
                                   out_weights, MPI_INFO_NULL, 0, &comm)
#define EDGES(n, source, degree, weights)                                                       \
    MPI_Dist_graph_create(MPI_COMM_SELF, n, source, degree, &none, weights, MPI_INFO_NULL, 0, &comm)

#define CASES(X)                                                                                \
    X(topology_of_null, MPI_Topo_test, MPI_ERR_COMM, MPI_Topo_test(MPI_COMM_NULL, many))        \
    X(topology_nowhere, MPI_Topo_test, MPI_ERR_ARG, MPI_Topo_test(MPI_COMM_SELF, NULL))         \
    X(dims_not_divisible, MPI_Dims_create, MPI_ERR_DIMS, MPI_Dims_create(7, 1, &two))           \
    X(dims_minus_1, MPI_Dims_create, MPI_ERR_DIMS, MPI_Dims_create(7, 1, &minus))               \
    X(dims_of_nothing, MPI_Dims_create, MPI_ERR_ARG, MPI_Dims_create(0, 1, &none))              \
    X(dims_nowhere, MPI_Dims_create, MPI_ERR_ARG, MPI_Dims_create(7, 1, NULL))                  \
    X(grid_too_large, MPI_Cart_create, MPI_ERR_DIMS,                                            \
      MPI_Cart_create(MPI_COMM_SELF, 1, &two, &none, 0, &comm))                                 \
    X(grid_ndims_minus_1, MPI_Cart_create, MPI_ERR_DIMS,                                        \
      MPI_Cart_create(MPI_COMM_SELF, -1, &one, &none, 0, &comm))                                \
    X(grid_without_periods, MPI_Cart_create, MPI_ERR_ARG,                                       \
      MPI_Cart_create(MPI_COMM_SELF, 1, &one, NULL, 0, &comm))                                  \
    X(map_too_large, MPI_Cart_map, MPI_ERR_DIMS,                                                \
      MPI_Cart_map(MPI_COMM_SELF, 1, &two, &none, many))                                        \
    X(coords_without_grid, MPI_Cart_coords, MPI_ERR_TOPOLOGY,                                   \
      MPI_Cart_coords(MPI_COMM_SELF, 0, 1, many))                                               \
    X(coords_of_rank_1, MPI_Cart_coords, MPI_ERR_RANK, MPI_Cart_coords(grid(), 1, 1, many))     \
    X(coords_no_room, MPI_Cart_coords, MPI_ERR_ARG, MPI_Cart_coords(grid(), 0, 0, many))        \
    X(get_of_graph, MPI_Cart_get, MPI_ERR_TOPOLOGY, MPI_Cart_get(graph(), 1, many, many, many)) \
    X(get_nowhere, MPI_Cart_get, MPI_ERR_ARG, MPI_Cart_get(grid(), 1, many, many, NULL))        \
    X(rank_outside, MPI_Cart_rank, MPI_ERR_ARG, MPI_Cart_rank(grid(), &minus, many))            \
    X(shift_direction_1, MPI_Cart_shift, MPI_ERR_DIMS,                                          \
      MPI_Cart_shift(grid(), 1, 1, many, many))                                                 \
    X(sub_of_graph, MPI_Cart_sub, MPI_ERR_TOPOLOGY, MPI_Cart_sub(graph(), many, &comm))         \
    X(sub_of_null, MPI_Cart_sub, MPI_ERR_ARG, MPI_Cart_sub(grid(), NULL, &comm))                \
    X(graph_too_large, MPI_Graph_create, MPI_ERR_ARG,                                           \
      MPI_Graph_create(MPI_COMM_SELF, 2, many, many, 0, &comm))                                 \
    X(graph_far_too_large, MPI_Graph_create, MPI_ERR_ARG,                                       \
      MPI_Graph_create(MPI_COMM_SELF, INT_MAX, many, many, 0, &comm))                           \
    X(graph_index_decreases, MPI_Graph_map, MPI_ERR_ARG,                                        \
      MPI_Graph_map(MPI_COMM_WORLD, 2, falling, many, many))                                    \
    X(graph_edge_to_2, MPI_Graph_create, MPI_ERR_ARG,                                           \
      MPI_Graph_create(MPI_COMM_SELF, 1, &one, &two, 0, &comm))                                 \
    X(graph_index_minus_1, MPI_Graph_map, MPI_ERR_ARG,                                          \
      MPI_Graph_map(MPI_COMM_SELF, 1, &minus, &none, many))                                     \
    X(neighbors_of_rank_1, MPI_Graph_neighbors, MPI_ERR_RANK,                                   \
      MPI_Graph_neighbors(graph(), 1, 1, many))                                                 \
    X(edges_no_room, MPI_Graph_get, MPI_ERR_ARG, MPI_Graph_get(graph(), 1, 0, many, many))      \
    X(nodes_of_grid, MPI_Graphdims_get, MPI_ERR_TOPOLOGY, MPI_Graphdims_get(grid(), many, many)) \
    X(adjacent_to_rank_2, MPI_Dist_graph_create_adjacent, MPI_ERR_RANK,                         \
      ADJACENT(1, &two, &one, 1, &one))                                                         \
    X(adjacent_minus_1, MPI_Dist_graph_create_adjacent, MPI_ERR_ARG,                            \
      ADJACENT(-1, &none, &one, 1, &one))                                                       \
    X(adjacent_weight_minus_1, MPI_Dist_graph_create_adjacent, MPI_ERR_ARG,                     \
      ADJACENT(1, &none, &minus, 1, &one))                                                      \
    X(adjacent_half_weighted, MPI_Dist_graph_create_adjacent, MPI_ERR_ARG,                      \
      ADJACENT(1, &none, MPI_UNWEIGHTED, 1, &one))                                              \
    X(edges_of_rank_2, MPI_Dist_graph_create, MPI_ERR_RANK, EDGES(1, &two, &none, &one))        \
    X(edges_minus_1, MPI_Dist_graph_create, MPI_ERR_ARG, EDGES(1, &none, &minus, &one))         \
    X(edges_without_weights, MPI_Dist_graph_create, MPI_ERR_ARG,                                \
      EDGES(1, &none, &one, MPI_WEIGHTS_EMPTY))                                                 \
    X(neighbors_of_grid, MPI_Dist_graph_neighbors, MPI_ERR_TOPOLOGY,                            \
      MPI_Dist_graph_neighbors(grid(), 1, many, many, 1, many, many))                           \
    X(counts_of_none, MPI_Dist_graph_neighbors_count, MPI_ERR_TOPOLOGY,                         \
      MPI_Dist_graph_neighbors_count(MPI_COMM_SELF, many, many, many))

CASES(BAD_CALL_BODY)
static const struct bad_call table[] = {CASES(BAD_CALL_ROW)};

int main(int argc, char **argv)
{
    return RUN_TABLE(argc, argv);
}
