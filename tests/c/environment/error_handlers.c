/* ranks: 1, 2; transports: one; MPI 5.0 9.3 */
/* Error handlers belong to communicators, are inherited by dup, and can be read back. */
#include "../check.h"

static int wrong_send(MPI_Comm comm)
{
    return class_of(MPI_Send(NULL, 0, MPI_INT, 77, 0, comm));
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm returning, inherited;

    begin(&argc, &argv);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL, "MPI_ERRORS_ARE_FATAL at the start");
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL, "MPI_ERRHANDLER_NULL after Errhandler_free");

    MPI_Comm_dup(MPI_COMM_WORLD, &returning);
    MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
    MPI_Comm_get_errhandler(returning, &handler);
    CHECK(handler == MPI_ERRORS_RETURN, "the handler that was set");
    CHECK_INT(wrong_send(returning), MPI_ERR_RANK);

    MPI_Comm_dup(returning, &inherited);
    MPI_Comm_get_errhandler(inherited, &handler);
    CHECK(handler == MPI_ERRORS_RETURN, "a duplicate to inherit the handler");
    CHECK_INT(wrong_send(inherited), MPI_ERR_RANK);

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL, "the original to keep its own handler");
    MPI_Comm_free(&inherited);
    MPI_Comm_free(&returning);
    return end();
}
