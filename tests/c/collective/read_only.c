/* ranks: 1, 2, 4, 5; MPI 5.0 2.3 and 6.4 */
/* What a call only reads lies in memory that nobody can write: buffers that are sent, the buffer of
 * the root of a broadcast, and arrays of counts, displacements, datatypes and ranks. Each
 * collective in its three forms, short ones and long ones, on one group and between two; messages
 * in each mode; packing. What arrives is checked. */
#define _DEFAULT_SOURCE
#include "../check.h"
#include <sys/mman.h>

#define OK(call) CHECK_INT(call, MPI_SUCCESS)

enum { MOST = 8, LONGEST = 33000, ALL_BLOCKS = MOST * LONGEST };

/* What is only read. Each element is this process's number, which is its rank and one more. */
static struct Input {
    int counts[MOST], places[MOST], bytes[MOST], parts[MOST], ranks[MOST], ones[MOST];
    MPI_Aint long_places[MOST];
    MPI_Datatype types[MOST];
    int data[ALL_BLOCKS];
} *in;

static int out[ALL_BLOCKS];

/* The communicator; whether it joins two groups; how many processes this one deals with there, and
 * the rank of the first of them and the distance to the next one. */
static MPI_Comm comm;
static int is_inter, others, first_other, step;
/* Elements of a block, their datatype, and how many integers apart they are. */
static int unit, apart;
static MPI_Datatype element, spread;

static void set_writable(int writable)
{
    int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    CHECK(mprotect(in, sizeof *in, rights) == 0, "the rights of the memory to change");
}

/* Fills the arrays for blocks of `elements`, `gap` integers apart. */
static void prepare(int elements, int gap)
{
    unit = elements, apart = gap;
    element = gap == 1 ? MPI_INT : spread;
    set_writable(1);
    for (int who = 0; who < MOST; who++) {
        in->counts[who] = unit;
        in->places[who] = who * unit;
        in->bytes[who] = who * unit * apart * (int)sizeof(int);
        in->long_places[who] = in->bytes[who];
        in->parts[who] = is_inter ? unit * others : unit;
        in->types[who] = element;
    }
    set_writable(0);
}

typedef enum {
    BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
    ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN,
    NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW
} Operation;

#define CASE(OPERATION, blocking, nonblocking, persistent, ...) \
    case OPERATION: \
        if (form == 0) OK(MPI_##blocking(__VA_ARGS__, comm)); \
        else if (form == 1) OK(MPI_##nonblocking(__VA_ARGS__, comm, request)); \
        else OK(MPI_##persistent(__VA_ARGS__, comm, MPI_INFO_NULL, request)); \
        break

#define EQUAL in->data, unit, element, out, unit, element
#define TO_MANY in->data, unit, element, out, in->counts, in->places, element
#define FROM_MANY in->data, in->counts, in->places, element, out, unit, element
#define MANY in->data, in->counts, in->places, element, out, in->counts, in->places, element
#define TYPED in->data, in->counts, in->bytes, in->types, out, in->counts, in->bytes, in->types
#define LONG_TYPED \
    in->data, in->counts, in->long_places, in->types, out, in->counts, in->long_places, in->types
#define OPERANDS in->data, out, unit, MPI_INT, MPI_SUM

/* Calls an operation in a form: 0 blocking, 1 nonblocking, 2 persistent. */
static void call(Operation operation, int form, int root, MPI_Request *request)
{
    int is_root = is_inter ? root == MPI_ROOT : rank == root;

    switch (operation) {
        CASE(BCAST, Bcast, Ibcast, Bcast_init, is_root ? in->data : out, unit, element, root);
        CASE(GATHER, Gather, Igather, Gather_init, EQUAL, root);
        CASE(GATHERV, Gatherv, Igatherv, Gatherv_init, TO_MANY, root);
        CASE(SCATTER, Scatter, Iscatter, Scatter_init, EQUAL, root);
        CASE(SCATTERV, Scatterv, Iscatterv, Scatterv_init, FROM_MANY, root);
        CASE(ALLGATHER, Allgather, Iallgather, Allgather_init, EQUAL);
        CASE(ALLGATHERV, Allgatherv, Iallgatherv, Allgatherv_init, TO_MANY);
        CASE(ALLTOALL, Alltoall, Ialltoall, Alltoall_init, EQUAL);
        CASE(ALLTOALLV, Alltoallv, Ialltoallv, Alltoallv_init, MANY);
        CASE(ALLTOALLW, Alltoallw, Ialltoallw, Alltoallw_init, TYPED);
        CASE(REDUCE, Reduce, Ireduce, Reduce_init, OPERANDS, root);
        CASE(ALLREDUCE, Allreduce, Iallreduce, Allreduce_init, OPERANDS);
        CASE(REDUCE_SCATTER, Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, in->data, out,
             in->parts, MPI_INT, MPI_SUM);
        CASE(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, Ireduce_scatter_block,
             Reduce_scatter_block_init, in->data, out, in->parts[0], MPI_INT, MPI_SUM);
        CASE(SCAN, Scan, Iscan, Scan_init, OPERANDS);
        CASE(EXSCAN, Exscan, Iexscan, Exscan_init, OPERANDS);
        CASE(NEIGHBOR_ALLGATHER, Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init,
             EQUAL);
        CASE(NEIGHBOR_ALLGATHERV, Neighbor_allgatherv, Ineighbor_allgatherv,
             Neighbor_allgatherv_init, TO_MANY);
        CASE(NEIGHBOR_ALLTOALL, Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init,
             EQUAL);
        CASE(NEIGHBOR_ALLTOALLV, Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init,
             MANY);
        CASE(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init,
             LONG_TYPED);
    }
}

/* The number of the process of rank `other` among those with which this one deals. */
static int number_of(int other) { return first_other + other * step + 1; }

static int sum_below(int end)
{
    int all = 0;
    for (int other = 0; other < end; other++) all += number_of(other);
    return all;
}

/* Each of `count` elements from element `from` on is `wanted`. */
static void expect(Operation operation, int from, int count, int wanted)
{
    for (int at = from; at < from + count; at++)
        CHECK(out[at * apart] == wanted, "operation %d of %d to leave %d at %d, not %d", operation,
              unit, wanted, at, out[at * apart]);
}

/* Checks what an operation has left; `root` is a rank of the others. */
static void check_results(Operation operation, int receives, int root)
{
    if (!receives)
        return;
    switch (operation) {
    case BCAST: case SCATTER: case SCATTERV:
        expect(operation, 0, unit, number_of(root));
        break;
    case REDUCE: case ALLREDUCE:
        expect(operation, 0, unit, sum_below(others));
        break;
    case REDUCE_SCATTER: case REDUCE_SCATTER_BLOCK:
        expect(operation, 0, in->parts[0], sum_below(others));
        break;
    case SCAN: case EXSCAN:
        if (operation == SCAN || rank > 0)
            expect(operation, 0, unit, sum_below(rank + (operation == SCAN)));
        break;
    case NEIGHBOR_ALLGATHER: case NEIGHBOR_ALLGATHERV: case NEIGHBOR_ALLTOALL:
    case NEIGHBOR_ALLTOALLV: case NEIGHBOR_ALLTOALLW:
        expect(operation, 0, unit, (rank + size - 1) % size + 1);
        break;
    default:
        for (int other = 0; other < others; other++)
            expect(operation, other * unit, unit, number_of(other));
    }
}

/* Operations from `first` to `last`, each in its forms. */
static void run(Operation first, Operation last)
{
    /* Between two groups the root is the first process of the even ranks. */
    int root = is_inter ? (rank == 0 ? MPI_ROOT : rank % 2 == 0 ? MPI_PROC_NULL : 0) : size - 1;

    for (Operation operation = first; operation <= last; operation++) {
        int gives = operation == BCAST || operation == SCATTER || operation == SCATTERV;
        int takes = operation == GATHER || operation == GATHERV || operation == REDUCE;
        int is_root = is_inter ? root == MPI_ROOT : rank == root;
        int receives = !takes || is_root;

        if (gives)
            receives = is_inter ? root == 0 : !is_root || operation != BCAST;
        for (int form = 0; form < 3; form++) {
            MPI_Request request;

            memset(out, 0xff, sizeof(int) * apart * unit * MOST);
            call(operation, form, root, &request);
            for (int start = 0; form > 0 && start < form; start++) {
                if (form == 2) OK(MPI_Start(&request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            }
            if (form == 2) OK(MPI_Request_free(&request));
            check_results(operation, receives, is_inter ? 0 : root);
        }
    }
}

/* The processes with which this one deals are those of `group`, of which `count` are every
 * `distance`th rank from `first` on. */
static void deal_with(MPI_Comm group, int count, int first, int distance)
{
    comm = group;
    others = count, first_other = first, step = distance;
}

static void collectives(void)
{
    deal_with(MPI_COMM_WORLD, size, 0, 1);
    for (int short_or_long = 0; short_or_long < 4; short_or_long++) {
        prepare((int[]){1, 600, 3000, 20000}[short_or_long], 1);
        run(BCAST, EXSCAN);
    }
    for (int is_long = 0; is_long < 2; is_long++) {
        prepare(is_long ? 16500 : 600, 2);
        run(BCAST, ALLTOALLW);
    }
}

static void collectives_between_groups(void)
{
    MPI_Comm group, inter;

    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group));
    OK(MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter));
    is_inter = 1;
    deal_with(inter, (size + rank % 2) / 2, 1 - rank % 2, 2);
    for (int is_long = 0; is_long < 2; is_long++) {
        prepare(is_long ? 20000 : 10, 1);
        run(BCAST, REDUCE_SCATTER_BLOCK);
    }
    is_inter = 0;
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&group));
}

static void collectives_of_neighbours(void)
{
    MPI_Comm ring;
    const int *before = &in->ranks[(rank + size - 1) % size];
    const int *after = &in->ranks[(rank + 1) % size];

    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, before, in->ones, 1, after, in->ones,
                                      MPI_INFO_NULL, 0, &ring));
    deal_with(ring, 1, 0, 1);
    for (int is_long = 0; is_long < 2; is_long++) {
        prepare(is_long ? 20000 : 10, 1);
        run(NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALLW);
    }
    OK(MPI_Comm_free(&ring));
}

typedef int Send(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int StartSend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static Send *const sends[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static StartSend *const starts[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static StartSend *const inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};

/* Sends `count` elements to the next process in all ways, and receives from the one before. */
static void messages(int count)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, way;
    const int *data = in->data;
    MPI_Request receive, send;
    MPI_Status *no = MPI_STATUS_IGNORE;

    for (way = 0; way < 15; way++) {
        memset(out, 0xff, sizeof(int) * count);
        if (way < 12)
            OK(MPI_Irecv(out, count, MPI_INT, from, way, MPI_COMM_WORLD, &receive));
        OK(MPI_Barrier(MPI_COMM_WORLD)); /* for the ready mode */
        if (way < 4) {
            OK(sends[way](data, count, MPI_INT, to, way, MPI_COMM_WORLD));
        } else if (way < 8) {
            OK(starts[way - 4](data, count, MPI_INT, to, way, MPI_COMM_WORLD, &send));
            OK(MPI_Wait(&send, no));
        } else if (way < 12) {
            OK(inits[way - 8](data, count, MPI_INT, to, way, MPI_COMM_WORLD, &send));
            OK(MPI_Start(&send));
            OK(MPI_Wait(&send, no));
            OK(MPI_Request_free(&send));
        } else if (way == 12) {
            OK(MPI_Sendrecv(data, count, MPI_INT, to, way, out, count, MPI_INT, from, way,
                            MPI_COMM_WORLD, no));
        } else if (way == 13) {
            OK(MPI_Isendrecv(data, count, MPI_INT, to, way, out, count, MPI_INT, from, way,
                             MPI_COMM_WORLD, &send));
            OK(MPI_Wait(&send, no));
        } else {
            OK(MPI_Psend_init(data, 1, count, MPI_INT, to, way, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &send));
            OK(MPI_Precv_init(out, 1, count, MPI_INT, from, way, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &receive));
            OK(MPI_Start(&receive));
            OK(MPI_Start(&send));
            OK(MPI_Pready_list(1, in->ranks, send));
            OK(MPI_Wait(&send, no));
        }
        if (way < 12 || way == 14)
            OK(MPI_Wait(&receive, no));
        if (way == 14) {
            OK(MPI_Request_free(&receive));
            OK(MPI_Request_free(&send));
        }
        for (int at = 0; at < count; at++)
            CHECK(out[at] == from + 1, "way %d to bring %d, not %d", way, from + 1, out[at]);
    }
}

/* Calls without a partner. */
static void local(void)
{
    enum { COUNT = 5000 };
    static char packed[COUNT * sizeof(int)];
    int at = 0, data[COUNT];
    MPI_Aint place = 0;
    MPI_Datatype type;
    MPI_Group world, same;
    MPI_Comm grid;

    OK(MPI_Pack(in->data, COUNT, MPI_INT, packed, sizeof packed, &at, MPI_COMM_WORLD));
    OK(MPI_Pack_external("external32", in->data, COUNT, MPI_INT, packed, sizeof packed, &place));
    at = 0, place = 0;
    OK(MPI_Unpack(in->data, sizeof data, &at, data, COUNT, MPI_INT, MPI_COMM_WORLD));
    CHECK_INT(data[COUNT - 1], rank + 1);
    OK(MPI_Unpack_external("external32", in->data, sizeof data, &place, data, COUNT, MPI_INT));
    data[COUNT - 1] = 10;
    OK(MPI_Reduce_local(in->data, data, COUNT, MPI_INT, MPI_SUM));
    CHECK_INT(data[COUNT - 1], rank + 11);
    OK(MPI_Type_indexed(MOST, in->counts, in->places, MPI_INT, &type));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_struct(MOST, in->counts, in->long_places, in->types, &type));
    OK(MPI_Type_free(&type));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, size, in->ranks, &same));
    OK(MPI_Group_translate_ranks(world, size, in->ranks, same, data));
    CHECK_INT(data[size - 1], size - 1);
    OK(MPI_Group_free(&same));
    OK(MPI_Group_free(&world));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, in->ones, in->ones, 0, &grid));
    if (grid != MPI_COMM_NULL) {
        OK(MPI_Cart_rank(grid, in->ranks, data));
        OK(MPI_Comm_free(&grid));
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    in = mmap(NULL, sizeof *in, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(in != MAP_FAILED, "memory");
    for (int at = 0; at < ALL_BLOCKS; at++) in->data[at] = rank + 1;
    for (int at = 0; at < MOST; at++) in->ranks[at] = at, in->ones[at] = 1;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread));
    OK(MPI_Type_commit(&spread));

    collectives();
    if (size > 1)
        collectives_between_groups();
    collectives_of_neighbours();
    static char room[4 * sizeof(int) * LONGEST];
    void *detached;
    int bytes;
    OK(MPI_Buffer_attach(room, sizeof room));
    messages(10);
    messages(3000);
    messages(LONGEST);
    OK(MPI_Buffer_detach(&detached, &bytes));
    local();
    OK(MPI_Type_free(&spread));
    return end();
}
