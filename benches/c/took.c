/* Runs a program and prints "took: SECONDS", from before its start to after its end; ends as the
 * program did: took PROGRAM WORD...
 */
#include "probe.h"

enum { CANNOT_RUN = 127 };

int main(int argc, char **argv)
{
    double start = now();
    pid_t child;
    int status;

    if (argc < 2) {
        fprintf(stderr, "took: took PROGRAM WORD...\n");
        return 2;
    }
    child = fork();
    if (child < 0)
        fail("took: fork");
    if (child == 0) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(CANNOT_RUN);
    }
    if (waitpid(child, &status, 0) < 0)
        fail("took: waitpid");
    printf("took: %.6f\n", now() - start);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
