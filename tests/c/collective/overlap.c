/* ranks: 1, 2, 3; MPI 5.0 2.3, 6.2 */
/* Buffers for sending and receiving that share a byte are refused on each rank that gives both,
 * before anything is sent; buffers that only lie side by side or interleave are not. */
#include "../check.h"

enum { MOST = 8 };

static int all[4 * MOST], counts[MOST], displs[MOST], bytes[MOST], far[MOST];
static MPI_Datatype types[MOST];
static MPI_Comm comm;

#define REFUSED(call) CHECK_INT(class_of(call), MPI_ERR_BUFFER)
#define TAKEN(call) CHECK_INT(class_of(call), MPI_SUCCESS)

static void on_every_rank(void)
{
    MPI_Request request;

    REFUSED(MPI_Allgather(all + rank, 1, MPI_INT, all, 1, MPI_INT, comm));
    REFUSED(MPI_Allgatherv(all + rank, 1, MPI_INT, all, counts, displs, MPI_INT, comm));
    REFUSED(MPI_Alltoall(all, 1, MPI_INT, all, 1, MPI_INT, comm));
    REFUSED(MPI_Alltoall(all + size - 1, 1, MPI_INT, all, 1, MPI_INT, comm));
    REFUSED(MPI_Alltoallv(all, counts, displs, MPI_INT, all, counts, displs, MPI_INT, comm));
    REFUSED(MPI_Alltoallw(all, counts, bytes, types, all, counts, bytes, types, comm));
    REFUSED(MPI_Allreduce(all, all, 2, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Allreduce(all, all + 1, 2, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Allreduce_init(all, all, 2, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    REFUSED(MPI_Scan(all, all, 2, MPI_INT, MPI_SUM, comm));
    /* Rank 0 gets nothing: its second buffer means nothing (MPI 5.0, 6.11.2). */
    if (rank > 0)
        REFUSED(MPI_Exscan(all, all, 2, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Reduce_scatter(all, all + rank, counts, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Reduce_scatter_block(all, all + rank, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Reduce_local(all, all, 2, MPI_INT, MPI_SUM));
}

/* The others have only one buffer each, and here they do not call. */
static void on_the_root(void)
{
    int last = size - 1;

    if (rank != last)
        return;
    REFUSED(MPI_Gather(all + last, 1, MPI_INT, all, 1, MPI_INT, last, comm));
    REFUSED(MPI_Gatherv(all + last, 1, MPI_INT, all, counts, displs, MPI_INT, last, comm));
    REFUSED(MPI_Scatter(all, 1, MPI_INT, all + last, 1, MPI_INT, last, comm));
    REFUSED(MPI_Scatterv(all, counts, displs, MPI_INT, all + last, 1, MPI_INT, last, comm));
    REFUSED(MPI_Reduce(all, all, 2, MPI_INT, MPI_SUM, last, comm));
}

static void neighbours(void)
{
    MPI_Datatype column;

    TAKEN(MPI_Allgather(all + size, 1, MPI_INT, all, 1, MPI_INT, comm));
    TAKEN(MPI_Allreduce(all, all + 2, 2, MPI_INT, MPI_SUM, comm));
    TAKEN(MPI_Allreduce(all, all, 0, MPI_INT, MPI_SUM, comm));
    TAKEN(MPI_Alltoallv(all, counts, displs, MPI_INT, all, counts, far, MPI_INT, comm));
    TAKEN(MPI_Exscan(all, rank == 0 ? NULL : all + 2, 2, MPI_INT, MPI_SUM, comm));
    TAKEN(MPI_Exscan(all, rank == 0 ? all : all + 2, 2, MPI_INT, MPI_SUM, comm));
    TAKEN(MPI_Gather(all + size, 1, MPI_INT, all, 1, MPI_INT, 0, comm));
    TAKEN(MPI_Scatter(all, 1, MPI_INT, all + size, 1, MPI_INT, 0, comm));
    MPI_Type_vector(size, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    TAKEN(MPI_Reduce_local(all, all + 2, 2, MPI_INT, MPI_SUM));
    TAKEN(MPI_Bcast(all, 1, column, 0, comm));
    TAKEN(MPI_Alltoall(all, 1, MPI_INT, all + size, 1, MPI_INT, comm));
    TAKEN(MPI_Gather(all, 1, column, all + 2 * size, size, MPI_INT, 0, comm));
    MPI_Type_free(&column);
}

int main(int argc, char **argv)
{
    int i;

    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (i = 0; i < size; i++) {
        counts[i] = 1, displs[i] = 2 * i, far[i] = 2 * i + 1;
        bytes[i] = 2 * i * (int)sizeof(int), types[i] = MPI_INT;
    }
    for (i = 0; i < 4 * MOST; i++)
        all[i] = i;
    neighbours();
    for (i = 0; i < size; i++)
        displs[i] = i, bytes[i] = i * (int)sizeof(int);
    on_every_rank();
    on_the_root();
    /* No rank is out of step. */
    TAKEN(MPI_Barrier(comm));
    MPI_Comm_free(&comm);
    return end();
}
