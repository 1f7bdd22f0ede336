/* ranks: 1, 2, 3, 5, 8; transports: all; MPI 5.0 8.6 to 8.8 */
/* Neighbourhood collectives in their three forms, on grids that are periodic in no, one or both
 * dimensions (also with one or two processes in a dimension), on a graph with repeated edges and
 * self loops, and on a distributed graph. Each block names its edge, so that a block in a wrong
 * place is found. */
#include "../check.h"

enum { MOST = 64, COUNT = 3 };

#define OK(call) CHECK_INT(call, MPI_SUCCESS)

/* The edges of this process as the topology functions tell them. */
static int sources[MOST], indegree;

static int sends[MOST * COUNT], receives[MOST * COUNT];
static int counts[MOST], places[MOST];
static MPI_Aint bytes[MOST];
static MPI_Datatype types[MOST];

/* For each block: the number, at its sender, of the edge by which it must come; -1 from nobody. */
static int came_by[MOST];

enum operation { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, ALL };

static int letter(int from, int edge, int at) { return from * 10000 + edge * 10 + at; }

static void call(enum operation operation, int form, MPI_Comm comm, MPI_Request *request)
{
    const MPI_Info no = MPI_INFO_NULL;

    switch (operation) {
    case ALLGATHER:
        if (form == 0)
            OK(MPI_Neighbor_allgather(sends, COUNT, MPI_INT, receives, COUNT, MPI_INT, comm));
        else if (form == 1)
            OK(MPI_Ineighbor_allgather(sends, COUNT, MPI_INT, receives, COUNT, MPI_INT, comm,
                                       request));
        else
            OK(MPI_Neighbor_allgather_init(sends, COUNT, MPI_INT, receives, COUNT, MPI_INT, comm,
                                           no, request));
        break;
    case ALLGATHERV:
        if (form == 0)
            OK(MPI_Neighbor_allgatherv(sends, COUNT, MPI_INT, receives, counts, places, MPI_INT,
                                       comm));
        else if (form == 1)
            OK(MPI_Ineighbor_allgatherv(sends, COUNT, MPI_INT, receives, counts, places, MPI_INT,
                                        comm, request));
        else
            OK(MPI_Neighbor_allgatherv_init(sends, COUNT, MPI_INT, receives, counts, places,
                                            MPI_INT, comm, no, request));
        break;
    case ALLTOALL:
        if (form == 0)
            OK(MPI_Neighbor_alltoall(sends, COUNT, MPI_INT, receives, COUNT, MPI_INT, comm));
        else if (form == 1)
            OK(MPI_Ineighbor_alltoall(sends, COUNT, MPI_INT, receives, COUNT, MPI_INT, comm,
                                      request));
        else
            OK(MPI_Neighbor_alltoall_init(sends, COUNT, MPI_INT, receives, COUNT, MPI_INT, comm,
                                          no, request));
        break;
    case ALLTOALLV:
        if (form == 0)
            OK(MPI_Neighbor_alltoallv(sends, counts, places, MPI_INT, receives, counts, places,
                                      MPI_INT, comm));
        else if (form == 1)
            OK(MPI_Ineighbor_alltoallv(sends, counts, places, MPI_INT, receives, counts, places,
                                       MPI_INT, comm, request));
        else
            OK(MPI_Neighbor_alltoallv_init(sends, counts, places, MPI_INT, receives, counts,
                                           places, MPI_INT, comm, no, request));
        break;
    case ALLTOALLW:
        if (form == 0)
            OK(MPI_Neighbor_alltoallw(sends, counts, bytes, types, receives, counts, bytes, types,
                                      comm));
        else if (form == 1)
            OK(MPI_Ineighbor_alltoallw(sends, counts, bytes, types, receives, counts, bytes, types,
                                       comm, request));
        else
            OK(MPI_Neighbor_alltoallw_init(sends, counts, bytes, types, receives, counts, bytes,
                                           types, comm, no, request));
        break;
    case ALL:
        break;
    }
}

static void check_results(enum operation operation)
{
    int from, at;

    for (from = 0; from < indegree; from++)
        for (at = 0; at < COUNT; at++) {
            int edge = operation <= ALLGATHERV ? 0 : came_by[from];
            int wanted = came_by[from] < 0 ? -1 : letter(sources[from], edge, at);

            CHECK(receives[from * COUNT + at] == wanted,
                  "operation %d, block %d of %d from %d, element %d to be %d, not %d", operation,
                  from, indegree, sources[from], at, wanted, receives[from * COUNT + at]);
        }
}

static void fill_blocks(int my_rank)
{
    int edge, at;

    for (at = 0; at < MOST * COUNT; at++)
        receives[at] = -1;
    for (edge = 0; edge < MOST; edge++)
        for (at = 0; at < COUNT; at++)
            sends[edge * COUNT + at] = letter(my_rank, edge, at);
}

/* All operations in all forms on a communicator whose edges are known. */
static void try_all(MPI_Comm comm)
{
    int form, round, my_rank, operation;
    MPI_Request request;

    OK(MPI_Comm_rank(comm, &my_rank));
    for (operation = 0; operation < ALL; operation++) {
        for (form = 0; form < 3; form++) {
            for (round = 0; round < (form == 2 ? 2 : 1); round++) {
                fill_blocks(my_rank);
                if (round == 0)
                    call(operation, form, comm, &request);
                if (form == 2)
                    OK(MPI_Start(&request));
                if (form > 0)
                    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                check_results(operation);
            }
            if (form == 2)
                OK(MPI_Request_free(&request));
        }
    }
}

/* What goes out by -1 of a dimension (edge 2d) comes in from +1 (block 2d + 1), and the other way
 * round. */
static void grid(int ndims, const int *periods)
{
    int dims[2] = {0, 0}, d;
    MPI_Comm comm;

    OK(MPI_Dims_create(size, ndims, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &comm));
    indegree = 2 * ndims;
    for (d = 0; d < ndims; d++) {
        OK(MPI_Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]));
        came_by[2 * d] = sources[2 * d] == MPI_PROC_NULL ? -1 : 2 * d + 1;
        came_by[2 * d + 1] = sources[2 * d + 1] == MPI_PROC_NULL ? -1 : 2 * d;
    }
    try_all(comm);
    OK(MPI_Comm_free(&comm));
}

/* Each process has two edges to the next one and one to itself; a distributed graph, whose edges
 * match in the order in which they are listed. */
static void loops(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    int in[3] = {last, rank, last}, out[3] = {next, rank, next}, edge;
    MPI_Comm comm, copy;

    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, in, MPI_UNWEIGHTED, 3, out, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &comm));
    indegree = 3;
    for (edge = 0; edge < 3; edge++) {
        sources[edge] = in[edge];
        came_by[edge] = edge;
    }
    try_all(comm);
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Comm_free(&comm));
    try_all(copy);
    OK(MPI_Comm_free(&copy));
}

/* A star with rank 0 in its middle: the neighbours of a graph are both sources and destinations. */
static void star(void)
{
    int index[MOST], edges[MOST], leaf, edge;
    MPI_Comm comm;

    for (leaf = 1; leaf < size; leaf++) {
        edges[leaf - 1] = leaf;
        edges[size - 1 + leaf - 1] = 0;
        index[leaf] = size - 1 + leaf;
    }
    index[0] = size - 1;
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm));
    indegree = rank == 0 ? size - 1 : 1;
    for (edge = 0; edge < indegree; edge++) {
        sources[edge] = rank == 0 ? edge + 1 : 0;
        came_by[edge] = rank == 0 ? 0 : rank - 1;
    }
    try_all(comm);
    OK(MPI_Comm_free(&comm));
}

/* A communicator without a topology, and a process without edges. */
static void no_neighbours(void)
{
    int value = 0;
    MPI_Comm comm;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_INT(class_of(MPI_Neighbor_allgather(&value, 1, MPI_INT, receives, 1, MPI_INT,
                                              MPI_COMM_WORLD)),
              MPI_ERR_TOPOLOGY);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                      MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm));
    indegree = 0;
    try_all(comm);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    int periods[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}}, way, edge;

    begin(&argc, &argv);
    for (edge = 0; edge < MOST; edge++) {
        counts[edge] = COUNT;
        places[edge] = edge * COUNT;
        bytes[edge] = (MPI_Aint)(edge * COUNT * sizeof(int));
        types[edge] = MPI_INT;
    }
    for (way = 0; way < 4; way++) {
        grid(2, periods[way]);
        grid(1, periods[way]);
    }
    loops();
    star();
    no_neighbours();
    return end();
}
