/* Ranks 0 and 1 (of more: 0 and the others) call different collectives, or the same with different
 * roots: `mismatch CASE`; `mismatch CALL CALL` says what 0 and the others call. With a third word
 * the communicator is a copy of MPI_COMM_WORLD. */
#include "../check.h"

static char long_one[100000], other[100000], *many, *more;
static MPI_Comm comm = MPI_COMM_WORLD;

/* A collective by its name; blocks are short, or with a `-long` behind it of 3000 bytes. */
static void call(const char *what)
{
    int x = 7, y, block = strstr(what, "-long") ? 3000 : 4;
    MPI_Comm copy;
    MPI_Request request;

    if (strcmp(what, "nothing") == 0)
        return;
    if (strcmp(what, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(what, "reduce") == 0)
        MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, 0, comm);
    else if (strcmp(what, "gather") == 0)
        MPI_Gather(&x, 1, MPI_INT, many, 1, MPI_INT, 0, comm);
    else if (strcmp(what, "scatter") == 0)
        MPI_Scatter(many, 1, MPI_INT, &x, 1, MPI_INT, 0, comm);
    else if (strcmp(what, "bcast") == 0)
        MPI_Bcast(&x, 1, MPI_INT, 0, comm);
    else if (strcmp(what, "allreduce") == 0)
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(what, "scan") == 0)
        MPI_Scan(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(what, "ibarrier") == 0)
        MPI_Ibarrier(MPI_COMM_WORLD, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (strcmp(what, "ibarrier-unwaited") == 0)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    else if (strcmp(what, "ibcast") == 0)
        MPI_Ibcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD, &request),
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (strcmp(what, "ibcast-1") == 0)
        MPI_Ibcast(&x, 1, MPI_INT, 1, MPI_COMM_WORLD, &request),
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (strcmp(what, "allreduce-init") == 0)
        MPI_Allreduce_init(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else if (strcmp(what, "dup") == 0)
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    else if (strncmp(what, "allgather", 9) == 0)
        MPI_Allgather(long_one, block, MPI_CHAR, many, block, MPI_CHAR, MPI_COMM_WORLD);
    else if (strncmp(what, "alltoall", 8) == 0)
        MPI_Alltoall(many, block, MPI_CHAR, more, block, MPI_CHAR, MPI_COMM_WORLD);
    else
        CHECK(0, "the name of a collective, not %s", what);
}

/* Leaves messages, or partitions, that nobody receives. */
static void leave(int is_whole)
{
    int x = 7;
    MPI_Request request;

    if (rank == 0 && is_whole) {
        MPI_Send(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Send(&x, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Psend_init(&x, 4, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready_range(0, 3, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    } else if (is_whole) {
        MPI_Irecv(other, 1, MPI_CHAR, 0, 9, MPI_COMM_WORLD, &request);
    }
}

int main(int argc, char **argv)
{
    int x = 7, y;
    const char *what;

    begin(&argc, &argv);
    what = argv[1];
    many = calloc(size, 3000);
    more = calloc(size, 3000);
    if (argc >= 3) {
        if (argc == 4)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        call(argv[rank == 0 ? 1 : 2]);
    } else if (strcmp(what, "roots") == 0) {
        MPI_Bcast(&x, 1, MPI_INT, rank, MPI_COMM_WORLD);
    } else if (strcmp(what, "reduce-allreduce") == 0) {
        if (rank == 0)
            MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        else
            MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(what, "gather-bcast") == 0) {
        if (rank == 1)
            MPI_Gather(&x, 1, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
        else
            MPI_Bcast(&x, 1, MPI_INT, 1, MPI_COMM_WORLD);
    } else if (strcmp(what, "alltoallw-reduce") == 0) {
        /* Rank 0 waits for nothing, so that the call with many arguments is the one that fails. */
        int counts[2] = {1, 1}, displs[2] = {0, 0};
        MPI_Datatype types[2] = {MPI_INT, MPI_INT};

        if (rank == 1)
            MPI_Alltoallw(long_one, counts, displs, types, other, counts, displs, types,
                          MPI_COMM_WORLD);
        else
            MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
    } else if (strcmp(what, "long-short") == 0) {
        MPI_Bcast(long_one, rank == 0 ? 100000 : 100, MPI_CHAR, 0, MPI_COMM_WORLD);
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(what, "short-long") == 0) {
        MPI_Bcast(long_one, rank == 0 ? 100 : 100000, MPI_CHAR, 0, MPI_COMM_WORLD);
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(what, "roots-allreduce") == 0) {
        MPI_Bcast(&x, 1, MPI_INT, rank, MPI_COMM_WORLD);
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(what, "bcast-barrier-barrier") == 0) {
        if (rank == 0)
            MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
        else
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(what, "reduce-barrier") == 0) {
        if (rank == 0)
            MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (strncmp(what, "leaves", 6) == 0) {
        leave(strcmp(what, "leaves") == 0);
    }
    return end();
}
