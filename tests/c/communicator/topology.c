/* ranks: 1, 2; transports: all; MPI 5.0 8.5.5 */
/* No communicator has a topology yet, and each says so. */
#include "../check.h"

int main(int argc, char **argv)
{
    int kind = 0;
    MPI_Comm copy;

    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_INT(MPI_Topo_test(MPI_COMM_WORLD, &kind), MPI_SUCCESS);
    CHECK_INT(kind, MPI_UNDEFINED);
    CHECK(kind != MPI_CART && kind != MPI_GRAPH && kind != MPI_DIST_GRAPH, "none of the kinds");
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    kind = 0;
    CHECK_INT(PMPI_Topo_test(copy, &kind), MPI_SUCCESS);
    CHECK_INT(kind, MPI_UNDEFINED);
    MPI_Comm_free(&copy);
    CHECK_INT(class_of(MPI_Topo_test(MPI_COMM_NULL, &kind)), MPI_ERR_COMM);
    CHECK_INT(class_of(MPI_Topo_test(MPI_COMM_WORLD, NULL)), MPI_ERR_ARG);
    return end();
}
