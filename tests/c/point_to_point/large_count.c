/* ranks: 1, 2; transports: all; MPI 5.0 3.2, 3.4, 3.7.2, 3.9, 3.10, 3.8.3 */
/* The _c twins: the same bodies, with counts of type MPI_Count. */
#include "../check.h"

enum { TAG = 1, COUNT = 5000 };

static int out[COUNT], in[COUNT];
static int to, from;

static void receive_and_check(MPI_Request *send)
{
    MPI_Status status;
    MPI_Count count = -1;

    memset(in, 0, sizeof in);
    MPI_Recv_c(in, COUNT, MPI_INT, from, TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count_c(&status, MPI_INT, &count);
    CHECK_INT(count, COUNT);
    CHECK_FILLED(in, sizeof in, from);
    MPI_Wait(send, MPI_STATUS_IGNORE);
}

static void nonblocking(void)
{
    MPI_Request send, receive;
    MPI_Comm world = MPI_COMM_WORLD;

    MPI_Isend_c(out, COUNT, MPI_INT, to, TAG, world, &send);
    receive_and_check(&send);
    MPI_Issend_c(out, COUNT, MPI_INT, to, TAG, world, &send);
    receive_and_check(&send);
    MPI_Ibsend_c(out, COUNT, MPI_INT, to, TAG, world, &send);
    receive_and_check(&send);
    memset(in, 0, sizeof in);
    MPI_Irecv_c(in, COUNT, MPI_INT, from, TAG, world, &receive);
    MPI_Barrier(world);
    MPI_Irsend_c(out, COUNT, MPI_INT, to, TAG, world, &send);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_FILLED(in, sizeof in, from);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

typedef int blocking_send(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int send_init(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void blocking(blocking_send *send)
{
    MPI_Request receive;

    memset(in, 0, sizeof in);
    MPI_Irecv_c(in, COUNT, MPI_INT, from, TAG, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD);
    send(out, COUNT, MPI_INT, to, TAG, MPI_COMM_WORLD);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_FILLED(in, sizeof in, from);
}

static void persistent(send_init *init)
{
    MPI_Request requests[2];

    memset(in, 0, sizeof in);
    MPI_Recv_init_c(in, COUNT, MPI_INT, from, TAG, MPI_COMM_WORLD, &requests[0]);
    init(out, COUNT, MPI_INT, to, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Start(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_FILLED(in, sizeof in, from);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void combined_and_matched(void)
{
    MPI_Message message;
    MPI_Request request, send;
    static int both[COUNT];

    MPI_Sendrecv_c(out, COUNT, MPI_INT, to, TAG, in, COUNT, MPI_INT, from, TAG, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    CHECK_FILLED(in, sizeof in, from);
    fill(both, sizeof both, rank);
    MPI_Sendrecv_replace_c(both, COUNT, MPI_INT, to, TAG, from, TAG, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
    CHECK_FILLED(both, sizeof both, from);
    MPI_Isend_c(out, COUNT, MPI_INT, to, TAG, MPI_COMM_WORLD, &send);
    MPI_Mprobe(from, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv_c(in, COUNT, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK_FILLED(in, sizeof in, from);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Isend_c(out, COUNT, MPI_INT, to, TAG, MPI_COMM_WORLD, &send);
    MPI_Mprobe(from, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv_c(in, COUNT, MPI_INT, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_FILLED(in, sizeof in, from);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static char room[4 * (sizeof out + MPI_BSEND_OVERHEAD)];
    void *attached;
    MPI_Count detached = 0;

    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    fill(out, sizeof out, rank);
    MPI_Buffer_attach_c(room, sizeof room);
    nonblocking();
    blocking(MPI_Send_c);
    blocking(MPI_Ssend_c);
    blocking(MPI_Bsend_c);
    blocking(MPI_Rsend_c);
    persistent(MPI_Send_init_c);
    persistent(MPI_Ssend_init_c);
    persistent(MPI_Bsend_init_c);
    persistent(MPI_Rsend_init_c);
    combined_and_matched();
    MPI_Buffer_detach_c(&attached, &detached);
    CHECK_INT(detached, sizeof room);
    return end();
}
