/* Rank 2 of three stops. Rank 0 finds it lost and finalizes, which is an error that is returned,
 * and makes the file of the argument. Until then rank 1 works on; then it prints a line. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <signal.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct timespec pause = {0, 10000000};
    int x = 1;

    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2)
        raise(SIGSTOP);
    if (rank == 0)
        CHECK_INT(class_of(MPI_Ssend(&x, 1, MPI_INT, 2, 1, MPI_COMM_WORLD)), MPI_ERR_PROC_ABORTED);
    if (rank == 1) {
        while (access(argv[1], F_OK) != 0)
            nanosleep(&pause, NULL);
        printf("the work is done\n");
        fflush(stdout);
    }
    CHECK_INT(class_of(MPI_Finalize()), MPI_ERR_PROC_ABORTED);
    if (rank == 0)
        CHECK(fopen(argv[1], "w") != NULL, "the file %s", argv[1]);
    return 0;
}
