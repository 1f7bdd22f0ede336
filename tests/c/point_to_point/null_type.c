/* ranks: 1, 2; transports: all; MPI 5.0 3.2 */
/* Messages without elements whose datatype is MPI_DATATYPE_NULL. Elements need a datatype. */
#include "../check.h"

#define OK(call) CHECK_INT(call, MPI_SUCCESS)
#define NOTHING NULL, 0, MPI_DATATYPE_NULL

static void check_empty(MPI_Status status, int source)
{
    int count = -1;

    CHECK_INT(status.MPI_SOURCE, source);
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_INT(count, 0);
}

static void blocking(int to, int from, MPI_Comm comm)
{
    MPI_Status status;
    int value = 7;

    OK(MPI_Sendrecv(NOTHING, to, 1, NOTHING, from, 1, comm, &status));
    check_empty(status, from);
    OK(MPI_Sendrecv(NOTHING, to, 1, &value, 1, MPI_INT, from, 1, comm, &status));
    check_empty(status, from);
    OK(MPI_Recv(NOTHING, MPI_PROC_NULL, 1, comm, &status));
    check_empty(status, MPI_PROC_NULL);
    OK(MPI_Send(NOTHING, MPI_PROC_NULL, 1, comm));
    CHECK_INT(class_of(MPI_Sendrecv(&value, 1, MPI_INT, to, 1, NOTHING, from, 1, comm, &status)),
              MPI_ERR_TRUNCATE);
}

static void nonblocking(int to, int from, MPI_Comm comm)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Message message;

    OK(MPI_Irecv(NOTHING, from, 1, comm, &requests[0]));
    OK(MPI_Issend(NOTHING, to, 1, comm, &requests[1]));
    OK(MPI_Recv_init(NOTHING, from, 2, comm, &requests[2]));
    OK(MPI_Send_init(NOTHING, to, 2, comm, &requests[3]));
    OK(MPI_Startall(2, &requests[2]));
    OK(MPI_Waitall(4, requests, statuses));
    check_empty(statuses[0], from);
    check_empty(statuses[2], from);
    OK(MPI_Request_free(&requests[2]));
    OK(MPI_Request_free(&requests[3]));
    OK(MPI_Isend(NOTHING, to, 3, comm, &requests[0]));
    OK(MPI_Mprobe(from, 3, comm, &message, MPI_STATUS_IGNORE));
    OK(MPI_Mrecv(NOTHING, &message, &statuses[0]));
    check_empty(statuses[0], from);
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Request request;
    int value = 0, to, from;

    begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    blocking(to, from, comm);
    nonblocking(to, from, comm);
    CHECK_INT(class_of(MPI_Send(&value, 1, MPI_DATATYPE_NULL, to, 1, comm)), MPI_ERR_TYPE);
    CHECK_INT(class_of(MPI_Irecv(&value, 1, MPI_DATATYPE_NULL, from, 1, comm, &request)),
              MPI_ERR_TYPE);
    CHECK_INT(class_of(MPI_Send(&value, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, comm)),
              MPI_ERR_TYPE);
    OK(MPI_Comm_free(&comm));
    return end();
}
