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

/* Calls `batch` once to warm up and BATCHES times to measure; seconds of the median. */
static inline double measure(void (*batch)(char *buffer, int bytes, int rounds), int bytes,
                             int rounds)
{
    double start, seconds[BATCHES];
    char *buffer = calloc(1, bytes > 0 ? bytes : 1);
    int i;

    batch(buffer, bytes, rounds / 4 + 1);
    for (i = 0; i < BATCHES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        batch(buffer, bytes, rounds);
        seconds[i] = MPI_Wtime() - start;
    }
    free(buffer);
    return median(seconds, BATCHES);
}

static inline void report(int bytes, double figure)
{
    if (rank == 0) {
        printf("%d %.4f\n", bytes, figure);
        fflush(stdout);
    }
}

#endif
