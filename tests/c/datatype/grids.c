/* ranks: 1, 6; transports: one; MPI 5.0 5.1.3, 5.1.4 */
/* Subarrays and distributed arrays, against a plain loop that asks of each element who owns it. */
#include "../check.h"

enum { TAG = 3, MOST = 4, ROOM = 4000 };

struct grid {
    int ndims, order, sizes[MOST], distribs[MOST], dargs[MOST], processes[MOST];
};

static int array[ROOM], packed[ROOM], wanted[ROOM];

/* The index of each dimension of the element at a place of the array. */
static void indices(const int *sizes, int ndims, int order, int place, int *index)
{
    int i;

    for (i = 0; i < ndims; i++) {
        int dimension = order == MPI_ORDER_C ? ndims - 1 - i : i;

        index[dimension] = place % sizes[dimension];
        place /= sizes[dimension];
    }
}

static int elements(const int *sizes, int ndims)
{
    return ndims == 0 ? 1 : sizes[0] * elements(sizes + 1, ndims - 1);
}

/* Sends one element of the type to ourselves as integers, then back to another array. */
static void check_type(MPI_Datatype *type, int total, int count)
{
    MPI_Aint lower, extent;
    MPI_Request request;
    MPI_Status status;
    int bytes, i, position = 0, from = (rank + size - 1) % size, to = (rank + 1) % size;

    MPI_Type_commit(type);
    MPI_Type_size(*type, &bytes);
    CHECK_INT(bytes, count * (int)sizeof(int));
    MPI_Type_get_extent(*type, &lower, &extent);
    CHECK_INT(lower, 0);
    CHECK_INT(extent, total * (int)sizeof(int));
    for (i = 0; i < total; i++)
        array[i] = i;
    memset(packed, 0xff, sizeof packed);
    MPI_Pack(array, 1, *type, packed, sizeof packed, &position, MPI_COMM_SELF);
    for (i = 0; i < count; i++)
        CHECK(packed[i] == wanted[i], "element %d of %d to be %d, not %d", i, count, wanted[i],
              packed[i]);
    MPI_Isend(array, 1, *type, rank, TAG, MPI_COMM_WORLD, &request);
    memset(packed, 0xff, sizeof packed);
    MPI_Recv(packed, 1, *type, rank, TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_STATUS(status, rank, TAG, bytes);
    for (i = 0; i < count; i++) {
        CHECK_INT(packed[wanted[i]], wanted[i]);
        packed[wanted[i]] = -1;
    }
    for (i = 0; i < total; i++)
        CHECK_INT(packed[i], -1);
    /* To the neighbour, which has another part of the array: as many integers as we have. */
    MPI_Isend(array, 1, *type, to, TAG, MPI_COMM_WORLD, &request);
    MPI_Recv(packed, ROOM, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(type);
}

static void subarray(const struct grid *box, const int *sub, const int *start, int large)
{
    int total = elements(box->sizes, box->ndims), count = 0, place, i, index[MOST];
    MPI_Count sizes_c[MOST], sub_c[MOST], start_c[MOST];
    MPI_Datatype type;

    for (i = 0; i < box->ndims; i++) {
        sizes_c[i] = box->sizes[i];
        sub_c[i] = sub[i];
        start_c[i] = start[i];
    }
    for (place = 0; place < total; place++) {
        int inside = 1;

        indices(box->sizes, box->ndims, box->order, place, index);
        for (i = 0; i < box->ndims; i++)
            inside = inside && index[i] >= start[i] && index[i] < start[i] + sub[i];
        if (inside)
            wanted[count++] = place;
    }
    if (large)
        MPI_Type_create_subarray_c(box->ndims, sizes_c, sub_c, start_c, box->order, MPI_INT, &type);
    else
        MPI_Type_create_subarray(box->ndims, box->sizes, sub, start, box->order, MPI_INT, &type);
    check_type(&type, total, count);
}

static void subarrays(void)
{
    struct grid box = { 1, MPI_ORDER_C, { 0 }, { 0 }, { 0 }, { 0 } };
    unsigned seed = 7;
    int round, i, sub[MOST], start[MOST];

    for (round = 0; round < 60; round++) {
        box.ndims = 1 + round % MOST;
        box.order = round % 3 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        for (i = 0; i < box.ndims; i++) {
            box.sizes[i] = 1 + (int)(next_random(&seed) % 7);
            sub[i] = 1 + (int)(next_random(&seed) % (unsigned)box.sizes[i]);
            if (next_random(&seed) % 3 == 0)
                sub[i] = box.sizes[i];
            start[i] = (int)(next_random(&seed) % (unsigned)(box.sizes[i] - sub[i] + 1));
        }
        subarray(&box, sub, start, round % 2);
    }
}

/* Returns true if a coordinate of the grid owns an index. */
static int owns(const struct grid *grid, int i, int coordinate, int index)
{
    int block = grid->dargs[i], processes = grid->processes[i];

    if (grid->distribs[i] == MPI_DISTRIBUTE_NONE)
        return 1;
    if (block == MPI_DISTRIBUTE_DFLT_DARG) {
        block = 1;
        while (grid->distribs[i] == MPI_DISTRIBUTE_BLOCK && block * processes < grid->sizes[i])
            block++;
    }
    return index / block % processes == coordinate;
}

static void darray(const struct grid *grid, int owner, int large)
{
    int total = elements(grid->sizes, grid->ndims), ranks = elements(grid->processes, grid->ndims);
    int count = 0, place, i, index[MOST], coordinates[MOST];
    MPI_Count sizes[MOST];
    MPI_Datatype type;

    indices(grid->processes, grid->ndims, MPI_ORDER_C, owner, coordinates);
    for (i = 0; i < grid->ndims; i++)
        sizes[i] = grid->sizes[i];
    for (place = 0; place < total; place++) {
        int inside = 1;

        indices(grid->sizes, grid->ndims, grid->order, place, index);
        for (i = 0; i < grid->ndims; i++)
            inside = inside && owns(grid, i, coordinates[i], index[i]);
        if (inside)
            wanted[count++] = place;
    }
    if (large)
        MPI_Type_create_darray_c(ranks, owner, grid->ndims, sizes, grid->distribs, grid->dargs,
                                 grid->processes, grid->order, MPI_INT, &type);
    else
        MPI_Type_create_darray(ranks, owner, grid->ndims, grid->sizes, grid->distribs,
                               grid->dargs, grid->processes, grid->order, MPI_INT, &type);
    check_type(&type, total, count);
}

static void darrays(void)
{
    static const int kinds[] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE };
    struct grid grid;
    unsigned seed = 11;
    int round, i;

    for (round = 0; round < 80; round++) {
        grid.ndims = 1 + round % 3;
        grid.order = round % 2 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        for (i = 0; i < grid.ndims; i++) {
            int least;

            grid.sizes[i] = 1 + (int)(next_random(&seed) % 14);
            grid.distribs[i] = kinds[next_random(&seed) % 3];
            grid.processes[i] = 1 + (int)(next_random(&seed) % 4);
            if (grid.distribs[i] == MPI_DISTRIBUTE_NONE)
                grid.processes[i] = 1;
            least = (grid.sizes[i] + grid.processes[i] - 1) / grid.processes[i];
            grid.dargs[i] = 1 + (int)(next_random(&seed) % 4);
            if (grid.distribs[i] == MPI_DISTRIBUTE_BLOCK)
                grid.dargs[i] += least - 1;
            if (next_random(&seed) % 3 == 0 || grid.dargs[i] == MPI_DISTRIBUTE_DFLT_DARG)
                grid.dargs[i] = MPI_DISTRIBUTE_DFLT_DARG;
        }
        darray(&grid, (round + rank) % elements(grid.processes, grid.ndims), round % 5 == 0);
    }
}

static int made(int sub, int start, int order)
{
    int length = 5;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int class = class_of(MPI_Type_create_subarray(1, &length, &sub, &start, order, MPI_INT, &type));

    CHECK(class != MPI_SUCCESS && type == MPI_DATATYPE_NULL, "no type");
    return class;
}

static int spread(int owner, int processes, int kind, int darg)
{
    int length = 10;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int class = class_of(MPI_Type_create_darray(2, owner, 1, &length, &kind, &darg, &processes,
                                                MPI_ORDER_C, MPI_INT, &type));

    CHECK(class != MPI_SUCCESS && type == MPI_DATATYPE_NULL, "no type");
    return class;
}

static void refused(void)
{
    MPI_Datatype type;

    CHECK_INT(made(0, 0, MPI_ORDER_C), MPI_ERR_ARG);
    CHECK_INT(made(6, 0, MPI_ORDER_C), MPI_ERR_ARG);
    CHECK_INT(made(3, 3, MPI_ORDER_C), MPI_ERR_ARG);
    CHECK_INT(made(3, -1, MPI_ORDER_C), MPI_ERR_ARG);
    CHECK_INT(made(3, 1, 0), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Type_create_subarray(0, NULL, NULL, NULL, MPI_ORDER_C, MPI_INT, &type)),
              MPI_ERR_DIMS);
    CHECK_INT(spread(2, 2, MPI_DISTRIBUTE_BLOCK, 5), MPI_ERR_RANK);
    CHECK_INT(spread(0, 3, MPI_DISTRIBUTE_BLOCK, 5), MPI_ERR_ARG);
    CHECK_INT(spread(0, 2, MPI_DISTRIBUTE_BLOCK, 4), MPI_ERR_ARG);
    CHECK_INT(spread(0, 2, MPI_DISTRIBUTE_CYCLIC, 0), MPI_ERR_ARG);
    CHECK_INT(spread(0, 2, MPI_DISTRIBUTE_NONE, 1), MPI_ERR_ARG);
    CHECK_INT(spread(0, 2, 0, 1), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    subarrays();
    darrays();
    refused();
    return end();
}
