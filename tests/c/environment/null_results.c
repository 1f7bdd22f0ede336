/* ranks: 1; transports: one; MPI 5.0 2.5.1, 9.3 */
/* A call that fails leaves the null handle where it was to put an object: programs compare the
 * result with it. It is there when the error handler is called. */
#include "../check.h"

static int dims[1] = {1}, x[4];
static MPI_Comm comm, nowhere = MPI_COMM_NULL;
static MPI_Comm no_comm = (MPI_Comm)0x12345678;
static MPI_Datatype type, no_type = (MPI_Datatype)0x12345678;
static MPI_Group group, no_group = (MPI_Group)0x12345678;
static MPI_Info info, no_info = (MPI_Info)0x12345678;
static MPI_Errhandler handler;
static MPI_Request request, other_request;
static MPI_Message message;
static MPI_Session session;
static MPI_Op op;
static MPI_File file;
static MPI_Win window;

static int handler_saw_null;

static void handle(MPI_Comm *on, int *code, ...)
{
    (void)on;
    (void)code;
    handler_saw_null = comm == MPI_COMM_NULL;
}

/* Makes a call that fails, with something in the place of its result. */
#define FAILS(place, something, null, call)                          \
    do {                                                             \
        place = something;                                           \
        CHECK((call) != MPI_SUCCESS, "%s to fail", #call);           \
        CHECK(place == null, "%s to leave %s", #call, #null);        \
    } while (0)

#define FAILS_COMM(call) FAILS(comm, MPI_COMM_WORLD, MPI_COMM_NULL, call)
#define FAILS_TYPE(call) FAILS(type, MPI_INT, MPI_DATATYPE_NULL, call)
#define FAILS_GROUP(call) FAILS(group, MPI_GROUP_EMPTY, MPI_GROUP_NULL, call)
#define FAILS_INFO(call) FAILS(info, MPI_INFO_ENV, MPI_INFO_NULL, call)
#define FAILS_REQUEST(call) FAILS(request, (MPI_Request)x, MPI_REQUEST_NULL, call)

static void check_communicators(void)
{
    FAILS_COMM(MPI_Comm_dup(nowhere, &comm));
    FAILS_COMM(MPI_Comm_split(MPI_COMM_WORLD, -9, 0, &comm));
    FAILS_COMM(MPI_Comm_create(MPI_COMM_WORLD, no_group, &comm));
    FAILS_COMM(MPI_Cart_create(MPI_COMM_WORLD, -1, dims, dims, 0, &comm));
    FAILS_COMM(MPI_Cart_sub(MPI_COMM_WORLD, dims, &comm));
    FAILS_COMM(MPI_Graph_create(MPI_COMM_WORLD, -1, dims, dims, 0, &comm));
    FAILS_COMM(MPI_Dist_graph_create(MPI_COMM_WORLD, -1, dims, dims, dims, MPI_UNWEIGHTED,
                                     MPI_INFO_NULL, 0, &comm));
    FAILS_COMM(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &comm));
    FAILS(request, (MPI_Request)x, MPI_REQUEST_NULL, MPI_Comm_idup(no_comm, &comm, &request));
    CHECK(comm == MPI_COMM_NULL, "both results are null");
}

static void check_types(void)
{
    FAILS_TYPE(MPI_Type_dup(MPI_DATATYPE_NULL, &type));
    FAILS_TYPE(MPI_Type_contiguous(-1, MPI_INT, &type));
    FAILS_TYPE(MPI_Type_contiguous_c(-1, MPI_INT, &type));
    FAILS_TYPE(MPI_Type_create_resized(no_type, 0, 8, &type));
    FAILS_TYPE(MPI_Type_create_struct(1, dims, NULL, &type, &type));
    FAILS_TYPE(MPI_Type_create_f90_real(1000, 1000, &type));
}

static void check_requests(void)
{
    FAILS_REQUEST(MPI_Isend(x, 1, MPI_INT, 77, 0, MPI_COMM_WORLD, &request));
    FAILS_REQUEST(MPI_Irecv(x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
    FAILS_REQUEST(MPI_Send_init(x, 1, MPI_INT, 77, 0, MPI_COMM_WORLD, &request));
    FAILS_REQUEST(MPI_Ibcast(x, 1, MPI_INT, 77, MPI_COMM_WORLD, &request));
    FAILS_REQUEST(MPI_Bcast_init(x, 1, MPI_INT, 77, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    FAILS_REQUEST(MPI_Psend_init(x, 1, 1, MPI_INT, 77, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    FAILS(message, MPI_MESSAGE_NO_PROC, MPI_MESSAGE_NULL,
          MPI_Mprobe(77, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    /* What is no result of the call stays. */
    MPI_Irecv(x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &other_request);
    request = other_request;
    CHECK(MPI_Start(&request) != MPI_SUCCESS, "it is not persistent");
    CHECK(request == other_request, "the request of a failed start to stay");
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void check_others(void)
{
    FAILS_GROUP(MPI_Comm_group(nowhere, &group));
    FAILS_GROUP(MPI_Group_incl(MPI_GROUP_EMPTY, 1, x, &group));
    FAILS_GROUP(MPI_Group_union(no_group, MPI_GROUP_EMPTY, &group));
    FAILS_INFO(MPI_Info_dup(no_info, &info));
    FAILS_INFO(MPI_Comm_get_info(nowhere, &info));
    FAILS(handler, MPI_ERRORS_RETURN, MPI_ERRHANDLER_NULL,
          MPI_Comm_get_errhandler(nowhere, &handler));
    FAILS(op, MPI_SUM, MPI_OP_NULL, MPI_Op_create(NULL, 0, &op));
    FAILS(session, (MPI_Session)x, MPI_SESSION_NULL,
          MPI_Session_init(no_info, MPI_ERRORS_RETURN, &session));
    FAILS(file, (MPI_File)x, MPI_FILE_NULL,
          MPI_File_open(MPI_COMM_WORLD, "/no/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    FAILS(window, (MPI_Win)x, MPI_WIN_NULL,
          MPI_Win_create(x, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    /* A function that is missing. */
    FAILS_COMM(MPI_Comm_accept("here", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_communicators();
    check_types();
    check_requests();
    check_others();
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, NULL) != MPI_SUCCESS, "a place is needed");
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    FAILS_COMM(MPI_Cart_create(MPI_COMM_WORLD, -1, dims, dims, 0, &comm));
    CHECK_INT(handler_saw_null, 1);
    MPI_Errhandler_free(&handler);
    return end();
}
