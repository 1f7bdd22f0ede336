/* ranks: 1, 2; transports: one; MPI 5.0 11.2.1 */
/* A process that a rank forks has no part in the job: it is told so, and the job goes on. */
#include "../check.h"
#include <sys/wait.h>
#include <unistd.h>

static void call_in_child(int out)
{
    int x = 0;

    dup2(out, 2);
    MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    _exit(0);
}

int main(int argc, char **argv)
{
    static char said[400];
    int ends[2], status = 0, sum = 0;
    pid_t child;

    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(pipe(ends), 0);
    child = fork();
    if (child == 0)
        call_in_child(ends[1]);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status), "the child to exit, not %d", status);
    CHECK_INT(WEXITSTATUS(status), 1);
    CHECK(read(ends[0], said, sizeof said - 1) > 0, "the child to say why");
    CHECK(strstr(said, "MPI_Send") && strstr(said, "forked child"), "the reason, not %s", said);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, size * (size - 1) / 2);
    return end();
}
