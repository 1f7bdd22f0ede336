/* ranks: 2; exit: 3; MPI 5.0 9.5 */
/* Rank 0 ends the job, the way that the first argument names, with words in stdio's buffer; what it
 * does when it exits, the second argument names. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static int other;

/* Exits only when the other rank is gone: ended by the launcher, which keeps no dead children. */
static void outlive(void)
{
    struct timespec moment = {0, 1000000};

    while (kill(other, 0) == 0 || errno != ESRCH)
        nanosleep(&moment, NULL);
    printf("rank 0 outlived rank 1\n");
}

static void hang(void)
{
    for (;;)
        pause();
}

/* The default handler ends the job with an error of the program's own. */
static void raise_code(void)
{
    int code;

    MPI_Add_error_code(MPI_ERR_FILE, &code);
    MPI_Add_error_string(code, "the tank is empty\nfill it");
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
}

int main(int argc, char **argv)
{
    int mine = (int)getpid();

    begin(&argc, &argv);
    CHECK_INT(argc, 3);
    if (rank == 1) {
        printf("rank 1 wrote this\n");
        fflush(stdout);
        MPI_Send(&mine, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        MPI_Recv(&other, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (strcmp(argv[2], "outlive") == 0)
            atexit(outlive);
        if (strcmp(argv[2], "hang") == 0)
            atexit(hang);
        printf("last words\n");
        if (strcmp(argv[1], "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        if (strcmp(argv[1], "raise") == 0)
            raise_code();
        MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return end();
}
