/* What collective operations take, in microseconds:
 * mpirun -n N collective [BYTES [touched] OPERATION...]
 *
 * BYTES is what a rank gives, in alltoall, allgather and reduce_scatter per pair of ranks; without
 * words a barrier and an allreduce of 8 bytes are measured. After the word "touched" each rank
 * writes all that it gives before each operation, and reads all that it has got after it. Prints
 * "OPERATION: MICROSECONDS" for each.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "middle.h"

enum { BATCHES = 5, FEW_BATCHES = 3, MOST = 1 << 17 };
/* Long enough for a clock, short enough where a barrier takes a tenth of a second. */
#define BATCH_S 0.01

static int rank, size, bytes, count;
static double *in, *out;
static int is_touched;
static volatile double seen;

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(void)
{
    MPI_Bcast(in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void reduce(void)
{
    MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(void)
{
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (out[0] != size) {
        fprintf(stderr, "collective: a sum of %d ones is %f\n", size, out[0]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void allgather(void)
{
    MPI_Allgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoall(void)
{
    MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void scan(void)
{
    MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter(void)
{
    MPI_Reduce_scatter_block(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(void)
{
    MPI_Gather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void scatter(void)
{
    MPI_Scatter(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void split(void)
{
    MPI_Comm part;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Comm_free(&part);
}

struct operation {
    const char *name;
    void (*run)(void);
    /* It has an element for each rank in one of its buffers. */
    int is_for_each;
};

static const struct operation operations[] = {
    { "barrier", barrier, 0 },     { "bcast", bcast, 0 },
    { "reduce", reduce, 0 },       { "allreduce", allreduce, 0 },
    { "allgather", allgather, 1 }, { "alltoall", alltoall, 1 },
    { "scan", scan, 0 },           { "gather", gather, 1 },
    { "scatter", scatter, 1 },     { "reduce_scatter", reduce_scatter, 1 },
    { "split", split, 0 },
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static void write_all(size_t number)
{
    size_t i;

    for (i = 0; i < number; i++)
        in[i] = 1;
}

/* A broadcast brings its data to where others have what they give. */
static void read_all(size_t number)
{
    double sum = 0;
    size_t i;

    for (i = 0; i < number; i++)
        sum += in[i] + out[i];
    seen = sum;
}

static double batch(const struct operation *operation, int times)
{
    size_t number = (size_t)count * (operation->is_for_each ? size : 1);
    double start;
    int i;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (i = 0; i < times; i++) {
        if (is_touched)
            write_all(number);
        operation->run();
        if (is_touched)
            read_all(number);
    }
    /* A root may be far ahead of the others: the work is done when all have done it. */
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

/* How many make a batch; rank 0's clock counts. Warms up by the way. */
static int count_of_batch(const struct operation *operation, double *seconds)
{
    int times = 1, is_enough;

    for (;; times *= 2) {
        *seconds = batch(operation, times);
        is_enough = *seconds > BATCH_S / 2 || times >= MOST;
        MPI_Bcast(&is_enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (is_enough)
            return times;
    }
}

static void measure(const struct operation *operation)
{
    double first, seconds[BATCHES];
    int times = count_of_batch(operation, &first), batches, i;

    batches = first > 4 * BATCH_S ? FEW_BATCHES : BATCHES;
    MPI_Bcast(&batches, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (i = 0; i < batches; i++)
        seconds[i] = batch(operation, times);
    if (rank == 0) {
        printf("%s: %.4f\n", operation->name, median(seconds, batches) / times * 1e6);
        fflush(stdout);
    }
}

static double *ones(size_t number)
{
    double *values = malloc(number * sizeof *values);
    size_t i;

    if (!values) {
        fprintf(stderr, "collective: no memory for %zu numbers\n", number);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (i = 0; i < number; i++)
        values[i] = 1;
    return values;
}

static void measure_named(const char *name)
{
    int i;

    for (i = 0; i < OPERATIONS; i++) {
        if (strcmp(operations[i].name, name) == 0) {
            measure(&operations[i]);
            return;
        }
    }
    fprintf(stderr, "collective: there is no operation %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv)
{
    int i;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bytes = argc > 1 ? atoi(argv[1]) : 8;
    count = bytes / (int)sizeof *in;
    if (count < 1) {
        fprintf(stderr, "collective: %d bytes are no number of doubles\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    in = ones((size_t)count * size);
    out = ones((size_t)count * size);
    if (argc < 3) {
        measure_named("barrier");
        measure_named("allreduce");
    }
    for (i = 2; i < argc; i++) {
        if (strcmp(argv[i], "touched") == 0)
            is_touched = 1;
        else
            measure_named(argv[i]);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
