/* arguments: an operation, how often, and how many doubles. Run by installed/across.rs, which
 * counts what crosses between hosts. */
#include "../check.h"

enum { ROOT = 1 };

int main(int argc, char **argv)
{
    int rounds, count, round, i;
    double *own, *result;

    begin(&argc, &argv);
    CHECK(argc == 4, "three arguments");
    rounds = atoi(argv[2]);
    count = atoi(argv[3]);
    own = calloc((size_t)count, sizeof *own);
    result = calloc((size_t)count, sizeof *result);
    CHECK(own != NULL && result != NULL, "memory");
    for (round = 0; round < rounds; round++) {
        for (i = 0; i < count; i++) {
            own[i] = rank + i;
            result[i] = rank == ROOT ? round + i : -1;
        }
        if (strcmp(argv[1], "barrier") == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        else if (strcmp(argv[1], "bcast") == 0) {
            MPI_Bcast(result, count, MPI_DOUBLE, ROOT, MPI_COMM_WORLD);
            for (i = 0; i < count; i++)
                CHECK(result[i] == round + i, "what the root has");
        } else if (strcmp(argv[1], "reduce") == 0) {
            MPI_Reduce(own, result, count, MPI_DOUBLE, MPI_SUM, ROOT, MPI_COMM_WORLD);
            for (i = 0; rank == ROOT && i < count; i++)
                CHECK(result[i] == size * (size - 1) / 2 + (double)i * size, "the sum");
        } else {
            MPI_Allreduce(own, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            for (i = 0; i < count; i++)
                CHECK(result[i] == size * (size - 1) / 2 + (double)i * size, "the sum");
        }
    }
    free(own);
    free(result);
    return end();
}
