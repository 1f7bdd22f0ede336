/* ranks: 1, 2, 3, 8; transports: all; MPI 5.0 8.5.3, 8.5.4 */
/* Graphs that each process has in full, and distributed ones: neighbours, weights, order. */
#include "../check.h"

#define MOST 512

/* Each node has itself, the next node twice, and all before it. Nodes are the first ranks. */
static void check_graph(int nodes)
{
    int index[8], edges[MOST], got_index[8], got[MOST], i, k, count = 0, number, other;
    MPI_Comm graph = MPI_COMM_WORLD, copy;

    for (i = 0; i < nodes; i++) {
        edges[count++] = i;
        edges[count++] = (i + 1) % nodes;
        edges[count++] = (i + 1) % nodes;
        for (k = i - 1; k >= 0; k--)
            edges[count++] = k;
        index[i] = count;
    }
    CHECK_INT(MPI_Graph_map(MPI_COMM_WORLD, nodes, index, edges, &number), MPI_SUCCESS);
    CHECK_INT(number, rank < nodes ? rank : MPI_UNDEFINED);
    CHECK_INT(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 1, &graph), MPI_SUCCESS);
    if (rank >= nodes) {
        CHECK(graph == MPI_COMM_NULL, "no graph for a process beyond it");
        return;
    }
    MPI_Comm_dup(graph, &copy);
    MPI_Comm_free(&graph);
    CHECK_INT(MPI_Topo_test(copy, &number), MPI_SUCCESS);
    CHECK_INT(number, MPI_GRAPH);
    MPI_Comm_size(copy, &number);
    CHECK_INT(number, nodes);
    CHECK_INT(MPI_Graphdims_get(copy, &number, &other), MPI_SUCCESS);
    CHECK_INT(number, nodes);
    CHECK_INT(other, count);
    CHECK_INT(MPI_Graph_get(copy, nodes, count, got_index, got), MPI_SUCCESS);
    CHECK(memcmp(index, got_index, nodes * sizeof(int)) == 0, "the index that was given");
    CHECK(memcmp(edges, got, count * sizeof(int)) == 0, "the edges that were given");
    for (i = 0; i < nodes; i++) {
        k = i > 0 ? index[i - 1] : 0;
        CHECK_INT(MPI_Graph_neighbors_count(copy, i, &number), MPI_SUCCESS);
        CHECK_INT(number, index[i] - k);
        CHECK_INT(MPI_Graph_neighbors(copy, i, number, got), MPI_SUCCESS);
        CHECK(memcmp(edges + k, got, number * sizeof(int)) == 0, "the neighbors of %d", i);
    }
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
}

struct ends {
    int count, ranks[MOST], weights[MOST];
};

static void add(struct ends *ends, int other, int weight)
{
    ends->ranks[ends->count] = other;
    ends->weights[ends->count++] = weight;
}

static void check_ends(const struct ends *wanted, const int *ranks, const int *weights, int count)
{
    int i;

    for (i = 0; i < count; i++) {
        CHECK_INT(ranks[i], wanted->ranks[i]);
        CHECK_INT(weights[i], wanted->weights[i]);
    }
    CHECK_INT(ranks[count], -9);
    CHECK_INT(weights[count], -9);
}

/* Compares with what is wanted: in full, and in arrays that have room for one edge only. */
static void check_distributed(MPI_Comm graph, const struct ends *in, const struct ends *out,
                              int is_weighted)
{
    static int got[4][MOST];
    int indegree, outdegree, weighted, kind, i, k, few, most_in, most_out;

    CHECK_INT(MPI_Topo_test(graph, &kind), MPI_SUCCESS);
    CHECK_INT(kind, MPI_DIST_GRAPH);
    CHECK_INT(MPI_Dist_graph_neighbors_count(graph, &indegree, &outdegree, &weighted),
              MPI_SUCCESS);
    CHECK_INT(indegree, in->count);
    CHECK_INT(outdegree, out->count);
    CHECK_INT(weighted, is_weighted);
    for (few = 0; few < 2; few++) {
        most_in = few && in->count > 1 ? 1 : in->count;
        most_out = few && out->count > 1 ? 1 : out->count;
        for (i = 0; i < 4; i++)
            for (k = 0; k < MOST; k++)
                got[i][k] = -9;
        if (is_weighted) {
            CHECK_INT(MPI_Dist_graph_neighbors(graph, most_in, got[0], got[1], most_out, got[2],
                                               got[3]),
                      MPI_SUCCESS);
        } else {
            CHECK_INT(MPI_Dist_graph_neighbors(graph, most_in, got[0], MPI_UNWEIGHTED, most_out,
                                               got[2], got[3]),
                      MPI_SUCCESS);
            CHECK_INT(got[3][0], -9);
            memcpy(got[1], in->weights, most_in * sizeof(int));
            memcpy(got[3], out->weights, most_out * sizeof(int));
        }
        check_ends(in, got[0], got[1], most_in);
        check_ends(out, got[2], got[3], most_out);
    }
}

/* Each process gives its own edges: to the next one twice, and to itself; the last one has none. */
static void check_adjacent(int is_weighted)
{
    struct ends in = {0}, out = {0};
    int has_edges = size > 1 && rank < size - 1, last = size - 2;
    int *in_weights = MPI_UNWEIGHTED, *out_weights = MPI_UNWEIGHTED;
    MPI_Comm graph, copy;

    if (has_edges) {
        add(&out, rank < last ? rank + 1 : 0, 10 * rank);
        add(&out, rank, 3);
        add(&out, rank < last ? rank + 1 : 0, 10 * rank + 1);
        add(&in, rank, 3);
        add(&in, rank > 0 ? rank - 1 : last, 10 * (rank > 0 ? rank - 1 : last));
        add(&in, rank > 0 ? rank - 1 : last, 10 * (rank > 0 ? rank - 1 : last) + 1);
    }
    if (is_weighted) {
        in_weights = has_edges ? in.weights : MPI_WEIGHTS_EMPTY;
        out_weights = has_edges ? out.weights : NULL;
    }
    CHECK_INT(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in.count, in.ranks, in_weights,
                                             out.count, out.ranks, out_weights, MPI_INFO_NULL, 1,
                                             &graph),
              MPI_SUCCESS);
    check_distributed(graph, &in, &out, is_weighted);
    MPI_Comm_dup(graph, &copy);
    MPI_Comm_free(&graph);
    check_distributed(copy, &in, &out, is_weighted);
    MPI_Comm_free(&copy);
}

/* Random edges that random processes give, `each` of them by each; all processes know all. Each
 * process has them in the order of the ranks that gave them. */
static void check_any(int each, int givers, int is_weighted, unsigned seed)
{
    struct ends in = {0}, out = {0};
    int sources[MOST], degrees[MOST], targets[MOST], weights[MOST], n = 0, count = 0;
    int giver, e, i, source, degree, target, weight;
    MPI_Comm graph;

    for (giver = 0; giver < givers; giver++)
        for (e = 0; e < each; e++) {
            source = next_random(&seed) % size;
            degree = next_random(&seed) % 4;
            if (giver == rank) {
                sources[n] = source;
                degrees[n++] = degree;
            }
            for (i = 0; i < degree; i++) {
                target = next_random(&seed) % size;
                weight = next_random(&seed) % 1000;
                if (giver == rank) {
                    targets[count] = target;
                    weights[count++] = weight;
                }
                if (source == rank)
                    add(&out, target, weight);
                if (target == rank)
                    add(&in, source, weight);
            }
        }
    CHECK_INT(MPI_Dist_graph_create(MPI_COMM_WORLD, n, n ? sources : NULL, n ? degrees : NULL,
                                    count ? targets : NULL,
                                    !is_weighted ? MPI_UNWEIGHTED
                                    : count      ? weights
                                                 : MPI_WEIGHTS_EMPTY,
                                    MPI_INFO_NULL, 0, &graph),
              MPI_SUCCESS);
    check_distributed(graph, &in, &out, is_weighted);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    unsigned seed;

    begin(&argc, &argv);
    check_graph(size);
    check_graph(1);
    check_graph(0);
    if (size > 1)
        check_graph(size - 1);
    check_adjacent(0);
    check_adjacent(1);
    for (seed = 1; seed <= 6; seed++) {
        check_any(seed * 3, size, seed % 2, seed);
        check_any(seed, 1, seed % 2, seed);
    }
    check_any(0, size, 1, 1);
    check_any(0, size, 0, 1);
    return end();
}
