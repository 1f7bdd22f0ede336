/* Rank 0 calls the collective that the first argument names, all others that of the second; blocks
 * have the bytes of the third. Errors are returned. Each rank calls a few barriers after it, and
 * prints "told" if any of its calls failed. Then all go on, with each other by name and with
 * collectives of a communicator that had no error, and print "goes on". */
#include "../check.h"

enum { BARRIERS = 4 };

static char *many, *more;
static int bytes;

static int start(const char *what, MPI_Request *request)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    if (strcmp(what, "ibcast") == 0)
        return MPI_Ibcast(many, bytes, MPI_BYTE, 0, comm, request);
    if (strcmp(what, "ibcast-half") == 0)
        return MPI_Ibcast(many, bytes / 2, MPI_BYTE, 0, comm, request);
    if (strcmp(what, "iallgather") == 0)
        return MPI_Iallgather(many, bytes, MPI_BYTE, more, bytes, MPI_BYTE, comm, request);
    if (strcmp(what, "ialltoall") == 0)
        return MPI_Ialltoall(many, bytes, MPI_BYTE, more, bytes, MPI_BYTE, comm, request);
    if (strcmp(what, "iscan-half") == 0)
        return MPI_Iscan(many, more, bytes / 2, MPI_BYTE, MPI_BXOR, comm, request);
    CHECK(strcmp(what, "iscan") == 0, "the name of a collective, not %s", what);
    return MPI_Iscan(many, more, bytes, MPI_BYTE, MPI_BXOR, comm, request);
}

static int call(const char *what)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    if (what[0] == 'i') {
        MPI_Request request;
        int error = start(what, &request);

        return error ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(what, "barrier") == 0)
        return MPI_Barrier(comm);
    if (strcmp(what, "bcast") == 0)
        return MPI_Bcast(many, bytes, MPI_BYTE, 0, comm);
    if (strcmp(what, "bcast-1") == 0)
        return MPI_Bcast(many, bytes, MPI_BYTE, 1, comm);
    if (strcmp(what, "bcast-half") == 0)
        return MPI_Bcast(many, bytes / 2, MPI_BYTE, 0, comm);
    if (strcmp(what, "allreduce") == 0)
        return MPI_Allreduce(many, more, bytes, MPI_BYTE, MPI_BXOR, comm);
    if (strcmp(what, "allreduce-half") == 0)
        return MPI_Allreduce(many, more, bytes / 2, MPI_BYTE, MPI_BXOR, comm);
    if (strcmp(what, "allgather") == 0)
        return MPI_Allgather(many, bytes, MPI_BYTE, more, bytes, MPI_BYTE, comm);
    if (strcmp(what, "alltoall") == 0)
        return MPI_Alltoall(many, bytes, MPI_BYTE, more, bytes, MPI_BYTE, comm);
    CHECK(strcmp(what, "scan") == 0, "the name of a collective, not %s", what);
    return MPI_Scan(many, more, bytes, MPI_BYTE, MPI_BXOR, comm);
}

int main(int argc, char **argv)
{
    MPI_Comm spare;
    int error, sum, left, right, got, i;

    begin(&argc, &argv);
    bytes = atoi(argv[3]);
    many = calloc(size, bytes + 1);
    more = calloc(size, bytes + 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &spare);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = call(argv[rank == 0 ? 1 : 2]);
    for (i = 0; i < BARRIERS; i++) {
        int late = MPI_Barrier(MPI_COMM_WORLD);

        error = error ? error : late;
    }
    if (error)
        printf("told\n");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, spare);
    CHECK_INT(sum, size * (size - 1) / 2);
    MPI_Allgather(many, bytes, MPI_BYTE, more, bytes, MPI_BYTE, spare);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    CHECK_INT(MPI_Sendrecv(&rank, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE), MPI_SUCCESS);
    CHECK_INT(got, left);
    printf("goes on\n");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
