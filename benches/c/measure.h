/* What the measuring programs share: two ranks, a buffer, the median of several batches.
 *
 * Each program prints one line per size, "bytes figure" or "bytes figure figure...", for people and
 * for the tables that `make bench` and `make compare` put together.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "middle.h"

enum { BATCHES = 7, TAG = 1, MOST_TIMES = 250 };
#define ENOUGH_S 0.5
/* A batch should last so long; over shared memory some hundred messages are gone in less. */
#define BATCH_S 0.004

static int rank;

static inline void begin(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 2) {
        fprintf(stderr, "needs 2 ranks and sizes in bytes: mpirun -n 2 %s 8 1024\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Whether rank 0, whose clock counts, has seen enough; the other has to know it too. */
static inline int is_enough(double since)
{
    int enough = MPI_Wtime() - since > ENOUGH_S;

    MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return enough;
}

/* How many rounds, each of which takes so long, make a batch: BATCH_S of them, but no fewer than
 * `least`; fewer only where others use the cores so much that these would take ENOUGH_S. */
static inline int rounds_for(double seconds, int least)
{
    double wanted = BATCH_S / seconds, most = ENOUGH_S / seconds;
    int count;

    wanted = wanted > (double)least * MOST_TIMES ? (double)least * MOST_TIMES : wanted;
    wanted = wanted < least ? least : wanted;
    count = wanted < most ? (int)wanted : most < 1 ? 1 : (int)most;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return count;
}

/* Memory of `bytes` bytes, all written: memory that was never written is one page of zeros, many
 * times over, and copies from it are too fast to be true. */
static inline char *allocate(int bytes)
{
    size_t room = bytes > 0 ? (size_t)bytes : 1;
    char *buffer = malloc(room);

    if (buffer == NULL) {
        fprintf(stderr, "not enough memory for %d bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(buffer, 1, room);
    return buffer;
}

/* Calls `batch` to warm up and BATCHES times to measure; returns the median time of a batch of
 * `rounds` rounds, in seconds. On a machine so busy that this takes long it makes fewer batches,
 * and smaller ones. */
static inline double measure(void (*batch)(char *buffer, int bytes, int rounds), int bytes,
                             int rounds)
{
    int count = 0, of_batch, warm_up = rounds / 4 + 1;
    double start, since, seconds[BATCHES];
    char *buffer = allocate(bytes);

    batch(buffer, bytes, warm_up);
    start = MPI_Wtime();
    batch(buffer, bytes, warm_up);
    since = MPI_Wtime();
    of_batch = rounds_for((since - start + 1e-9) / warm_up, rounds);
    since = MPI_Wtime();
    do {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        batch(buffer, bytes, of_batch);
        seconds[count++] = MPI_Wtime() - start;
    } while (!is_enough(since) && count < BATCHES);
    free(buffer);
    return median(seconds, count) / of_batch * rounds;
}

static inline void report_all(int bytes, const double *figures, int count)
{
    int i;

    if (rank != 0)
        return;
    printf("%d", bytes);
    for (i = 0; i < count; i++)
        printf(" %.4f", figures[i]);
    printf("\n");
    fflush(stdout);
}

static inline void report(int bytes, double figure)
{
    report_all(bytes, &figure, 1);
}

#endif
