/* ranks: 1, 2; transports: all; MPI 5.0 3.10, 3.8 */
/* Every call with MPI_PROC_NULL does nothing, at once, and says so in the status. */
#include "../check.h"

static int data[4] = {1, 2, 3, 4};

static void check_untouched(const MPI_Status *status)
{
    CHECK_STATUS(*status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK_INT(data[0] + data[1] + data[2] + data[3], 10);
}

static void sends(MPI_Comm comm)
{
    MPI_Request requests[8];
    int i;

    MPI_Send(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Ssend(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Bsend(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Rsend(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Isend(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[0]);
    MPI_Issend(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[1]);
    MPI_Ibsend(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[2]);
    MPI_Irsend(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[3]);
    MPI_Send_init(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[4]);
    MPI_Ssend_init(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[5]);
    MPI_Bsend_init(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[6]);
    MPI_Rsend_init(data, 4, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[7]);
    MPI_Startall(4, requests + 4);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (i = 4; i < 8; i++)
        MPI_Request_free(&requests[i]);
}

static void receives(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Status status;

    MPI_Recv(data, 4, MPI_INT, MPI_PROC_NULL, 5, comm, &status);
    check_untouched(&status);
    MPI_Irecv(data, 4, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, &request);
    MPI_Wait(&request, &status);
    check_untouched(&status);
    MPI_Recv_init(data, 4, MPI_INT, MPI_PROC_NULL, 5, comm, &request);
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    check_untouched(&status);
    MPI_Request_free(&request);
    MPI_Sendrecv(data, 4, MPI_INT, MPI_PROC_NULL, 1, data + 2, 1, MPI_INT, MPI_PROC_NULL, 1, comm,
                 &status);
    check_untouched(&status);
    MPI_Sendrecv_replace(data, 4, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, comm, &status);
    check_untouched(&status);
}

static void probes(MPI_Comm comm)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    MPI_Status status;
    int found = 0;

    MPI_Probe(MPI_PROC_NULL, 5, comm, &status);
    check_untouched(&status);
    MPI_Iprobe(MPI_PROC_NULL, 5, comm, &found, &status);
    CHECK_INT(found, 1);
    check_untouched(&status);
    MPI_Mprobe(MPI_PROC_NULL, 5, comm, &message, &status);
    check_untouched(&status);
    CHECK(message == MPI_MESSAGE_NO_PROC, "MPI_MESSAGE_NO_PROC from Mprobe of MPI_PROC_NULL");
    MPI_Mrecv(data, 4, MPI_INT, &message, &status);
    check_untouched(&status);
    CHECK(message == MPI_MESSAGE_NULL, "MPI_MESSAGE_NULL after Mrecv of MPI_MESSAGE_NO_PROC");
    found = 0;
    MPI_Improbe(MPI_PROC_NULL, 5, comm, &found, &message, &status);
    CHECK_INT(found, 1);
    CHECK(message == MPI_MESSAGE_NO_PROC, "MPI_MESSAGE_NO_PROC from Improbe of MPI_PROC_NULL");
    MPI_Imrecv(data, 4, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    check_untouched(&status);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    sends(MPI_COMM_WORLD);
    sends(MPI_COMM_SELF);
    receives(MPI_COMM_WORLD);
    receives(MPI_COMM_SELF);
    probes(MPI_COMM_WORLD);
    return end();
}
