/* ranks: 1, 2; transports: one; MPI 5.0 3.6 */
/* Buffers of sessions: a buffered send uses its communicator's, else its session's, else the
 * process's. */
#include "../check.h"

enum { BYTES = 100000, TAG = 1 };

static char room[2 * (BYTES + MPI_BSEND_OVERHEAD)], other[1000 + MPI_BSEND_OVERHEAD];
static char out[BYTES], in[BYTES];
static int to, from;

static int bsend(int bytes, MPI_Comm comm)
{
    return class_of(MPI_Bsend(out, bytes, MPI_BYTE, to, TAG, comm));
}

static void receive(int bytes, MPI_Comm comm)
{
    memset(in, 0, bytes);
    MPI_Recv(in, bytes, MPI_BYTE, from, TAG, comm, MPI_STATUS_IGNORE);
    CHECK_FILLED(in, bytes, from);
}

/* The big message fits the buffer that is to be used, and nothing else does. */
static void uses_room(MPI_Comm comm)
{
    CHECK_INT(bsend(BYTES, comm), MPI_SUCCESS);
    receive(BYTES, comm);
}

static MPI_Comm of_group(MPI_Group group, const char *tag)
{
    MPI_Comm comm;

    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static MPI_Group of_session(MPI_Session session)
{
    MPI_Group group;

    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    return group;
}

static void check_attached(MPI_Session session, void *wanted, MPI_Count bytes)
{
    MPI_Count large = -1;
    void *buffer = NULL;

    CHECK_INT(MPI_Session_detach_buffer_c(session, &buffer, &large), MPI_SUCCESS);
    CHECK(buffer == wanted, "the buffer of the session");
    CHECK_INT(large, bytes);
}

static void without_a_buffer(MPI_Session session, MPI_Comm comm)
{
    MPI_Request request;
    void *buffer;
    int len;

    CHECK_INT(bsend(1, comm), MPI_ERR_BUFFER);
    CHECK_INT(class_of(MPI_Session_detach_buffer(session, &buffer, &len)), MPI_ERR_BUFFER);
    CHECK_INT(MPI_Session_flush_buffer(session), MPI_SUCCESS);
    CHECK_INT(MPI_Session_iflush_buffer(session, &request), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* The process's buffer is used as long as the session has none. */
    MPI_Buffer_attach(room, sizeof room);
    uses_room(comm);
    MPI_Session_attach_buffer(session, other, sizeof other);
    CHECK_INT(bsend(BYTES, comm), MPI_ERR_BUFFER);
    MPI_Session_detach_buffer(session, &buffer, &len);
    CHECK(buffer == other, "the buffer of the session");
    uses_room(comm);
    MPI_Buffer_detach(&buffer, &len);
    CHECK(buffer == room, "the buffer of the process");
    CHECK_INT(bsend(1, comm), MPI_ERR_BUFFER);
}

static void flushes(MPI_Session session, MPI_Comm comm)
{
    MPI_Request request;
    int done;

    CHECK_INT(bsend(BYTES, comm), MPI_SUCCESS);
    MPI_Session_iflush_buffer(session, &request);
    if (size == 1) {
        /* Nobody has received it, and it is too long to be taken in. */
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        CHECK_INT(done, 0);
    }
    receive(BYTES, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_flush_buffer(session);
}

/* Communicators that are made in other ways inherit the session. */
static void inherited(MPI_Session session, MPI_Comm comm)
{
    enum { WAYS = 8 };
    int all[1][3] = {{0, size - 1, 1}}, ranks[2] = {0, 1}, i;
    MPI_Group group, part;
    MPI_Comm made[WAYS];
    MPI_Request request;

    MPI_Comm_dup(comm, &made[0]);
    MPI_Comm_split(made[0], 0, rank, &made[1]);
    MPI_Comm_idup(comm, &made[2], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Cart_create(comm, 1, &size, ranks, 0, &made[3]);
    MPI_Comm_group(made[1], &group);
    MPI_Comm_create(comm, group, &made[4]);
    MPI_Comm_create_group(comm, group, 1, &made[5]);
    MPI_Group_range_incl(group, 1, all, &part);
    made[6] = of_group(part, "range");
    MPI_Group_union(MPI_GROUP_EMPTY, group, &part);
    MPI_Group_free(&group);
    MPI_Group_incl(part, size, ranks, &group);
    MPI_Group_free(&part);
    MPI_Group_excl(group, 0, ranks, &part);
    MPI_Group_free(&group);
    MPI_Group_intersection(part, part, &group);
    MPI_Group_free(&part);
    made[7] = of_group(group, "set");
    for (i = 0; i < WAYS; i++) {
        uses_room(made[i]);
        MPI_Comm_free(&made[i]);
    }
    /* What is freed is forgotten, and only that. */
    for (i = 0; i < 100; i++) {
        MPI_Comm_dup(comm, &made[0]);
        MPI_Comm_free(&made[0]);
    }
    uses_room(comm);
    MPI_Session_flush_buffer(session);
}

/* A communicator's own buffer goes first; another session's is not used. */
static void each_its_own(MPI_Session session, MPI_Comm comm, MPI_Comm of_another)
{
    void *buffer;
    int len;

    CHECK_INT(class_of(MPI_Session_attach_buffer(session, other, sizeof other)), MPI_ERR_BUFFER);
    CHECK_INT(bsend(1, of_another), MPI_ERR_BUFFER);
    MPI_Comm_attach_buffer(comm, other, sizeof other);
    CHECK_INT(bsend(BYTES, comm), MPI_ERR_BUFFER);
    CHECK_INT(bsend(1000, comm), MPI_SUCCESS);
    receive(1000, comm);
    MPI_Comm_detach_buffer(comm, &buffer, &len);
    CHECK(buffer == other, "the buffer of the communicator");
    uses_room(comm);
}

int main(void)
{
    MPI_Session sessions[2];
    MPI_Comm comms[2];
    int i;

    for (i = 0; i < 2; i++) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[i]);
        comms[i] = of_group(of_session(sessions[i]), i ? "second" : "first");
    }
    MPI_Comm_rank(comms[0], &rank);
    MPI_Comm_size(comms[0], &size);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    fill(out, BYTES, rank);
    without_a_buffer(sessions[0], comms[0]);
    CHECK_INT(MPI_Session_attach_buffer(sessions[0], room, sizeof room), MPI_SUCCESS);
    flushes(sessions[0], comms[0]);
    inherited(sessions[0], comms[0]);
    each_its_own(sessions[0], comms[0], comms[1]);
    check_attached(sessions[0], room, sizeof room);
    CHECK_INT(bsend(1, comms[0]), MPI_ERR_BUFFER);
    MPI_Session_attach_buffer_c(sessions[1], MPI_BUFFER_AUTOMATIC, 0);
    uses_room(comms[1]);
    check_attached(sessions[1], MPI_BUFFER_AUTOMATIC, 0);
    CHECK_INT(class_of(MPI_Session_attach_buffer(sessions[0], room, -1)), MPI_ERR_ARG);
    for (i = 0; i < 2; i++)
        MPI_Comm_free(&comms[i]);
    /* A session that ends gives its buffer up. */
    MPI_Session_attach_buffer(sessions[0], room, sizeof room);
    MPI_Session_finalize(&sessions[0]);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[0]);
    CHECK_INT(MPI_Session_attach_buffer(sessions[0], room, sizeof room), MPI_SUCCESS);
    for (i = 0; i < 2; i++)
        MPI_Session_finalize(&sessions[i]);
    return 0;
}
