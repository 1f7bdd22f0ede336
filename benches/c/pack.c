/* Nanoseconds per KiB of MPI_Pack and of MPI_Unpack in one process, by the bytes of data:
 * mpirun -n 1 pack CASE BYTES...
 *
 * CASE is one of the names below. It says how the data lies in memory. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "middle.h"

enum { BATCHES = 9, MOST_BLOCKS = 1 << 20 };
/* A batch lasts so long. */
#define BATCH_S 0.004

/* Makes a datatype of about `bytes` bytes of data; returns how many elements of it have so many. */
typedef int Make(int bytes, MPI_Datatype *type);

struct element {
    int number;
    double value;
    char name[3];
};

static char *memory, *packed;
static int count, packed_bytes;
static MPI_Datatype type;

static int vector(int bytes, int blocklength, int stride, MPI_Datatype *made)
{
    int block = blocklength * (int)sizeof(double);

    return MPI_Type_vector(bytes / block, blocklength, stride, MPI_DOUBLE, made), 1;
}

static int vector1(int bytes, MPI_Datatype *made)
{
    return vector(bytes, 1, 2, made);
}

static int vector3(int bytes, MPI_Datatype *made)
{
    return vector(bytes, 3, 5, made);
}

/* Blocks of 512 bytes. */
static int vector64(int bytes, MPI_Datatype *made)
{
    return vector(bytes, 64, 128, made);
}

/* Many small vectors: what a column of blocks is. */
static int columns(int bytes, MPI_Datatype *made)
{
    MPI_Datatype column;

    MPI_Type_vector(8, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_create_hvector(bytes / 64, 1, 264, column, made);
    MPI_Type_free(&column);
    return 1;
}

/* Blocks of 1 to 8 doubles, with gaps of 1 to 5. */
static int indexed(int bytes, MPI_Datatype *made)
{
    int *lengths = malloc(MOST_BLOCKS * sizeof *lengths);
    int *places = malloc(MOST_BLOCKS * sizeof *places);
    int blocks = 0, at = 0, left = bytes / (int)sizeof(double);
    unsigned random = 1;

    if (lengths == NULL || places == NULL)
        exit(1);
    while (left > 0 && blocks < MOST_BLOCKS) {
        int length = 1 + (int)(random >> 16) % 8;

        random = random * 1103515245 + 12345;
        length = length > left ? left : length;
        lengths[blocks] = length;
        places[blocks++] = at;
        at += length + 1 + (int)(random >> 20) % 5;
        left -= length;
    }
    MPI_Type_indexed(blocks, lengths, places, MPI_DOUBLE, made);
    free(lengths);
    free(places);
    return 1;
}

/* Single doubles at irregular places. */
static int indexed1(int bytes, MPI_Datatype *made)
{
    int i, at = 0, blocks = bytes / (int)sizeof(double);
    int *places = malloc((size_t)blocks * sizeof *places);
    unsigned random = 1;

    if (places == NULL)
        exit(1);
    for (i = 0; i < blocks; i++) {
        places[i] = at;
        random = random * 1103515245 + 12345;
        at += 2 + (int)(random >> 20) % 3;
    }
    MPI_Type_create_indexed_block(blocks, 1, places, MPI_DOUBLE, made);
    free(places);
    return 1;
}

static int structure(int bytes, MPI_Datatype *made)
{
    int lengths[] = {1, 1, 3};
    MPI_Aint places[] = {offsetof(struct element, number), offsetof(struct element, value),
                         offsetof(struct element, name)};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, members;

    MPI_Type_create_struct(3, lengths, places, types, &members);
    MPI_Type_create_resized(members, 0, sizeof(struct element), made);
    MPI_Type_free(&members);
    return bytes / 15;
}

/* A box of half the length of an array of doubles on each side: runs of `inner` doubles, 16 to a
 * plane. */
static int box(int bytes, int inner, MPI_Datatype *made)
{
    int run = inner * (int)sizeof(double);
    MPI_Datatype plane;

    MPI_Type_vector(16, inner, 2 * inner, MPI_DOUBLE, &plane);
    MPI_Type_create_hvector(bytes / run / 16, 1, 64 * run, plane, made);
    MPI_Type_free(&plane);
    return 1;
}

static int box16(int bytes, MPI_Datatype *made)
{
    return box(bytes, 16, made);
}

static int box1(int bytes, MPI_Datatype *made)
{
    return box(bytes, 1, made);
}

static const struct {
    const char *name;
    Make *make;
} cases[] = {
    {"vector1", vector1},   {"vector3", vector3}, {"vector64", vector64},
    {"columns", columns},   {"indexed", indexed}, {"indexed1", indexed1},
    {"structure", structure}, {"box16", box16},   {"box1", box1},
};

/* Ends the job if no such case exists. */
static Make *find_case(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, name) == 0)
            return cases[i].make;
    fprintf(stderr, "CASE is one of");
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        fprintf(stderr, " %s", cases[i].name);
    fprintf(stderr, ", and not '%s'\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return NULL;
}

static void pack(void)
{
    int position = 0;

    MPI_Pack(memory, count, type, packed, packed_bytes, &position, MPI_COMM_SELF);
}

static void unpack(void)
{
    int position = 0;

    MPI_Unpack(packed, packed_bytes, &position, memory, count, type, MPI_COMM_SELF);
}

static double time_of(void (*call)(void), int times)
{
    double start = MPI_Wtime();
    int i;

    for (i = 0; i < times; i++)
        call();
    return (MPI_Wtime() - start) / times;
}

/* Returns the median time of a call, in seconds. */
static double measure(void (*call)(void))
{
    double seconds[BATCHES];
    int i, times;

    call();
    times = 1 + (int)(BATCH_S / (time_of(call, 1) + 1e-9));
    for (i = 0; i < BATCHES; i++)
        seconds[i] = time_of(call, times);
    return median(seconds, BATCHES);
}

/* Memory that was written: pages that never were are all the same zeros, too fast to be true. */
static char *allocate(MPI_Aint bytes)
{
    char *room = malloc((size_t)bytes);

    if (room == NULL) {
        fprintf(stderr, "not enough memory for %ld bytes\n", (long)bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memset(room, 1, (size_t)bytes);
}

static void measure_size(Make *make, int bytes)
{
    MPI_Aint first, extent;
    double kib;

    count = make(bytes, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &first, &extent);
    MPI_Pack_size(count, type, MPI_COMM_SELF, &packed_bytes);
    memory = allocate(extent * count);
    packed = allocate(packed_bytes);
    kib = packed_bytes / 1024.0;
    printf("%d %.3f", bytes, measure(pack) * 1e9 / kib);
    printf(" %.3f\n", measure(unpack) * 1e9 / kib);
    fflush(stdout);
    free(memory);
    free(packed);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    Make *make;
    int i;

    MPI_Init(&argc, &argv);
    make = find_case(argc > 1 ? argv[1] : "");
    for (i = 2; i < argc; i++)
        measure_size(make, atoi(argv[i]));
    MPI_Finalize();
    return 0;
}
