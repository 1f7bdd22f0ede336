/* A job that says where its ranks are, whoever started it.
 *
 *     who                 each rank prints "rank R of N on HOST", after a sum and a barrier
 *     who appnum          the same, and rank 0 prints MPI_APPNUM and MPI_UNIVERSE_SIZE if set
 *     who stdin           the same, and rank 0 prints the bytes of its standard input
 *     who abort CODE      rank 1 calls MPI_Abort(CODE), the others are blocked in MPI_Recv
 */
#include "../check.h"

static void print_attribute(const char *name, int key)
{
    int *value, is_set;

    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &is_set);
    if (is_set)
        printf("%s %d\n", name, *value);
}

static void print_input(void)
{
    long bytes = 0;

    while (getchar() != EOF)
        bytes++;
    printf("standard input %ld\n", bytes);
}

static void stay(void)
{
    int never;

    MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    char host[MPI_MAX_PROCESSOR_NAME];
    int length, sum;

    begin(&argc, &argv);
    MPI_Get_processor_name(host, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, size * (size - 1) / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d on %s\n", rank, size, host);
    fflush(stdout);
    if (strcmp(what, "appnum") == 0 && rank == 0) {
        print_attribute("appnum", MPI_APPNUM);
        print_attribute("universe", MPI_UNIVERSE_SIZE);
    }
    if (strcmp(what, "stdin") == 0 && rank == 0)
        print_input();
    if (strcmp(what, "abort") == 0) {
        if (rank == 1)
            MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
        stay();
    }
    return end();
}
