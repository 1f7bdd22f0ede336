/* Rank 3 of four stops, and the others call one collective operation after the other on the
 * communicator with it, of the bytes that the first argument says. Each of these calls fails on
 * each survivor, within the lost time. Then they do the same on a communicator without it, which
 * works. At last they finalize; each prints "survivor: all right". The second argument says what is
 * called first: with the loss still unknown, that one is cut in its middle. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <signal.h>
#include <stdlib.h>

enum { OPERATIONS = 9 };

static int bytes;
static char *out, *in;

/* Both buffers have room for four blocks. */
static int call(int operation, MPI_Comm comm)
{
    switch (operation) {
    case 0:
        return MPI_Allreduce(out, in, bytes, MPI_BYTE, MPI_BXOR, comm);
    case 1:
        return MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm);
    case 2:
        return MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm);
    case 3:
        return MPI_Barrier(comm);
    case 4:
        return MPI_Scan(out, in, bytes, MPI_BYTE, MPI_BXOR, comm);
    case 5:
        return MPI_Reduce_scatter_block(out, in, bytes, MPI_BYTE, MPI_BXOR, comm);
    case 6: {
        MPI_Request request;
        int error = MPI_Ibcast(in, bytes, MPI_BYTE, 0, comm, &request);
        int late = error ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
        /* The root of a broadcast may be done before anybody is missed. */
        return late ? late : MPI_Barrier(comm);
    }
    case 7: {
        int error = MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, comm);
        return error ? error : MPI_Barrier(comm);
    }
    default: {
        int error = MPI_Reduce(out, in, bytes, MPI_BYTE, MPI_BXOR, 1, comm);
        return error ? error : MPI_Barrier(comm);
    }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm living;
    double begun, most = atof(argv[3]);
    int first, i;

    begin(&argc, &argv);
    CHECK_INT(size, 4);
    bytes = atoi(argv[1]);
    first = atoi(argv[2]);
    out = calloc(4, bytes + 1);
    in = calloc(4, bytes + 1);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 3, 0, &living);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(living, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 3)
        raise(SIGSTOP);
    begun = MPI_Wtime();
    for (i = 0; i < OPERATIONS; i++)
        CHECK_INT(class_of(call((first + i) % OPERATIONS, MPI_COMM_WORLD)), MPI_ERR_PROC_ABORTED);
    CHECK(MPI_Wtime() - begun < most, "the errors within %g s", most);
    for (i = 0; i < OPERATIONS; i++)
        CHECK_INT(call((first + i) % OPERATIONS, living), MPI_SUCCESS);
    for (i = 0; i < bytes; i++)
        out[i] = (char)(i * (rank + 1));
    CHECK_INT(MPI_Allreduce(out, in, bytes, MPI_BYTE, MPI_BXOR, living), MPI_SUCCESS);
    for (i = 0; i < bytes; i++)
        CHECK_INT(in[i], (char)((char)i ^ (char)(i * 2) ^ (char)(i * 3)));
    CHECK_INT(class_of(MPI_Finalize()), MPI_ERR_PROC_ABORTED);
    printf("survivor: all right\n");
    return 0;
}
