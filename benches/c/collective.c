/* What a barrier and an allreduce of 8 bytes take, in microseconds: mpirun -n N collective
 *
 * Prints "barrier: MICROSECONDS" and "allreduce: MICROSECONDS".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "middle.h"

enum { BATCHES = 7, MOST = 1 << 17 };
/* Long enough for a clock, short enough where a barrier takes a tenth of a second. */
#define BATCH_S 0.03

static int rank, size;

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    double one = 1, sum;

    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size) {
        fprintf(stderr, "collective: a sum of %d ones is %f\n", size, sum);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double batch(void (*operation)(void), int count)
{
    double start;
    int i;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (i = 0; i < count; i++)
        operation();
    return MPI_Wtime() - start;
}

/* How many make a batch; rank 0's clock counts. Warms up by the way. */
static int count_of_batch(void (*operation)(void))
{
    int count = 1, is_enough;

    for (;; count *= 2) {
        is_enough = batch(operation, count) > BATCH_S / 2 || count >= MOST;
        MPI_Bcast(&is_enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (is_enough)
            return count;
    }
}

static void measure(const char *name, void (*operation)(void))
{
    int count = count_of_batch(operation), i;
    double seconds[BATCHES];

    for (i = 0; i < BATCHES; i++)
        seconds[i] = batch(operation, count);
    if (rank == 0) {
        printf("%s: %.4f\n", name, median(seconds, BATCHES) / count * 1e6);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    measure("barrier", barrier);
    measure("allreduce", allreduce);
    MPI_Finalize();
    return 0;
}
