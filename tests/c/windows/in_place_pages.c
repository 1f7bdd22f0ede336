/* ranks: 1, 2, 3, 5; transports: one; MPI 5.0 12.2.1, 12.2.6 */
/* Pages with several windows, windows without end, and what memory is when its window has gone. */
#include "in_place.h"
#include <dirent.h>
#include <malloc.h>

enum { WINDOWS = 6, PAGES = 3, MIB = 1 << 20 };

/* Several windows in three pages, and what is expected there. The third and the fourth window are
 * over the same memory, the last one is over all. */
static char *pages, *model;
static MPI_Win window[WINDOWS];

static size_t base_of(int which)
{
    const size_t bases[WINDOWS] = {64, 72, 1000, 1000, page_bytes - 20, 0};

    return bases[which];
}

static size_t bytes_of(int which)
{
    const size_t bytes[WINDOWS] = {8, 300, 900, 900, page_bytes, PAGES * page_bytes};

    return bytes[which];
}

/* Every third window is one of half of the ranks: the even ones or the odd ones. */
static MPI_Comm half;

static MPI_Comm comm_of(int which)
{
    return which % 3 == 1 ? half : MPI_COMM_WORLD;
}

static void open_window(int which)
{
    window[which] = window_of(comm_of(which), pages + base_of(which), bytes_of(which));
}

static void check_pages(const char *when, int which)
{
    size_t i;

    for (i = 0; i < PAGES * page_bytes; i++)
        CHECK(pages[i] == model[i], "byte %lu to be 0x%02x, not 0x%02x, %s window %d",
              (unsigned long)i, model[i] & 255, pages[i] & 255, when, which);
}

/* The peer before this one in the group of a window puts; a part stands for the whole. */
static void put_by(int which, unsigned seed)
{
    const size_t bytes = bytes_of(which) < 1000 ? bytes_of(which) : 1000;
    char data[1000];
    int own, number, world;

    MPI_Comm_rank(comm_of(which), &own);
    MPI_Comm_size(comm_of(which), &number);
    fill(data, bytes, seed + rank);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (own + 1) % number, 0, window[which]));
    OK(MPI_Put(data, bytes, MPI_BYTE, (own + 1) % number, 0, bytes, MPI_BYTE, window[which]));
    OK(MPI_Win_unlock((own + 1) % number, window[which]));
    own = (own + number - 1) % number;
    world = comm_of(which) == half ? 2 * own + rank % 2 : own;
    fill(model + base_of(which), bytes, seed + world);
}

/* Uses all windows that live; the owner writes to all of the pages. */
static void use_living(unsigned seed)
{
    int which;

    MPI_Barrier(MPI_COMM_WORLD);
    fill(pages, PAGES * page_bytes, seed);
    fill(model, PAGES * page_bytes, seed);
    for (which = 0; which < WINDOWS; which++) {
        if (window[which] == MPI_WIN_NULL)
            continue;
        MPI_Barrier(MPI_COMM_WORLD);
        put_by(which, seed + which);
        MPI_Barrier(MPI_COMM_WORLD);
        check_pages("after a put to", which);
    }
}

static void make_pages(void)
{
    void *memory;
    int which;

    CHECK_INT(posix_memalign(&memory, page_bytes, PAGES * page_bytes), 0);
    pages = memory;
    model = malloc(PAGES * page_bytes);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (which = 0; which < WINDOWS; which++)
        window[which] = MPI_WIN_NULL;
}

static void free_pages(void)
{
    free(pages);
    free(model);
    MPI_Comm_free(&half);
}

/* Three windows in all orders. */
static void all_orders(void)
{
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    unsigned seed = 0;
    int i, j, k;

    make_pages();
    for (i = 0; i < 36; i++) {
        for (j = 0; j < 3; j++) {
            open_window(order[i / 6][j]);
            use_living(++seed);
        }
        for (j = 0; j < 3; j++) {
            k = order[i % 6][j];
            OK(MPI_Win_free(&window[k]));
            check_pages("after the end of", k);
            use_living(++seed);
        }
    }
    free_pages();
}

/* Windows come and go at random. */
static void random_order(void)
{
    enum { STEPS = 150 };
    unsigned random = 2026, step;
    int which;

    make_pages();
    for (step = 0; step < STEPS; step++) {
        which = next_random(&random) % WINDOWS;
        if (window[which] == MPI_WIN_NULL)
            open_window(which);
        else
            OK(MPI_Win_free(&window[which]));
        if (step > 0)
            check_pages("after a change of", which);
        use_living(step);
    }
    for (which = 0; which < WINDOWS; which++)
        if (window[which] != MPI_WIN_NULL)
            OK(MPI_Win_free(&window[which]));
    check_pages("after all, with", WINDOWS);
    free_pages();
}

/* Sums by three windows over the same numbers, one of which this process has for itself. */
static void same_memory(void)
{
    enum { NUMBERS = 700, ROUNDS = 10 };
    long *number = calloc(NUMBERS, sizeof *number), one[NUMBERS];
    MPI_Comm comm[] = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_WORLD};
    MPI_Win win[3];
    int round, i;

    for (i = 0; i < NUMBERS; i++)
        one[i] = 1;
    for (i = 0; i < 3; i++)
        win[i] = window_of(comm[i], number, NUMBERS * sizeof *number);
    for (round = 0; round < ROUNDS; round++)
        for (i = 0; i < 3; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            OK(MPI_Win_fence(0, win[i]));
            OK(MPI_Accumulate(one, NUMBERS, MPI_LONG, i == 1 ? 0 : to, 0, NUMBERS, MPI_LONG,
                              MPI_SUM, win[i]));
            OK(MPI_Win_fence(0, win[i]));
            CHECK_INT(number[0], round * 3 + i + 1);
            CHECK_INT(number[NUMBERS - 1], round * 3 + i + 1);
        }
    OK(MPI_Win_free(&win[1]));
    OK(MPI_Win_free(&win[0]));
    OK(MPI_Win_fence(0, win[2]));
    OK(MPI_Get(one, NUMBERS, MPI_LONG, to, 0, NUMBERS, MPI_LONG, win[2]));
    OK(MPI_Win_fence(0, win[2]));
    OK(MPI_Win_free(&win[2]));
    for (i = 0; i < NUMBERS; i++)
        CHECK(number[i] == 3 * ROUNDS && one[i] == 3 * ROUNDS, "a sum of %d", 3 * ROUNDS);
    free(number);
}

/* How many lines a file has, or a folder entries. */
static int lines_of(const char *path)
{
    FILE *file = fopen(path, "r");
    int lines = 0, c;

    CHECK(file != NULL, "%s to be there", path);
    while ((c = getc(file)) != EOF)
        lines += c == '\n';
    fclose(file);
    return lines;
}

static int entries_of(const char *path)
{
    DIR *folder = opendir(path);
    int entries = 0;

    CHECK(folder != NULL, "%s to be there", path);
    while (readdir(folder) != NULL)
        entries++;
    closedir(folder);
    return entries;
}

/* Places in all pages of a block, in every one of which a window has been when a lap is over. */
static void without_end(void)
{
    enum { TIMES = 600, LAP = 50, FEW = 4 };
    const size_t bytes = (LAP + 1) * page_bytes;
    char *memory = malloc(bytes), *base;
    int i, lines = 0, entries = 0;
    MPI_Win win;

    memset(memory, 0, bytes);
    for (i = 0; i < TIMES; i++) {
        if (i == 2 * LAP) {
            lines = lines_of("/proc/self/maps");
            entries = entries_of("/proc/self/fd");
        }
        base = memory + (i * 7 % LAP) * page_bytes + i * 8 % 5000;
        base[0] = (char)i;
        win = window_of(MPI_COMM_WORLD, base, 8 + i % 3 * page_bytes / 3);
        if (i % 10 == 0) {
            char got = -1;

            OK(MPI_Win_fence(0, win));
            OK(MPI_Get(&got, 1, MPI_CHAR, to, 0, 1, MPI_CHAR, win));
            OK(MPI_Win_fence(0, win));
            CHECK_INT(got, (char)i);
        }
        OK(MPI_Win_free(&win));
        CHECK_INT(base[0], (char)i);
    }
    i = lines_of("/proc/self/maps");
    CHECK(i <= lines + FEW, "%d mappings as before, not %d", lines, i);
    i = entries_of("/proc/self/fd");
    CHECK(i <= entries + FEW, "%d open files as before, not %d", entries, i);
    free(memory);
}

/* Memory that is used again is zero where it is said to be. */
static void zeros(void)
{
    size_t bytes, i;

    for (bytes = 64; bytes <= 4 * MIB; bytes *= 4) {
        char *memory = malloc(bytes), *again;
        MPI_Win win;

        memset(memory, 0xff, bytes);
        win = window_of(MPI_COMM_WORLD, memory, bytes);
        take(win, memory, 0, bytes, PUT);
        OK(MPI_Win_free(&win));
        CHECK_FILLED(memory, bytes, PUT + from);
        free(memory);
        again = calloc(bytes, 1);
        for (i = 0; i < bytes; i++)
            CHECK(again[i] == 0, "byte %lu of %lu of calloc to be 0, not 0x%02x",
                  (unsigned long)i, (unsigned long)bytes, again[i] & 255);
        free(again);
    }
}

static void zeros_of_each_malloc(void)
{
    const int mapped[] = {16 << 10, 128 << 10, 30 << 20}, trimmed[] = {0, 128 << 10, 60 << 20};
    int i, j;

    zeros();
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            CHECK_INT(mallopt(M_MMAP_THRESHOLD, mapped[i]), 1);
            CHECK_INT(mallopt(M_TRIM_THRESHOLD, trimmed[j]), 1);
            zeros();
            malloc_trim(0);
            zeros();
        }
}

/* A block grows and shrinks, which moves its pages, as soon as it is no window any more. */
static void moved_block(void)
{
    size_t bytes;

    CHECK_INT(mallopt(M_MMAP_THRESHOLD, 128 << 10), 1);
    for (bytes = 200000; bytes < 4 * MIB; bytes *= 2) {
        char *block = malloc(bytes), *neighbour = malloc(bytes);

        fill(block, bytes, FIRST + rank);
        live(block + 100, bytes / 2, 100, 100);
        block = realloc(block, 3 * bytes);
        check_strips(block + 100, bytes / 2, LAST);
        CHECK_FILLED(block + 100 + bytes / 2, 100, BEHIND + 1);
        fill(block, 3 * bytes, FIRST + rank);
        live(block + bytes, bytes, 100, 100);
        block = realloc(block, bytes + 100);
        CHECK_FILLED(block, bytes - 100, FIRST + rank);
        fill(neighbour, bytes, BEHIND);
        free(neighbour);
        free(block);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    find_peers();
    all_orders();
    random_order();
    same_memory();
    without_end();
    zeros_of_each_malloc();
    moved_block();
    forget_peers();
    return end();
}
