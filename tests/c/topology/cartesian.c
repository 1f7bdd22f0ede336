/* ranks: 1, 2, 5, 6, 8; transports: all; MPI 5.0 8.5 */
/* Grids: their dimensions, coordinates, shifts and parts; which communicators have one. */
#include "../check.h"

#define MOST 4

/* Dimensions that are given stay, and the others are balanced. */
static void check_dims(void)
{
    static const struct {
        int nodes, ndims, given[MOST], wanted[MOST];
    } cases[] = {
        {6, 2, {0, 0}, {3, 2}},          {7, 2, {0, 0}, {7, 1}},
        {6, 3, {0, 3, 0}, {2, 3, 1}},    {12, 3, {0, 0, 0}, {3, 2, 2}},
        {64, 3, {0, 0, 0}, {4, 4, 4}},   {12, 2, {4, 3}, {4, 3}},
        {1, 4, {0, 0, 0, 0}, {1, 1, 1, 1}}, {24, 3, {0, 0, 2}, {4, 3, 2}},
        {2310, 4, {0, 0, 0, 0}, {11, 7, 6, 5}}, {2147483647, 2, {0, 0}, {2147483647, 1}},
    };
    size_t i;
    int d, dims[MOST];

    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memcpy(dims, cases[i].given, sizeof dims);
        CHECK_INT(MPI_Dims_create(cases[i].nodes, cases[i].ndims, dims), MPI_SUCCESS);
        for (d = 0; d < cases[i].ndims; d++)
            CHECK(dims[d] == cases[i].wanted[d], "case %d: dimension %d of %d to be %d, not %d",
                  (int)i, d, cases[i].nodes, cases[i].wanted[d], dims[d]);
    }
    CHECK_INT(MPI_Dims_create(1, 0, NULL), MPI_SUCCESS);
}

/* Moves a number along each dimension and compares where it comes from with the coordinates. */
static void check_shifts(MPI_Comm grid, int ndims, const int *dims, const int *periods)
{
    int d, k, me, source, dest, got, there[MOST], coords[MOST];
    static const int by[] = {0, 1, -1, 2, -5, 1000};

    MPI_Comm_rank(grid, &me);
    MPI_Cart_coords(grid, me, ndims, coords);
    for (d = 0; d < ndims; d++)
        for (k = 0; k < 6; k++) {
            CHECK_INT(MPI_Cart_shift(grid, d, by[k], &source, &dest), MPI_SUCCESS);
            got = -7;
            MPI_Sendrecv(&me, 1, MPI_INT, dest, d, &got, 1, MPI_INT, source, d, grid,
                         MPI_STATUS_IGNORE);
            memcpy(there, coords, sizeof there);
            there[d] -= by[k];
            if (!periods[d] && (there[d] < 0 || there[d] >= dims[d])) {
                CHECK_INT(source, MPI_PROC_NULL);
                CHECK_INT(got, -7);
            } else {
                int from = -1;
                CHECK_INT(MPI_Cart_rank(grid, there, &from), MPI_SUCCESS);
                CHECK_INT(source, from);
                CHECK_INT(got, from);
            }
        }
}

/* The part of a grid with the dimensions of the bits of `keep`. */
static void check_part(MPI_Comm grid, int ndims, const int *dims, int keep)
{
    int remain[MOST], d, kept = 0, fixed = 1, members = 1, part_size, part_ndims, me, within;
    int coords[MOST], inside[MOST], got[MOST], periods[MOST], part_dims[MOST], mine, sum, i;
    MPI_Comm part;

    MPI_Comm_rank(grid, &me);
    MPI_Cart_coords(grid, me, ndims, coords);
    for (d = 0; d < ndims; d++) {
        remain[d] = keep >> d & 1;
        *(remain[d] ? &members : &fixed) *= dims[d];
        if (remain[d])
            inside[kept++] = coords[d];
    }
    CHECK_INT(MPI_Cart_sub(grid, remain, &part), MPI_SUCCESS);
    MPI_Comm_size(part, &part_size);
    CHECK_INT(part_size, members);
    CHECK_INT(MPI_Cartdim_get(part, &part_ndims), MPI_SUCCESS);
    CHECK_INT(part_ndims, kept);
    CHECK_INT(MPI_Cart_get(part, kept, part_dims, periods, got), MPI_SUCCESS);
    for (i = 0; i < kept; i++)
        CHECK_INT(got[i], inside[i]);
    CHECK_INT(MPI_Cart_rank(part, inside, &within), MPI_SUCCESS);
    MPI_Comm_rank(part, &i);
    CHECK_INT(within, i);
    /* All members have the same coordinates in the dimensions that are gone. */
    for (d = 0; d < ndims; d++)
        if (!remain[d]) {
            mine = coords[d];
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, part);
            CHECK_INT(sum, mine * members);
        }
    MPI_Comm_free(&part);
}

/* A grid with these dimensions; processes beyond it have none. */
static void check_grid(int ndims, const int *dims, int period_bits)
{
    int periods[MOST], got_dims[MOST], got_periods[MOST], coords[MOST], mine[MOST];
    int places = 1, d, me, i, number, mapped;
    MPI_Comm grid = MPI_COMM_WORLD;

    for (d = 0; d < ndims; d++) {
        periods[d] = period_bits >> d & 1 ? 5 : 0;
        places *= dims[d];
    }
    CHECK_INT(MPI_Cart_map(MPI_COMM_WORLD, ndims, dims, periods, &mapped), MPI_SUCCESS);
    CHECK_INT(mapped, rank < places ? rank : MPI_UNDEFINED);
    CHECK_INT(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, rank == -1, &grid),
              MPI_SUCCESS);
    if (rank >= places) {
        CHECK(grid == MPI_COMM_NULL, "no grid for a process beyond it");
        return;
    }
    CHECK_INT(MPI_Topo_test(grid, &number), MPI_SUCCESS);
    CHECK_INT(number, MPI_CART);
    MPI_Comm_size(grid, &number);
    CHECK_INT(number, places);
    MPI_Comm_rank(grid, &me);
    CHECK_INT(me, rank);
    CHECK_INT(MPI_Cartdim_get(grid, &number), MPI_SUCCESS);
    CHECK_INT(number, ndims);
    CHECK_INT(MPI_Cart_get(grid, ndims, got_dims, got_periods, mine), MPI_SUCCESS);
    for (d = 0; d < ndims; d++) {
        CHECK_INT(got_dims[d], dims[d]);
        CHECK_INT(got_periods[d], periods[d] != 0);
    }
    for (i = 0; i < places; i++) {
        CHECK_INT(MPI_Cart_coords(grid, i, ndims, coords), MPI_SUCCESS);
        CHECK_INT(MPI_Cart_rank(grid, coords, &number), MPI_SUCCESS);
        CHECK_INT(number, i);
        for (d = 0; i == me && d < ndims; d++)
            CHECK_INT(mine[d], coords[d]);
    }
    check_shifts(grid, ndims, dims, periods);
    for (i = 0; i < 1 << ndims; i++)
        check_part(grid, ndims, dims, i);
    MPI_Comm_free(&grid);
}

static void check_kind(MPI_Comm comm, int wanted)
{
    int kind = -1;

    CHECK_INT(PMPI_Topo_test(comm, &kind), MPI_SUCCESS);
    CHECK_INT(kind, wanted);
}

/* A copy has the topology, other communicators made from it have none. Attributes stay behind; the
 * error handler comes along. */
static void check_heirs(void)
{
    int periods = 1, keyval, value = 5, flag = 1, number, d = -1;
    MPI_Comm world, grid, other;
    MPI_Group group;
    MPI_Errhandler handler;

    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    check_kind(world, MPI_UNDEFINED);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(world, keyval, &value);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Cart_create(world, 1, &size, &periods, 1, &grid);
    MPI_Comm_get_attr(grid, keyval, &value, &flag);
    CHECK_INT(flag, 0);
    MPI_Comm_get_errhandler(grid, &handler);
    CHECK(handler == MPI_ERRORS_RETURN, "the error handler of the old communicator");

    MPI_Comm_dup(grid, &other);
    check_kind(other, MPI_CART);
    MPI_Comm_free(&grid);
    CHECK_INT(MPI_Cart_get(other, 1, &number, &flag, &d), MPI_SUCCESS);
    CHECK_INT(number, size);
    CHECK_INT(flag, 1);
    CHECK_INT(d, rank);
    MPI_Comm_dup_with_info(other, MPI_INFO_NULL, &grid);
    check_kind(grid, MPI_CART);
    MPI_Comm_free(&other);

    MPI_Comm_split(grid, 0, 0, &other);
    check_kind(other, MPI_UNDEFINED);
    MPI_Comm_free(&other);
    MPI_Comm_group(grid, &group);
    MPI_Comm_create(grid, group, &other);
    check_kind(other, MPI_UNDEFINED);
    MPI_Comm_free(&other);
    MPI_Group_free(&group);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&world);
    MPI_Comm_free_keyval(&keyval);
}

int main(int argc, char **argv)
{
    int ndims, bits, d, dims[MOST] = {0};

    begin(&argc, &argv);
    check_dims();
    for (ndims = 0; ndims <= 3; ndims++)
        for (bits = 0; bits < 1 << ndims; bits++) {
            memset(dims, 0, sizeof dims);
            if (ndims > 0)
                MPI_Dims_create(size, ndims, dims);
            check_grid(ndims, dims, bits);
            for (d = 0; d < ndims; d++)
                dims[d] = d == 1 && size > 3 ? 2 : 1;
            check_grid(ndims, dims, bits);
        }
    dims[0] = size > 1 ? size - 1 : 1;
    check_grid(1, dims, 1);
    check_kind(MPI_COMM_WORLD, MPI_UNDEFINED);
    check_heirs();
    return end();
}
