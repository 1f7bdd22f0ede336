/* What differs between binary interfaces, in one small program: statuses, a datatype, an operator,
 * attributes with functions, an error handler, large counts. Each rank names its library. */
#include "../check.h"

enum { TAG = 7 };

static int handled, copied, deleted;

static void handler(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm != MPI_COMM_NULL, "the communicator of the handler");
    handled = class_of(*code);
}

static int copy(MPI_Comm comm, int key, void *state, void *value, void *place, int *flag)
{
    CHECK(comm == MPI_COMM_WORLD && key != MPI_KEYVAL_INVALID, "the attribute's place");
    copied += *(int *)state;
    *(void **)place = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)key;
    CHECK(comm != MPI_COMM_NULL && value == state, "what was stored");
    deleted++;
    return MPI_SUCCESS;
}

/* The larger first number wins, with its second one. */
static void larger(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *from = in, *to = inout, i, bytes;

    MPI_Type_size(*type, &bytes);
    CHECK_INT(bytes, 2 * (int)sizeof(int));
    for (i = 0; i < 2 * *len; i += 2)
        if (from[i] > to[i]) {
            to[i] = from[i];
            to[i + 1] = from[i + 1];
        }
}

static void pass_around(void)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size, number = -1, i;
    MPI_Request requests[2];
    MPI_Status statuses[2], status;

    MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, right, TAG + rank, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK_INT(number, left);
    CHECK_STATUS(statuses[0], left, TAG + left, (int)sizeof number);
    for (i = 0; i < 2; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "a request that is over");
    MPI_Wait(&requests[0], &status);
    CHECK_EMPTY_STATUS(status);
    MPI_Recv(&number, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Sendrecv_c(&rank, 1, MPI_INT, right, TAG, &number, 1, MPI_INT, left, TAG, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    CHECK_INT(number, left);
}

static void reduce(void)
{
    int pair[2] = {rank % 2, rank}, sum = rank, kind;
    MPI_Datatype type, column;
    MPI_Count bytes;
    MPI_Aint lower, extent;
    MPI_Op op;

    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(larger, 1, &op);
    MPI_Allreduce(MPI_IN_PLACE, pair, 1, type, op, MPI_COMM_WORLD);
    CHECK_INT(pair[0], size > 1);
    CHECK_INT(pair[1] % 2, size > 1);
    MPI_Type_vector(3, 1, 4, type, &column);
    MPI_Type_size_c(column, &bytes);
    CHECK_INT(bytes, 6 * (int)sizeof(int));
    MPI_Type_get_extent(column, &lower, &extent);
    CHECK_INT(extent, 18 * (int)sizeof(int));
    MPI_Op_free(&op);
    MPI_Type_free(&column);
    MPI_Type_free(&type);
    CHECK(op == MPI_OP_NULL && type == MPI_DATATYPE_NULL, "null handles");
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, size * (size - 1) / 2);
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    CHECK_INT(kind, MPI_UNDEFINED);
}

static void keep_attributes(void)
{
    int three = 3, key, kept, flag, order;
    void *value, *largest;
    MPI_Comm other, third;

    MPI_Comm_create_keyval(copy, delete, &key, &three);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &three);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    CHECK_INT(copied, 3);
    MPI_Comm_get_attr(other, key, &value, &flag);
    CHECK(flag && value == &three, "the attribute of the copy");
    MPI_Comm_compare(MPI_COMM_WORLD, other, &order);
    CHECK_INT(order, MPI_CONGRUENT);
    MPI_Comm_free(&other);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    CHECK_INT(deleted, 2);
    MPI_Comm_free_keyval(&key);
    CHECK_INT(key, MPI_KEYVAL_INVALID);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &kept, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, kept, &kept);
    MPI_Comm_dup(MPI_COMM_SELF, &third);
    MPI_Comm_get_attr(third, kept, &value, &flag);
    CHECK(flag && value == &kept, "MPI_COMM_DUP_FN to copy");
    MPI_Comm_free(&third);
    MPI_Comm_delete_attr(MPI_COMM_SELF, kept);
    MPI_Comm_free_keyval(&kept);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &flag);
    CHECK(flag && *(int *)largest >= 32767, "the largest tag");
}

static void fail(void)
{
    MPI_Errhandler mine;

    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Errhandler_free(&mine);
    MPI_Send(NULL, 0, MPI_INT, size, TAG, MPI_COMM_WORLD);
    CHECK_INT(handled, MPI_ERR_RANK);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Send(NULL, 0, MPI_INT, 0, -5, MPI_COMM_WORLD)), MPI_ERR_TAG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void know_neighbors(void)
{
    int from = (rank + 1) % size, to = (rank + size - 1) % size, in, out, is_weighted;
    MPI_Comm graph;

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                   MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    MPI_Topo_test(graph, &in);
    CHECK_INT(in, MPI_DIST_GRAPH);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &is_weighted);
    CHECK(in == 1 && out == 1 && !is_weighted, "a graph without weights");
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    begin(&argc, &argv);
    pass_around();
    reduce();
    keep_attributes();
    fail();
    know_neighbors();
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "the communicator");
    MPI_Get_library_version(text, &length);
    text[strcspn(text, " \n")] = 0;
    printf("rank %d of %d over %s\n", rank, size, text);
    return end();
}
