/* ranks: 1; transports: one; MPI 5.0 9.3 */
/* An error handler that causes the error again which it is told of gets the code and is not called
 * for it; another error inside it is its business like any other. One that leaves by longjmp is
 * called for the next error. */
#include "../check.h"
#include <setjmp.h>

static int of_rank, of_tag, leaves;
static jmp_buf out;

static int wrong_rank(void)
{
    int value = 0;

    return class_of(MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD));
}

static int wrong_tag(void)
{
    int value = 0;

    return class_of(MPI_Send(&value, 1, MPI_INT, 0, -99, MPI_COMM_WORLD));
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_WORLD, "the communicator of the call");
    if (class_of(*code) == MPI_ERR_TAG) {
        of_tag++;
        /* The first error again, behind a second one. */
        CHECK_INT(wrong_rank(), MPI_ERR_RANK);
        return;
    }
    of_rank++;
    if (leaves)
        longjmp(out, 1);
    CHECK_INT(wrong_rank(), MPI_ERR_RANK);
    CHECK_INT(wrong_tag(), MPI_ERR_TAG);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;

    begin(&argc, &argv);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    CHECK_INT(wrong_rank(), MPI_ERR_RANK);
    CHECK_INT(of_rank, 1);
    CHECK_INT(of_tag, 1);
    leaves = 1;
    if (setjmp(out) == 0)
        wrong_rank();
    if (setjmp(out) == 0)
        wrong_rank();
    CHECK_INT(of_rank, 3);
    leaves = 0;
    CHECK_INT(wrong_rank(), MPI_ERR_RANK);
    CHECK_INT(of_rank, 4);
    MPI_Errhandler_free(&handler);
    return end();
}
