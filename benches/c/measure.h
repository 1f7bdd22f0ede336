/* What the measuring programs share: two ranks, a buffer, the median of several batches.
 *
 * Each program prints one line per size, "bytes figure", for people and for the tables that
 * `make bench` and `make compare` put together.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "middle.h"

enum { BATCHES = 7, TAG = 1 };
#define ENOUGH_S 1.0

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

/* Calls `batch` once to warm up and BATCHES times to measure; seconds of the median. On a machine
 * so busy that this takes long, fewer batches must do. */
static inline double measure(void (*batch)(char *buffer, int bytes, int rounds), int bytes,
                             int rounds)
{
    double start, since, seconds[BATCHES];
    char *buffer = calloc(1, bytes > 0 ? bytes : 1);
    int count = 0;

    batch(buffer, bytes, rounds / 4 + 1);
    since = MPI_Wtime();
    do {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        batch(buffer, bytes, rounds);
        seconds[count++] = MPI_Wtime() - start;
    } while (!is_enough(since) && count < BATCHES);
    free(buffer);
    return median(seconds, count);
}

static inline void report(int bytes, double figure)
{
    if (rank == 0) {
        printf("%d %.4f\n", bytes, figure);
        fflush(stdout);
    }
}

#endif
