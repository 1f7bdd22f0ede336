/* ranks: 1, 2; transports: one; MPI 5.0 5.1.2, 5.1.7, 5.1.9 */
/* Type_contiguous: size, extent, nesting; the same bytes whichever type names them. */
#include "../check.h"

enum { TAG = 1, COUNT = 600 };

static void check_type(MPI_Datatype type, int bytes)
{
    MPI_Aint lower = -1, extent = -1;
    int got = -1;

    MPI_Type_size(type, &got);
    CHECK_INT(got, bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK_INT(lower, 0);
    CHECK_INT(extent, bytes);
}

static void transfer(MPI_Datatype sent, int sent_count, MPI_Datatype received, int room)
{
    static int out[COUNT], in[COUNT];
    MPI_Request request;
    MPI_Status status;

    fill(out, sizeof out, rank);
    memset(in, 0, sizeof in);
    MPI_Isend(out, sent_count, sent, (rank + 1) % size, TAG, MPI_COMM_WORLD, &request);
    MPI_Recv(in, room, received, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_STATUS(status, (rank + size - 1) % size, TAG, (int)sizeof in);
    CHECK_FILLED(in, sizeof in, (rank + size - 1) % size);
}

int main(int argc, char **argv)
{
    MPI_Datatype six, sixty, empty;

    begin(&argc, &argv);
    MPI_Type_contiguous(6, MPI_INT, &six);
    MPI_Type_contiguous(10, six, &sixty); /* of a type that is not committed: legal */
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&sixty);
    MPI_Type_commit(&sixty); /* committing twice does nothing */
    MPI_Type_commit(&empty);
    check_type(six, 6 * (int)sizeof(int));
    check_type(sixty, 60 * (int)sizeof(int));
    check_type(empty, 0);
    transfer(sixty, COUNT / 60, MPI_INT, COUNT);
    transfer(MPI_INT, COUNT, sixty, COUNT / 60);
    MPI_Type_commit(&six);
    transfer(six, COUNT / 6, sixty, COUNT / 60);
    MPI_Type_free(&six); /* sixty lives on without it */
    CHECK(six == MPI_DATATYPE_NULL, "the handle to be MPI_DATATYPE_NULL after Type_free");
    transfer(sixty, COUNT / 60, sixty, COUNT / 60);
    MPI_Type_free(&sixty);
    MPI_Type_free(&empty);
    return end();
}
