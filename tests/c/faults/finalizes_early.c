/* Rank 2 of three stops. Rank 0 finds it lost and finalizes, which is an error that is returned,
 * while rank 1 works on for as many seconds as the argument says and then prints a line. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int x = 1;

    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2)
        raise(SIGSTOP);
    if (rank == 0)
        CHECK_INT(class_of(MPI_Ssend(&x, 1, MPI_INT, 2, 1, MPI_COMM_WORLD)), MPI_ERR_PROC_ABORTED);
    if (rank == 1) {
        sleep((unsigned)atoi(argv[1]));
        printf("the work is done\n");
        fflush(stdout);
    }
    CHECK_INT(class_of(MPI_Finalize()), MPI_ERR_PROC_ABORTED);
    return 0;
}
