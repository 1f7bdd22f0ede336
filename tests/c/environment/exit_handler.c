/* ranks: 1; transports: one; launch: direct; MPI 5.0 9.3 */
/* After a fatal error the process ends with the exit status of that error, whatever its exit
 * handlers call: MPI does nothing more, and MPI_Finalized is true. */
#include "../check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { STATUS = 7 };

static void finalize(void)
{
    MPI_Finalize();
}

static void finalize_if_needed(void)
{
    int over = 0;

    MPI_Finalized(&over);
    if (!over)
        _exit(50);
}

static void abort_again(void)
{
    MPI_Abort(MPI_COMM_WORLD, 51);
}

static void ask_for_rank(void)
{
    int mine;

    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
}

static void wrong_call(void)
{
    MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

static void wait_for_ever(void)
{
    int never;

    MPI_Recv(&never, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A program with this exit handler fails, in a process of its own. */
static void fail_with(const char *name, void (*handler)(void), int aborts)
{
    int status, wanted = aborts ? STATUS : 1;
    pid_t child = fork();

    CHECK(child >= 0, "a process");
    if (child == 0) {
        MPI_Init(NULL, NULL);
        atexit(handler);
        if (aborts)
            MPI_Abort(MPI_COMM_WORLD, STATUS);
        wrong_call();
        _exit(52);
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == wanted,
          "exit status %d of a program whose exit handler is %s, not the wait status 0x%x", wanted,
          name, (unsigned)status);
}

int main(void)
{
    int aborts;

    for (aborts = 0; aborts < 2; aborts++) {
        fail_with("finalize", finalize, aborts);
        fail_with("finalize_if_needed", finalize_if_needed, aborts);
        fail_with("abort_again", abort_again, aborts);
        fail_with("ask_for_rank", ask_for_rank, aborts);
        fail_with("wrong_call", wrong_call, aborts);
        fail_with("wait_for_ever", wait_for_ever, aborts);
    }
    return 0;
}
