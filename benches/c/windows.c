/* One-sided communication: mpirun -n 2 windows allocate|shared|create [ROW...]
 *
 * Rank 0 is the origin, rank 1 the target of a window of 64 KiB that MPI_Win_allocate,
 * MPI_Win_allocate_shared or MPI_Win_create makes. Prints "ROW: MICROSECONDS" for each row, without
 * names for all of the table below: the median of several batches. In an epoch of MPI_Win_lock_all
 * each operation is followed by a flush; the target waits in MPI meanwhile.
 *
 * In the rows "computing_..." the target computes for 250 ms and calls nothing. The figure is that
 * operation and flush which took longest; the origin rests before each of them.
 *
 * Data are checked after each row. A row that has no figure says why: "ROW: refused: ..." if a call
 * returned an error, "ROW: wrong: ..." if data are not those that were moved; after the latter the
 * exit code is 1. "refused: ..." is about all rows.
 */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "measure.h"
#include "rows.h"

enum {
    ORIGIN,
    TARGET,
    WORD = sizeof(long),
    DOUBLES = 128,
    KIB = 1024,
    LONG = 65536,       /* bytes, also of the window */
    LEAST_ROUNDS = 200  /* of a batch */
};
#define COMPUTES_S 0.25
/* The origin begins no operation so late that the target could be back soon. */
#define LATEST_S 0.2
#define REST_NS 10000000L

/* What the target's memory holds before a row and behind it. */
enum data {
    NOTHING,            /* no data are moved */
    WRITTEN,            /* by puts: the pattern, with the number of the put in its first word */
    READ,               /* by gets: the pattern */
    COUNTED,            /* the number of operations, in one word */
    SUMMED              /* the sums of an accumulate, in doubles */
};

struct row {
    const char *name;
    int (*act)(int bytes);
    int bytes;
    enum data data;
    int is_flushed, is_collective, is_computing;
};

static int is_all_right = 1, failed;
static MPI_Win window = MPI_WIN_NULL;
/* The window of this rank; what is put, what was got, what is added. */
static char *base, *source, *landing;
static double addends[DOUBLES];
/* Operations of a row so far; what the last of them returned. */
static long done, fetched;
static const struct row *present;
/* What is written here must be computed. */
static volatile double computed;

static void note(int error)
{
    if (failed == MPI_SUCCESS)
        failed = error;
}

static int put(int bytes)
{
    done++;
    memcpy(source, &done, sizeof done);
    return MPI_Put(source, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, window);
}

static int get(int bytes)
{
    done++;
    return MPI_Get(landing, bytes, MPI_BYTE, TARGET, 0, bytes, MPI_BYTE, window);
}

static int fetch_and_op(int bytes)
{
    static const long one = 1;

    (void)bytes;
    done++;
    return MPI_Fetch_and_op(&one, &fetched, MPI_LONG, TARGET, 0, MPI_SUM, window);
}

static int compare_and_swap(int bytes)
{
    static long expected, next;

    (void)bytes;
    expected = done++;
    next = done;
    return MPI_Compare_and_swap(&next, &expected, &fetched, MPI_LONG, TARGET, 0, window);
}

static int accumulate(int bytes)
{
    int count = bytes / (int)sizeof(double);

    done++;
    return MPI_Accumulate(addends, count, MPI_DOUBLE, TARGET, 0, count, MPI_DOUBLE, MPI_SUM,
                          window);
}

static int lock_unlock(int bytes)
{
    int error = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);

    (void)bytes;
    return error == MPI_SUCCESS ? MPI_Win_unlock(TARGET, window) : error;
}

static int fence(int bytes)
{
    (void)bytes;
    return MPI_Win_fence(0, window);
}

static const struct row rows[] = {
    {"put_8", put, WORD, WRITTEN, 1, 0, 0},
    {"get_8", get, WORD, READ, 1, 0, 0},
    {"fetch_and_op", fetch_and_op, WORD, COUNTED, 1, 0, 0},
    {"compare_and_swap", compare_and_swap, WORD, COUNTED, 1, 0, 0},
    {"accumulate", accumulate, KIB, SUMMED, 1, 0, 0},
    {"put_64k", put, LONG, WRITTEN, 1, 0, 0},
    {"get_64k", get, LONG, READ, 1, 0, 0},
    {"lock_unlock", lock_unlock, 0, NOTHING, 0, 0, 0},
    {"fence", fence, 0, NOTHING, 0, 1, 0},
    {"computing_put", put, WORD, WRITTEN, 1, 0, 1},
    {"computing_get", get, WORD, READ, 1, 0, 1},
    {"computing_accumulate", accumulate, KIB, SUMMED, 1, 0, 1},
    {"computing_fetch_and_op", fetch_and_op, WORD, COUNTED, 1, 0, 1},
    {"computing_compare_and_swap", compare_and_swap, WORD, COUNTED, 1, 0, 1},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* No two rows that follow each other have the same pattern. */
static char pattern(const struct row *row, int i)
{
    return (char)(i * 31 + i / 251 + 7 * (int)(row - rows) + 1);
}

static void write_pattern(const struct row *row, char *bytes)
{
    int i;

    for (i = 0; i < LONG; i++)
        bytes[i] = pattern(row, i);
}

/* The first byte from `first` to the row's last one that is not of the pattern; -1 if all are. */
static int wrong_byte(const struct row *row, const char *bytes, int first)
{
    int i;

    for (i = first; i < row->bytes; i++)
        if (bytes[i] != pattern(row, i))
            return i;
    return -1;
}

/* A rank loads from and stores to its own window in an epoch of its own. */
static void lock_own(void)
{
    note(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window));
}

static void unlock_own(void)
{
    note(MPI_Win_unlock(rank, window));
}

static void prepare(const struct row *row)
{
    int i;

    failed = MPI_SUCCESS;
    done = 0;
    fetched = -1;
    for (i = 0; i < DOUBLES; i++)
        addends[i] = i + 1;
    write_pattern(row, source);
    memset(landing, 0, LONG);
    lock_own();
    if (row->data == READ)
        write_pattern(row, base);
    else
        memset(base, 0, LONG);
    unlock_own();
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Whether the origin got what it should: the pattern, or the count before the last operation. */
static int is_right_at_origin(const struct row *row)
{
    switch (row->data) {
    case READ:
        return wrong_byte(row, landing, 0) < 0;
    case COUNTED:
        return fetched == done - 1;
    default:
        return 1;
    }
}

/* Whether the window has what `count` operations leave in it. */
static int is_right_at_target(const struct row *row, long count)
{
    double sums[DOUBLES];
    long word;
    int i;

    memcpy(&word, base, sizeof word);
    switch (row->data) {
    case WRITTEN:
        return word == count && wrong_byte(row, base, sizeof word) < 0;
    case READ:
        return wrong_byte(row, base, 0) < 0;
    case COUNTED:
        return word == count;
    case SUMMED:
        memcpy(sums, base, sizeof sums);
        for (i = 0; i < DOUBLES; i++)
            if (sums[i] != (double)count * (i + 1))
                return 0;
        return 1;
    default:
        return 1;
    }
}

/* Rank 0 says so if a rank has wrong data; answers whether one has. */
static int is_wrong(const struct row *row)
{
    const char *places[] = {"at the origin", "at the target"};
    int right = 1, rights[2];
    long count = done;

    MPI_Bcast(&count, 1, MPI_LONG, ORIGIN, MPI_COMM_WORLD);
    lock_own();
    right = rank == ORIGIN ? is_right_at_origin(row) : is_right_at_target(row, count);
    unlock_own();
    MPI_Allgather(&right, 1, MPI_INT, rights, 1, MPI_INT, MPI_COMM_WORLD);
    if (rights[ORIGIN] && rights[TARGET])
        return 0;
    is_all_right = 0;
    if (rank == ORIGIN) {
        const char *place = places[rights[ORIGIN] ? TARGET : ORIGIN];

        printf("%s: wrong: data %s after %ld operations\n", row->name, place, count);
        fflush(stdout);
        fprintf(stderr, "windows: %s: data %s are wrong\n", row->name, place);
    }
    return 1;
}

static void act_once(void)
{
    note(present->act(present->bytes));
    if (present->is_flushed)
        note(MPI_Win_flush(TARGET, window));
}

static void batch(char *buffer, int bytes, int rounds)
{
    int i;

    (void)buffer;
    (void)bytes;
    if (rank != ORIGIN && !present->is_collective)
        return;
    for (i = 0; i < rounds; i++) {
        act_once();
        if (failed != MPI_SUCCESS && !present->is_collective)
            return;
    }
}

/* Works on numbers, outside MPI. */
static void compute(double seconds)
{
    double start = MPI_Wtime(), sum = 0;
    int i;

    while (MPI_Wtime() - start < seconds) {
        for (i = 1; i < KIB; i++)
            sum += 1.0 / i;
        computed = sum;
    }
}

/* The longest operation while the target computes, in microseconds. What the first one of an epoch
 * needs is done before. */
static double longest(void)
{
    const struct timespec rest = {0, REST_NS};
    double most = 0, start, since;

    if (rank == ORIGIN)
        act_once();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == TARGET) {
        compute(COMPUTES_S);
    } else {
        start = MPI_Wtime();
        while (failed == MPI_SUCCESS && MPI_Wtime() - start < LATEST_S) {
            nanosleep(&rest, NULL);
            since = MPI_Wtime();
            act_once();
            since = MPI_Wtime() - since;
            most = since > most ? since : most;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return most * 1e6;
}

static void begin_epoch(const struct row *row)
{
    if (row->is_collective)
        note(MPI_Win_fence(MPI_MODE_NOPRECEDE, window));
    else if (row->is_flushed && rank == ORIGIN)
        note(MPI_Win_lock_all(0, window));
}

static void end_epoch(const struct row *row)
{
    if (row->is_collective)
        note(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    else if (row->is_flushed && rank == ORIGIN)
        note(MPI_Win_unlock_all(window));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void measure_row(const struct row *row)
{
    double us;

    present = row;
    prepare(row);
    begin_epoch(row);
    if (is_refused(row->name, failed))
        return;
    us = row->is_computing ? longest()
                           : measure(batch, row->bytes, LEAST_ROUNDS) / LEAST_ROUNDS * 1e6;
    end_epoch(row);
    if (is_refused(row->name, failed) || is_wrong(row))
        return;
    if (rank == ORIGIN) {
        printf("%s: %.4f\n", row->name, us);
        fflush(stdout);
    }
}

static int make_window(const char *flavour)
{
    const MPI_Comm all = MPI_COMM_WORLD;

    if (strcmp(flavour, "allocate") == 0)
        return MPI_Win_allocate(LONG, 1, MPI_INFO_NULL, all, &base, &window);
    if (strcmp(flavour, "shared") == 0)
        return MPI_Win_allocate_shared(LONG, 1, MPI_INFO_NULL, all, &base, &window);
    if (strcmp(flavour, "create") == 0) {
        base = allocate(LONG);
        return MPI_Win_create(base, LONG, 1, MPI_INFO_NULL, all, &window);
    }
    fprintf(stderr, "windows: allocate, shared or create, not '%s'\n", flavour);
    MPI_Abort(all, 1);
    return MPI_ERR_ARG;
}

static void measure_all(int argc, char **argv)
{
    int i;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (is_refused(NULL, make_window(argv[1])))
        return;
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    for (i = 0; i < ROWS; i++)
        if (is_wanted(rows[i].name, argc, argv))
            measure_row(&rows[i]);
    MPI_Win_free(&window);
    if (strcmp(argv[1], "create") == 0)
        free(base);
}

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 2) {
        fprintf(stderr, "windows: needs 2 ranks and a flavour: mpirun -n 2 windows allocate\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    source = allocate(LONG);
    landing = allocate(LONG);
    measure_all(argc, argv);
    free(source);
    free(landing);
    MPI_Finalize();
    return is_all_right ? 0 : 1;
}
