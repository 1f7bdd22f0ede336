/* Parallel files: mpirun -n 4 files PATH [ROW...]
 *
 * Writes and reads the file PATH in several ways, deletes it, and prints "ROW: MILLISECONDS" for
 * each: without names for all rows of the table below. A rank has 16 MiB, in blocks of 1 KiB. The
 * row "memory" has MiB: by how much the peak of resident memory of a rank grew, of that rank where
 * it grew most, when the ranks opened the file and wrote it collectively through a view.
 *
 * What was written or read is checked once, after the measurement. A row that has no figure says
 * why: "ROW: refused: ..." if a call returned an error, "ROW: wrong: ..." if data are not those
 * that were written; after the latter the exit code is 1. "refused: ..." is about all rows.
 *
 * The file stays in the system's cache: nothing here waits for a disk.
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "middle.h"
#include "rows.h"

enum {
    BLOCK = 1024,
    BLOCKS = 16384,     /* of a rank */
    WORDS = BLOCK / sizeof(uint64_t),
    AT_ONCE = 1024,     /* blocks of the file that are checked at once */
    MOST_TIMES = 5,
    WARM_UP = 16        /* the part of many calls that warms up */
};
#define ENOUGH_S 0.1
#define KIB_OF_MIB 1024.0

/* Where the blocks of a rank are in the file. */
enum places {
    TOGETHER,           /* one behind the other */
    BY_TURNS,           /* one of each rank, then the next one of each */
    BY_VIEW,            /* the same, by the view of the file */
    ANYWHERE            /* wherever the shared pointer happens to be */
};

struct row {
    const char *name;
    int (*act)(int count);
    int count, blocks;  /* calls of a rank, blocks of a call */
    enum places places;
    int is_read, is_atomic, is_shared;
};

static int rank, ranks, plain, is_all_right = 1;
static char *path, *buffer, *checked;
static MPI_File file = MPI_FILE_NULL;
static MPI_Datatype turns;
/* Where this rank's data begin in the file, as the present view counts. */
static MPI_Offset start;

static void fail(const char *why)
{
    fprintf(stderr, "files: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* The clock of the machine, which all its ranks have in common. */
static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int open_file(MPI_File *opened)
{
    return MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                         opened);
}

static int write_at_all(int count)
{
    (void)count;
    return MPI_File_write_at_all(file, start, buffer, BLOCKS * BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int read_at_all(int count)
{
    (void)count;
    return MPI_File_read_at_all(file, start, buffer, BLOCKS * BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int write_at(int count)
{
    (void)count;
    return MPI_File_write_at(file, start, buffer, BLOCKS * BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int read_at(int count)
{
    (void)count;
    return MPI_File_read_at(file, start, buffer, BLOCKS * BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int write_blocks(int count)
{
    int i, error, first = MPI_SUCCESS;

    for (i = 0; i < count; i++) {
        MPI_Offset at = start + (MPI_Offset)i * ranks * BLOCK;

        error = MPI_File_write_at(file, at, buffer + (size_t)i * BLOCK, BLOCK, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
        first = first == MPI_SUCCESS ? error : first;
    }
    return first;
}

static int write_shared(int count)
{
    int i, error, first = MPI_SUCCESS;

    for (i = 0; i < count; i++) {
        error = MPI_File_write_shared(file, buffer + (size_t)i * BLOCK, BLOCK, MPI_BYTE,
                                      MPI_STATUS_IGNORE);
        first = first == MPI_SUCCESS ? error : first;
    }
    return first;
}

static int write_ordered(int count)
{
    int i, error, first = MPI_SUCCESS;

    for (i = 0; i < count; i++) {
        error = MPI_File_write_ordered(file, buffer + (size_t)i * BLOCK, BLOCK, MPI_BYTE,
                                       MPI_STATUS_IGNORE);
        first = first == MPI_SUCCESS ? error : first;
    }
    return first;
}

static int open_and_close(int count)
{
    MPI_File opened;
    int error = open_file(&opened);

    (void)count;
    return error == MPI_SUCCESS ? MPI_File_close(&opened) : error;
}

static const struct row rows[] = {
    {"contiguous", write_at_all, 1, BLOCKS, TOGETHER, 0, 0, 0},
    {"write_at_all", write_at_all, 1, BLOCKS, BY_VIEW, 0, 0, 0},
    {"read_at_all", read_at_all, 1, BLOCKS, BY_VIEW, 1, 0, 0},
    {"write_at", write_at, 1, BLOCKS, BY_VIEW, 0, 0, 0},
    {"read_at", read_at, 1, BLOCKS, BY_VIEW, 1, 0, 0},
    {"calls", write_blocks, BLOCKS, 1, BY_TURNS, 0, 0, 0},
    {"write_shared", write_shared, 256, 1, ANYWHERE, 0, 0, 1},
    {"write_ordered", write_ordered, 64, 1, BY_TURNS, 0, 0, 1},
    {"atomic", write_blocks, 1024, 1, BY_TURNS, 0, 1, 0},
};
enum { ROWS = sizeof rows / sizeof rows[0] };
/* It needs no data, and the file closed. */
static const struct row open_close = {"open_close", open_and_close, 1, 0, TOGETHER, 0, 0, 0};

/* Blocks of a rank that a row is about. */
static int blocks_of(const struct row *row)
{
    return row->count * row->blocks;
}

/* Where in the file block `i` of this rank is. Those that may be anywhere are told apart alike. */
static int place_of(const struct row *row, int i)
{
    return row->places == BY_TURNS || row->places == BY_VIEW ? i * ranks + rank
                                                             : rank * blocks_of(row) + i;
}

/* A block that tells the row and its place: no two are equal. */
static void write_block(char *block, const struct row *row, int place)
{
    uint64_t words[WORDS], number = (uint64_t)(row - rows) + 1;
    int i;

    for (i = 0; i < WORDS; i++)
        words[i] = number << 48 | (uint64_t)place << 16 | (uint64_t)i;
    memcpy(block, words, BLOCK);
}

static int is_block(const char *block, const struct row *row, int place)
{
    char expected[BLOCK];

    write_block(expected, row, place);
    return memcmp(block, expected, BLOCK) == 0;
}

/* Data for a row: in the buffer of each rank, or in the file if they are to be read. */
static void prepare(const struct row *row)
{
    int i, each = blocks_of(row);

    for (i = 0; i < each; i++)
        write_block(buffer + (size_t)i * BLOCK, row,
                    row->is_read ? rank * each + i : place_of(row, i));
    if (row->is_read) {
        size_t bytes = (size_t)each * BLOCK;

        if (pwrite(plain, buffer, bytes, (off_t)rank * (off_t)bytes) != (ssize_t)bytes)
            fail("the file cannot be written without MPI either");
        memset(buffer, 0, bytes);
    }
}

/* The first of this rank's blocks in the buffer that is wrong; -1 if none is. */
static long wrong_in_buffer(const struct row *row)
{
    int i;

    for (i = 0; i < blocks_of(row); i++)
        if (!is_block(buffer + (size_t)i * BLOCK, row, place_of(row, i)))
            return i;
    return -1;
}

/* Whose turn it is in a file in which each rank's blocks are in their order, wherever they are. */
static int place_in_order(const struct row *row, const char *block, int *next)
{
    uint64_t word;
    int owner;

    memcpy(&word, block, sizeof word);
    owner = (int)((word >> 16 & 0xffffffff) / (uint64_t)blocks_of(row));
    return owner < ranks && next[owner] < blocks_of(row)
               ? owner * blocks_of(row) + next[owner]++ : -1;
}

/* The first block in this rank's part of the file that is wrong; -1 if none is. */
static long wrong_in_file(const struct row *row)
{
    int each = blocks_of(row), first = rank * each, last = first + each, i, k;
    int *next = calloc((size_t)ranks, sizeof *next);
    long wrong = -1;

    if (row->places == ANYWHERE) {
        first = 0;
        last = rank == 0 ? ranks * each : 0;
    }
    for (i = first; i < last && wrong < 0; i += AT_ONCE) {
        int many = last - i < AT_ONCE ? last - i : AT_ONCE;
        size_t bytes = (size_t)many * BLOCK;

        memset(checked, 0, bytes);
        if (pread(plain, checked, bytes, (off_t)i * BLOCK) != (ssize_t)bytes)
            wrong = i;
        for (k = 0; k < many && wrong < 0; k++) {
            const char *block = checked + (size_t)k * BLOCK;
            int place = row->places == ANYWHERE ? place_in_order(row, block, next) : i + k;

            if (place < 0 || !is_block(block, row, place))
                wrong = i + k;
        }
    }
    free(next);
    return wrong;
}

/* Rank 0 says so if any rank has a wrong block; answers whether one has. */
static int is_wrong(const struct row *row)
{
    long wrong = row->is_read ? wrong_in_buffer(row) : wrong_in_file(row), most;

    MPI_Allreduce(&wrong, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (most < 0)
        return 0;
    is_all_right = 0;
    if (rank == 0) {
        printf("%s: wrong: block %ld\n", row->name, most);
        fflush(stdout);
        fprintf(stderr, "files: %s: block %ld is wrong\n", row->name, most);
    }
    return 1;
}

static int set_view(enum places places)
{
    MPI_Offset own = (MPI_Offset)rank * BLOCK;

    start = places == TOGETHER ? own * BLOCKS : places == BY_VIEW ? 0 : own;
    return MPI_File_set_view(file, places == BY_VIEW ? own : 0, MPI_BYTE,
                             places == BY_VIEW ? turns : MPI_BYTE, "native", MPI_INFO_NULL);
}

/* From when the first rank begins until the last one is ready. No barrier at the end is counted:
 * with more ranks than cores it would take some MPIs longer than what is measured. */
static int time_of(const struct row *row, int count, double *seconds)
{
    double ends[2], all[2];
    int error = row->is_shared ? MPI_File_seek_shared(file, 0, MPI_SEEK_SET) : MPI_SUCCESS;

    MPI_Barrier(MPI_COMM_WORLD);
    ends[0] = -now();
    error = error == MPI_SUCCESS ? row->act(count) : error;
    ends[1] = now();
    MPI_Allreduce(ends, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *seconds = all[0] + all[1];
    return error;
}

/* Warms up, measures until it is enough, checks. All ranks know the same times. */
static void measure(const struct row *row)
{
    double seconds[MOST_TIMES], sum = 0;
    int error, times = 0, few = (row->count + WARM_UP - 1) / WARM_UP;

    error = time_of(row, few, &seconds[0]);
    if (is_refused(row->name, error))
        return;
    do {
        error = time_of(row, row->count, &seconds[times]);
        if (is_refused(row->name, error))
            return;
        sum += seconds[times++];
    } while (sum < ENOUGH_S && times < MOST_TIMES);
    if (row->blocks > 0 && is_wrong(row))
        return;
    if (rank == 0) {
        printf("%s: %.4f\n", row->name, median(seconds, times) * 1e3);
        fflush(stdout);
    }
}

static void measure_row(const struct row *row)
{
    int error;

    prepare(row);
    error = set_view(row->places);
    if (error == MPI_SUCCESS && row->is_atomic)
        error = MPI_File_set_atomicity(file, 1);
    if (is_refused(row->name, error))
        return;
    measure(row);
    if (row->is_atomic)
        MPI_File_set_atomicity(file, 0);
}

/* The most memory that this process ever had resident. */
static double peak_mib(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;

    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (status != NULL)
        fclose(status);
    if (kib < 0)
        fail("the system does not tell the peak of memory");
    return (double)kib / KIB_OF_MIB;
}

/* What the start took and gave back shall not hide what the file takes. */
static void forget_peak(void)
{
    FILE *references = fopen("/proc/self/clear_refs", "w");

    if (references != NULL) {
        fputs("5\n", references);
        fclose(references);
    }
}

/* Opens the file and writes all of it by the view, for the first time in this process: other rows
 * hide nothing of what that takes of memory. Answers whether the file is open. */
static int open_and_fill(int is_row)
{
    const char *name = "memory";
    double mib, most;
    int error;

    MPI_Barrier(MPI_COMM_WORLD);
    forget_peak();
    mib = -peak_mib();
    error = open_file(&file);
    if (is_refused(NULL, error))
        return 0;
    error = set_view(BY_VIEW);
    if (error == MPI_SUCCESS)
        error = write_at_all(1);
    mib += peak_mib();
    MPI_Allreduce(&mib, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (is_row && !is_refused(name, error) && rank == 0) {
        printf("%s: %.2f\n", name, most);
        fflush(stdout);
    }
    return 1;
}

static void measure_all(int argc, char **argv)
{
    int i;

    if (!open_and_fill(is_wanted("memory", argc, argv)))
        return;
    plain = open(path, O_RDWR | O_CREAT, 0666);
    if (plain < 0)
        fail("the file cannot be opened without MPI either");
    for (i = 0; i < ROWS; i++)
        if (is_wanted(rows[i].name, argc, argv))
            measure_row(&rows[i]);
    MPI_File_close(&file);
    if (is_wanted(open_close.name, argc, argv))
        measure(&open_close);
    close(plain);
}

int main(int argc, char **argv)
{
    size_t bytes = (size_t)BLOCKS * BLOCK;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 2)
        fail("needs the path of a file that may be written and deleted: mpirun -n 4 files PATH");
    path = argv[1];
    buffer = malloc(bytes);
    checked = malloc((size_t)AT_ONCE * BLOCK);
    if (buffer == NULL || checked == NULL)
        fail("not enough memory");
    memset(buffer, 1, bytes);
    if (rank == 0)
        remove(path);
    MPI_Type_vector(BLOCKS, BLOCK, BLOCK * ranks, MPI_BYTE, &turns);
    MPI_Type_commit(&turns);
    measure_all(argc, argv);
    MPI_Type_free(&turns);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        remove(path);
    free(buffer);
    free(checked);
    MPI_Finalize();
    return is_all_right ? 0 : 1;
}
