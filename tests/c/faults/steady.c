/* Exchanges and sums without pause until a file appears: `steady FILE`, or `steady FILE short` with
 * short messages only. Prints "ready" when it has begun and "steady: N rounds, all right" when it
 * ends; any wrong byte ends it at once. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <unistd.h>

enum { BYTES = 40000 };

static char out[BYTES], in[BYTES];
static int limit = BYTES;

static void exchange(int round)
{
    int bytes = round * 37 % limit, right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Status status;

    fill(out, bytes, rank + round);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, round % 100, in, BYTES, MPI_BYTE, MPI_ANY_SOURCE,
                 MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, left, round % 100, bytes);
    CHECK_FILLED(in, bytes, left + round);
}

int main(int argc, char **argv)
{
    int round, sum, go_on = 1;

    begin(&argc, &argv);
    if (argc > 2)
        limit = 64;
    for (round = 0; go_on; round++) {
        exchange(round);
        MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK_INT(sum, round * size);
        if (rank == 0)
            go_on = access(argv[1], F_OK) != 0;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (round == 0) {
            printf("ready\n");
            fflush(stdout);
        }
    }
    if (rank == 0)
        printf("steady: %d rounds, all right\n", round);
    return end();
}
