/* ranks: 2, 3; transports: all; MPI 5.0 8.5 */
/* One process gives wrong arguments: it gets their class, the others get an error too, and none
 * waits. After that the same calls work with right arguments. */
#include "../check.h"

static int dims[2], periods[2], remain[2], index_[3] = {1, 2, 3}, edges[3] = {1, 0, 0};
static int ends[2], degrees[1] = {2}, weights[2] = {1, 1}, source, wrong_class;
static MPI_Comm grid, made;

static int cart_create(void)
{
    return MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &made);
}

static int cart_sub(void)
{
    return MPI_Cart_sub(grid, remain, &made);
}

static int graph_create(void)
{
    return MPI_Graph_create(MPI_COMM_WORLD, 2, index_, edges, 0, &made);
}

static int create(void)
{
    return MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, degrees, ends, weights, MPI_INFO_NULL,
                                 0, &made);
}

static int unweighted(void)
{
    return MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, degrees, ends,
                                 wrong_class ? MPI_UNWEIGHTED : weights, MPI_INFO_NULL, 0, &made);
}

static int adjacent(void)
{
    return MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, ends, weights, 2, ends, weights,
                                          MPI_INFO_NULL, 0, &made);
}

/* The last process makes the call with `*place` set to `value`, which is wrong. */
static void check_wrong(int (*call)(void), int *place, int value, int class)
{
    int right = *place, got;

    if (rank == size - 1) {
        *place = value;
        wrong_class = class;
    }
    got = class_of(call());
    CHECK_INT(got, rank == size - 1 ? class : MPI_ERR_ARG);
    *place = right;
    wrong_class = 0;
    made = MPI_COMM_NULL;
    CHECK_INT(call(), MPI_SUCCESS);
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    dims[0] = size;
    dims[1] = 1;
    periods[0] = 1;
    ends[1] = size - 1;
    source = size - 1;
    CHECK_INT(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid), MPI_SUCCESS);

    check_wrong(cart_create, &dims[1], 0, MPI_ERR_DIMS);
    check_wrong(cart_create, &dims[1], 2, MPI_ERR_DIMS);
    check_wrong(cart_create, &dims[0], 1, MPI_ERR_ARG);
    check_wrong(cart_create, &periods[1], 1, MPI_ERR_ARG);
    check_wrong(cart_sub, &remain[0], 1, MPI_ERR_ARG);
    check_wrong(graph_create, &edges[1], 2, MPI_ERR_ARG);
    check_wrong(graph_create, &edges[1], 1, MPI_ERR_ARG);
    check_wrong(graph_create, &index_[0], 3, MPI_ERR_ARG);
    check_wrong(create, &source, size, MPI_ERR_RANK);
    check_wrong(create, &degrees[0], -1, MPI_ERR_ARG);
    check_wrong(create, &ends[1], -1, MPI_ERR_RANK);
    check_wrong(create, &weights[1], -1, MPI_ERR_ARG);
    check_wrong(unweighted, &periods[1], 0, MPI_ERR_ARG);
    check_wrong(adjacent, &ends[0], size, MPI_ERR_RANK);
    check_wrong(adjacent, &weights[0], -2, MPI_ERR_ARG);
    MPI_Comm_free(&grid);
    return end();
}
