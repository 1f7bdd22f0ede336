/* ranks: 1, 3; transports: one; MPI 5.0 11.10.2 */
/* A program of MPI that a rank starts is a job of one process: as a child, and in its own place. */
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

static void as_child(int argc, char **argv)
{
    const int one = 1;
    int sum = 0;

    begin(&argc, &argv);
    CHECK_INT(rank, 0);
    CHECK_INT(size, 1);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, 1);
    exit(end());
}

int main(int argc, char **argv)
{
    char command[4096];
    int status;

    if (argc > 1)
        as_child(argc, argv);
    begin(&argc, &argv);
    snprintf(command, sizeof command, "'%s' child", argv[0]);
    status = system(command);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child to end well");
    MPI_Barrier(MPI_COMM_WORLD);
    if (end() != 0)
        return 1;
    execl(argv[0], argv[0], "child", (char *)NULL);
    return 1;
}
