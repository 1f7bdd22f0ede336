/* ranks: 1, 2, 3; MPI 5.0 3.6 */
/* Buffers of communicators: a buffered send uses its communicator's, else the process's. */
#include "../check.h"

enum { BYTES = 100000, TAG = 1 };

static char room[2 * (BYTES + MPI_BSEND_OVERHEAD)], other[1000 + MPI_BSEND_OVERHEAD];
static char out[BYTES], in[BYTES];

static int bsend(int bytes, int to, MPI_Comm comm)
{
    return class_of(MPI_Bsend(out, bytes, MPI_BYTE, to, TAG, comm));
}

static void receive(int bytes, int from, MPI_Comm comm)
{
    memset(in, 0, bytes);
    MPI_Recv(in, bytes, MPI_BYTE, from, TAG, comm, MPI_STATUS_IGNORE);
    CHECK_FILLED(in, bytes, from);
}

static MPI_Comm comm, second;
static int to, from;

static void without_a_buffer(void)
{
    MPI_Request request;
    void *buffer;
    int len;

    CHECK_INT(bsend(1, to, comm), MPI_ERR_BUFFER);
    CHECK_INT(class_of(MPI_Comm_detach_buffer(comm, &buffer, &len)), MPI_ERR_BUFFER);
    CHECK_INT(MPI_Comm_flush_buffer(comm), MPI_SUCCESS); /* there is nothing to wait for */
    CHECK_INT(MPI_Comm_iflush_buffer(comm, &request), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The big one fits the communicator's buffer only, the process's is for all others. */
static void each_its_own(void)
{
    MPI_Request requests[2];
    int done;

    MPI_Comm_attach_buffer(comm, room, sizeof room);
    CHECK_INT(class_of(MPI_Comm_attach_buffer(comm, other, sizeof other)), MPI_ERR_BUFFER);
    MPI_Buffer_attach(other, sizeof other);
    CHECK_INT(bsend(BYTES, to, comm), MPI_SUCCESS);
    CHECK_INT(bsend(1000, to, second), MPI_SUCCESS);
    CHECK_INT(bsend(BYTES, to, second), MPI_ERR_BUFFER);
    MPI_Comm_iflush_buffer(comm, &requests[0]);
    MPI_Buffer_iflush(&requests[1]);
    if (size == 1) {
        /* Nobody has received it, and it is too long to be taken in. */
        MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
        CHECK_INT(done, 0);
    }
    receive(BYTES, from, comm);
    receive(1000, from, second);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_flush_buffer(comm);
    MPI_Buffer_flush();
}

/* A flush does not wait for what is buffered after it. */
static void flushes_what_is_there(void)
{
    MPI_Request request;
    int done;

    bsend(BYTES, 0, comm);
    MPI_Comm_iflush_buffer(comm, &request);
    bsend(BYTES, 0, comm);
    receive(BYTES, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_iflush_buffer(comm, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK_INT(done, 0);
    receive(BYTES, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void detached(void)
{
    MPI_Count large = 0;
    void *buffer;
    int len = 0;

    MPI_Comm_detach_buffer_c(comm, &buffer, &large);
    CHECK(buffer == room, "the buffer of the communicator");
    CHECK_INT(large, sizeof room);
    /* Now its sends use the process's buffer. */
    CHECK_INT(bsend(BYTES, to, comm), MPI_ERR_BUFFER);
    CHECK_INT(bsend(500, to, comm), MPI_SUCCESS);
    receive(500, from, comm);
    MPI_Buffer_detach(&buffer, &len);
    CHECK(buffer == other, "the buffer of the process");
    CHECK_INT(len, sizeof other);
}

static void automatic(void)
{
    void *buffer;
    int len = -1;

    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
    CHECK_INT(bsend(BYTES, to, comm), MPI_SUCCESS);
    CHECK_INT(bsend(BYTES, to, comm), MPI_SUCCESS);
    receive(BYTES, from, comm);
    receive(BYTES, from, comm);
    MPI_Comm_detach_buffer(comm, &buffer, &len);
    CHECK(buffer == MPI_BUFFER_AUTOMATIC, "MPI_BUFFER_AUTOMATIC");
    CHECK_INT(len, 0);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    fill(out, BYTES, rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    without_a_buffer();
    each_its_own();
    if (size == 1)
        flushes_what_is_there();
    detached();
    automatic();
    MPI_Comm_attach_buffer_c(comm, room, sizeof room);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&second);
    return end();
}
