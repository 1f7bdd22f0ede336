/* ranks: 2, 3; transports: all; MPI 5.0 3.7.3, 6.12, 6.13 */
/* The request of a collective operation cannot be freed while the operation goes on. When it is
 * over, as MPI_Request_get_status tells, it can. */
#include "../check.h"

enum { TAG = 5 };

static void check_freed(MPI_Request *request)
{
    int over = 0, released = 0, i;

    /* Rank 0 has not begun: it is not over anywhere. */
    MPI_Request_get_status(*request, &over, MPI_STATUS_IGNORE);
    if (rank > 0) {
        CHECK_INT(over, 0);
        CHECK_INT(class_of(MPI_Request_free(request)), MPI_ERR_REQUEST);
        MPI_Send(&released, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
    while (!over)
        MPI_Request_get_status(*request, &over, MPI_STATUS_IGNORE);
    CHECK_INT(MPI_Request_free(request), MPI_SUCCESS);
    CHECK(*request == MPI_REQUEST_NULL, "the null handle");
    i = 1;
    MPI_Allreduce(MPI_IN_PLACE, &i, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(i, size);
}

static void wait_for_others(void)
{
    int source, nothing;

    for (source = 1; rank == 0 && source < size; source++)
        MPI_Recv(&nothing, 1, MPI_INT, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Request request;
    int value = 1;

    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    wait_for_others();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    check_freed(&request);
    MPI_Allreduce_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
    wait_for_others();
    MPI_Start(&request);
    check_freed(&request);
    CHECK_INT(value, size);
    return end();
}
