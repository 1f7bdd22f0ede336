/* ranks: 1, 2, 3, 5; MPI 5.0 12.2.1 */
/* Windows over memory of all kinds that a program has: what lies in them and beside them. */
#include "in_place.h"
#include <fcntl.h>
#include <malloc.h>

enum { MIB = 1 << 20, SMALL = 40 };

/* A word in the middle of a page of malloc, among other small objects. */
static void word_among_objects(void)
{
    char *object[SMALL];
    MPI_Win win;
    int i, bytes;

    for (i = 0; i < SMALL; i++) {
        object[i] = malloc(24 + i);
        fill(object[i], 24 + i, i);
    }
    fill(object[20] + 8, 8, FIRST + rank);
    win = window_of(MPI_COMM_WORLD, object[20] + 8, 8);
    see(win, 0, 8, FIRST);
    for (i = 0; i < SMALL; i++) {
        if (i == 20)
            continue;
        CHECK_FILLED(object[i], 24 + i, i);
        if (i % 3 == 0) {
            object[i] = realloc(object[i], 2000);
            CHECK_FILLED(object[i], 24 + i, i);
        } else if (i % 3 == 1) {
            free(object[i]);
            object[i] = malloc(24 + i);
        }
        fill(object[i], 24 + i, i + 1);
    }
    take(win, object[20] + 8, 0, 8, PUT);
    OK(MPI_Win_free(&win));
    CHECK_FILLED(object[20], 8, 20);
    CHECK_FILLED(object[20] + 8, 8, PUT + from);
    for (i = 0; i < SMALL; i++) {
        bytes = 24 + i;
        if (i != 20)
            CHECK_FILLED(object[i], bytes, i + 1);
        object[i] = realloc(object[i], 3 * bytes);
        if (i != 20)
            CHECK_FILLED(object[i], bytes, i + 1);
        free(object[i]);
    }
}

/* Memory comes from the top of the heap and goes back there while a window is beside it. */
static void word_at_end_of_heap(void)
{
    enum { BLOCKS = 200, BYTES = 5000 };
    char *block[BLOCKS], *base = malloc(16);
    MPI_Win win;
    int round, i;

    fill(base, 16, FIRST + rank);
    win = window_of(MPI_COMM_WORLD, base, 16);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < BLOCKS; i++) {
            block[i] = calloc(BYTES, 1);
            CHECK(block[i][0] == 0 && memcmp(block[i], block[i] + 1, BYTES - 1) == 0, "zeros");
            fill(block[i], BYTES, i);
        }
        for (i = BLOCKS - 1; i >= 0; i--) {
            CHECK_FILLED(block[i], BYTES, i);
            free(block[i]);
        }
        malloc_trim(0);
        if (round == 1) {
            see(win, 0, 16, FIRST);
            OK(MPI_Win_free(&win));
        }
    }
    CHECK_FILLED(base, 16, FIRST + rank);
    free(base);
}

static void memory_of_malloc(void)
{
    static const size_t bytes[] = {1, 8, 100, 4096, 5000, 20000, MIB, MIB + 17};
    size_t i;

    for (i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        char *memory = malloc(bytes[i] + 1000);

        live(memory + 500, bytes[i], 500, 500);
        live(memory + 3, bytes[i], 3, 900);
        live(memory, bytes[i], 0, 7);
        free(memory);
    }
}

/* Little of a large window is touched; the rest stays zero. */
static void large_calloc(void)
{
    const size_t bytes = (size_t)100 * MIB;
    char *memory = calloc(bytes, 1);
    size_t i;

    live(memory, bytes - 100, 0, 100);
    for (i = STRIP + 50; i < bytes / 2 - STRIP; i += 4 * MIB)
        CHECK_INT(memory[i], 0);
    live(memory + 5 * MIB + 3, bytes - 50 * MIB, 1000, 1000);
    free(memory);
}

static char data[30000] = "initialised", bss[30000];

static void static_memory(void)
{
    live(data + 4000, 8, 4000, 4000);
    live(data + 100, sizeof data - 200, 100, 100);
    live(bss + 5000, 8, 5000, 5000);
    live(bss + 3, sizeof bss - 4, 3, 1);
}

/* A chain of calls that needs more of the stack than before. */
static int deep(int calls)
{
    volatile char frame[10000];

    frame[0] = (char)calls;
    frame[sizeof frame - 1] = 1;
    return calls == 0 ? 0 : deep(calls - 1) + frame[sizeof frame - 1] + frame[0] - (char)calls;
}

static void stack(void)
{
    char memory[20000];
    MPI_Win win;

    live(memory + 10000, 8, 1000, 1000);
    live(memory + 1, sizeof memory - 2, 1, 1);
    fill(memory, sizeof memory, FIRST + rank);
    win = window_of(MPI_COMM_WORLD, memory, sizeof memory);
    CHECK_INT(deep(100), 100);
    see(win, 0, sizeof memory, FIRST);
    OK(MPI_Win_free(&win));
    CHECK_INT(deep(200), 200);
    CHECK_FILLED(memory, sizeof memory, FIRST + rank);
}

static void mapped_memory(void)
{
    const size_t bytes = 20 * page_bytes;
    const int how[] = {MAP_PRIVATE, MAP_SHARED, MAP_PRIVATE | MAP_NORESERVE};
    int i;

    for (i = 0; i < 3; i++) {
        char *memory = map(bytes, how[i]);

        live(memory, bytes, 0, 0);
        live(memory + page_bytes, 3 * page_bytes, page_bytes, page_bytes);
        live(memory + 2 * page_bytes - 4, 8, 2 * page_bytes - 4, page_bytes);
        live(memory + 4 * page_bytes + 3, 8, 100, 100);
        CHECK_INT(munmap(memory, bytes), 0);
    }
}

/* A file of `pages` pages, which has no name any more. */
static int make_file(int pages)
{
    char name[] = "/tmp/in_place.XXXXXX", *page = malloc(page_bytes);
    int file = mkstemp(name), i;

    CHECK(file >= 0 && unlink(name) == 0, "a file");
    for (i = 0; i < pages; i++) {
        fill(page, page_bytes, i);
        CHECK_INT(write(file, page, page_bytes), page_bytes);
    }
    free(page);
    return file;
}

static void check_file(int file, int pages)
{
    char *page = malloc(page_bytes);
    int i;

    for (i = 0; i < pages; i++) {
        CHECK_INT(pread(file, page, page_bytes, i * page_bytes), page_bytes);
        CHECK_FILLED(page, page_bytes, i);
    }
    CHECK_INT(lseek(file, 0, SEEK_END), pages * page_bytes);
    free(page);
}

/* A private mapping of a file: what is written there is not written to the file. */
static void private_file(void)
{
    const int pages = 6;
    int file = make_file(pages), i;
    char *memory = mmap(NULL, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);

    CHECK(memory != MAP_FAILED, "a file to be mapped");
    live(memory + 100, 3 * page_bytes, 100, 100);
    check_file(file, pages);
    for (i = 4; i < pages; i++)
        CHECK_FILLED(memory + i * page_bytes, page_bytes, i);
    live(memory + 4 * page_bytes + 3, 8, 10, 10);
    CHECK_FILLED(memory + 5 * page_bytes, page_bytes, 5);
    CHECK_INT(munmap(memory, pages * page_bytes), 0);
    check_file(file, pages);
    close(file);
}

/* A window may reach behind the end of a mapped file, as long as nobody goes there. */
static void end_of_file(void)
{
    int file = make_file(1);
    char *memory = mmap(NULL, 9 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    MPI_Win win;

    CHECK(memory != MAP_FAILED, "a file to be mapped");
    fill(memory, page_bytes, FIRST + rank);
    win = window_of(MPI_COMM_WORLD, memory + 1, 9 * page_bytes - 1);
    OK(MPI_Win_free(&win));
    win = window_of(MPI_COMM_WORLD, memory, 9 * page_bytes);
    see(win, 0, page_bytes, FIRST);
    take(win, memory, 3, page_bytes - 3, PUT);
    OK(MPI_Win_free(&win));
    CHECK_FILLED(memory + 3, page_bytes - 3, PUT + from);
    CHECK_INT(munmap(memory, 9 * page_bytes), 0);
    check_file(file, 1);
    close(file);
}

static void memory_of_mpi(void)
{
    const MPI_Aint bytes = 50000;
    void *memory;
    MPI_Win win;

    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory));
    live(memory, bytes, 0, 0);
    live((char *)memory + 5000, 8, 5000, 5000);
    OK(MPI_Free_mem(memory));
    OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    live((char *)memory + 99, bytes - 100, 99, 1);
    OK(MPI_Win_free(&win));
    if (!all_share_memory())
        return;
    OK(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    live((char *)memory + 99, bytes - 100, 99, 1);
    OK(MPI_Win_free(&win));
}

/* Peers only read what can only be read. */
static void read_only(void)
{
    const size_t bytes = 4 * page_bytes;
    char *memory = map(bytes, MAP_PRIVATE);
    MPI_Win win;
    int which;

    fill(memory, bytes, FIRST + rank);
    CHECK_INT(mprotect(memory, bytes, PROT_READ), 0);
    for (which = 0; which < 2; which++) {
        win = window_of(MPI_COMM_WORLD, memory, bytes);
        see(win, 0, bytes, FIRST);
        OK(MPI_Win_free(&win));
        CHECK_FILLED(memory, bytes, FIRST + rank);
        /* Now a part can be written. */
        CHECK_INT(mprotect(memory + page_bytes, page_bytes, PROT_READ | PROT_WRITE), 0);
    }
    CHECK_INT(munmap(memory, bytes), 0);
}

/* Where a rank puts if only the even ones have memory. */
static int target_of(int origin)
{
    const int next = (origin + 1) % size;

    return next - next % 2;
}

static void nothing_at_some(void)
{
    long *memory = calloc(size, sizeof *memory), value = rank + 1;
    MPI_Win win = window_of(MPI_COMM_WORLD, rank % 2 ? NULL : memory,
                            rank % 2 ? 0 : size * sizeof *memory);
    int origin;

    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, target_of(rank), rank * sizeof value, 1, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    for (origin = 0; origin < size; origin++)
        CHECK_INT(memory[origin], target_of(origin) == rank ? origin + 1 : 0);
    OK(MPI_Win_free(&win));
    free(memory);
}

/* Each rank has memory of another kind. */
static void each_another(void)
{
    char local[9000], *heap = malloc(MIB);
    char *const memory[] = {heap, local, bss, map(MIB, MAP_PRIVATE), data, map(MIB, MAP_SHARED)};
    int round, kind;

    for (round = 0; round < 6; round++) {
        kind = (rank + round) % 6;
        live(memory[kind] + 1001, 5000, 1001, 1000);
    }
    CHECK_INT(munmap(memory[3], MIB), 0);
    CHECK_INT(munmap(memory[5], MIB), 0);
    free(heap);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    find_peers();
    word_among_objects();
    word_at_end_of_heap();
    memory_of_malloc();
    large_calloc();
    static_memory();
    stack();
    mapped_memory();
    private_file();
    end_of_file();
    memory_of_mpi();
    read_only();
    nothing_at_some();
    each_another();
    forget_peers();
    return end();
}
