/* What hangs on MPI's objects: error handlers, attributes, names, groups, operators, datatypes,
 * handles as integers. One process is enough for all of it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
    do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); exit(1); } } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

static int handled_class, handled_times;
static MPI_Comm handled_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
    MPI_Error_class(*code, &handled_class);
    handled_comm = *comm;
    handled_times++;
}

static void error_handlers(void)
{
    MPI_Comm comm, copy;
    MPI_Errhandler mine, asked;
    MPI_Request request;
    char byte, two[2];

    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_create_errhandler(handler, &mine));
    OK(MPI_Comm_set_errhandler(comm, mine));
    OK(MPI_Comm_get_errhandler(comm, &asked));
    CHECK(asked == mine && MPI_Errhandler_fromint(MPI_Errhandler_toint(mine)) == mine);
    OK(MPI_Errhandler_free(&asked));
    OK(MPI_Errhandler_free(&mine));
    CHECK(mine == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Send(&byte, 1, MPI_CHAR, 5, 0, comm) == MPI_ERR_RANK);
    CHECK(handled_times == 1 && handled_class == MPI_ERR_RANK && handled_comm == comm);
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER));
    CHECK(handled_times == 2 && handled_class == MPI_ERR_OTHER && handled_comm == copy);
    /* An operation that fails later reaches the handler of its communicator. */
    OK(MPI_Irecv(&byte, 1, MPI_CHAR, 0, 7, copy, &request));
    CHECK(MPI_Request_toint(request) < 0);
    CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
    CHECK(MPI_Request_fromint(-12345) == MPI_REQUEST_NULL);
    OK(MPI_Send(two, 2, MPI_CHAR, 0, 7, copy));
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
    CHECK(handled_times == 3 && handled_class == MPI_ERR_TRUNCATE && handled_comm == copy);
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&comm));
}

static int copies, deletions;

static int copy_attr(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm; (void)key;
    *(void **)out = (char *)in + (extra == &copies);
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

static int delete_attr(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm; (void)key; (void)value; (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static int refuse_delete(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type; (void)key; (void)value; (void)extra;
    return MPI_ERR_OTHER;
}

static void attributes(void)
{
    MPI_Comm comm;
    MPI_Datatype type;
    int key, plain, of_type, flag, *value;
    void *got;

    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(flag && *value == 1);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_create_keyval(copy_attr, delete_attr, &key, &copies));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL));
    OK(MPI_Comm_get_attr(MPI_COMM_SELF, key, &got, &flag));
    CHECK(!flag);
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, "x"));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, plain, "y"));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_get_attr(comm, key, &got, &flag));
    CHECK(flag && *(char *)got == 0 && copies == 1);
    OK(MPI_Comm_get_attr(comm, plain, &got, &flag));
    CHECK(!flag);
    OK(MPI_Comm_set_attr(comm, key, "z"));
    CHECK(deletions == 1);
    OK(MPI_Comm_free(&comm));
    CHECK(deletions == 2);
    OK(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, refuse_delete, &of_type, NULL));
    OK(MPI_Type_set_attr(MPI_INT, of_type, "i"));
    OK(MPI_Type_dup(MPI_INT, &type));
    OK(MPI_Type_get_attr(type, of_type, &got, &flag));
    CHECK(flag && *(char *)got == 'i');
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_get_attr(MPI_COMM_SELF, of_type, &got, &flag) == MPI_ERR_KEYVAL);
    CHECK(MPI_Type_free(&type) == MPI_ERR_OTHER && type != MPI_DATATYPE_NULL);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, MPI_TAG_UB, "no") == MPI_ERR_KEYVAL);
}

static void names_and_groups(void)
{
    MPI_Comm comm;
    MPI_Group group, empty, both;
    MPI_Datatype type;
    char name[MPI_MAX_OBJECT_NAME];
    int len, value, zero = 0, ranges[1][3] = {{0, 0, 1}};

    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &len));
    CHECK(!strcmp(name, "MPI_COMM_WORLD") && len == 14);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_name(comm, "mine"));
    OK(MPI_Comm_get_name(comm, name, &len));
    CHECK(!strcmp(name, "mine"));
    OK(MPI_Type_get_name(MPI_DOUBLE, name, &len));
    CHECK(!strcmp(name, "MPI_DOUBLE"));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_set_name(type, "pair"));
    OK(MPI_Type_get_name(type, name, &len));
    CHECK(!strcmp(name, "pair") && MPI_Type_fromint(MPI_Type_toint(type)) == type);
    OK(MPI_Type_free(&type));
    OK(MPI_Comm_group(comm, &group));
    OK(MPI_Group_size(group, &value));
    CHECK(value == 1);
    OK(MPI_Group_rank(group, &value));
    CHECK(value == 0 && MPI_Group_fromint(MPI_Group_toint(group)) == group);
    OK(MPI_Group_excl(group, 1, &zero, &empty));
    CHECK(empty == MPI_GROUP_EMPTY);
    OK(MPI_Group_union(empty, group, &both));
    OK(MPI_Group_compare(group, both, &value));
    CHECK(value == MPI_IDENT);
    OK(MPI_Group_free(&both));
    OK(MPI_Group_range_incl(group, 1, ranges, &both));
    OK(MPI_Group_translate_ranks(group, 1, &zero, both, &value));
    CHECK(value == 0);
    OK(MPI_Group_free(&both));
    OK(MPI_Group_free(&group));
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    OK(MPI_Comm_size(comm, &value));
    CHECK(value == 1);
    OK(MPI_Comm_free(&comm));
}

static MPI_Datatype seen_type;

static void add_pairs(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int i;
    seen_type = *type;
    for (i = 0; i < 2 * *len; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void operators(void)
{
    MPI_Op op;
    MPI_Datatype pair;
    int commutes, from[4] = {1, 2, 3, 4}, to[4] = {10, 20, 30, 40};

    OK(MPI_Op_create(add_pairs, 1, &op));
    OK(MPI_Op_commutative(op, &commutes));
    CHECK(commutes && MPI_Op_fromint(MPI_Op_toint(op)) == op);
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Reduce_local(from, to, 2, pair, op));
    CHECK(to[0] == 11 && to[3] == 44 && seen_type == pair);
    OK(MPI_Allreduce(from, to, 2, pair, op, MPI_COMM_WORLD));
    CHECK(to[0] == 1 && to[3] == 4);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
    CHECK(op == MPI_OP_NULL);
}

struct record { char tag; double value; int list[3]; };

static void datatypes(void)
{
    MPI_Datatype type, resized;
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Aint places[3], base, lb, extent;
    int lengths[3] = {1, 1, 3}, position = 0, size, room;
    struct record out = {'r', 2.5, {1, 2, 3}}, in = {0, 0, {0, 0, 0}};
    char packed[64];

    OK(MPI_Get_address(&out, &base));
    OK(MPI_Get_address(&out.tag, &places[0]));
    OK(MPI_Get_address(&out.value, &places[1]));
    OK(MPI_Get_address(out.list, &places[2]));
    places[0] = MPI_Aint_diff(places[0], base);
    places[1] = MPI_Aint_diff(places[1], base);
    places[2] = MPI_Aint_diff(places[2], base);
    OK(MPI_Type_create_struct(3, lengths, places, types, &type));
    OK(MPI_Type_create_resized(type, 0, sizeof(struct record), &resized));
    OK(MPI_Type_commit(&resized));
    OK(MPI_Type_size(resized, &size));
    OK(MPI_Type_get_extent(resized, &lb, &extent));
    CHECK(size == 21 && lb == 0 && extent == (MPI_Aint)sizeof(struct record));
    OK(MPI_Pack_size(1, resized, MPI_COMM_WORLD, &room));
    CHECK(room >= 21 && room <= 64);
    OK(MPI_Pack(&out, 1, resized, packed, 64, &position, MPI_COMM_WORLD));
    CHECK(position == 21);
    position = 0;
    OK(MPI_Unpack(packed, 21, &position, &in, 1, resized, MPI_COMM_WORLD));
    CHECK(position == 21 && in.tag == 'r' && in.value == 2.5 && in.list[2] == 3);
    OK(MPI_Type_size(MPI_REAL16, &size));
    CHECK(size == MPI_UNDEFINED);
    OK(MPI_Type_free(&resized));
    OK(MPI_Type_free(&type));
}

static int is_unsupported(int code)
{
    int class = MPI_SUCCESS;
    OK(MPI_Error_class(code, &class));
    return class == MPI_ERR_UNSUPPORTED_OPERATION;
}

static void not_implemented(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm comm;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(is_unsupported(MPI_Open_port(MPI_INFO_NULL, port)));
    CHECK(is_unsupported(MPI_Comm_join(0, &comm)));
    CHECK(is_unsupported(MPI_Unpublish_name("no", MPI_INFO_NULL, "no")));
    CHECK(is_unsupported(PMPI_Close_port(NULL)));
}

int main(int argc, char **argv)
{
    OK(MPI_Init(&argc, &argv));
    error_handlers();
    attributes();
    names_and_groups();
    operators();
    datatypes();
    not_implemented();
    OK(MPI_Finalize());
    /* The attribute of MPI_COMM_SELF went at the end. */
    CHECK(deletions == 3);
    printf("fine\n");
    return 0;
}
