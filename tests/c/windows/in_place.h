/* Windows over memory of the program: their life, seen by the owner and by its peers. */
#ifndef IN_PLACE_H
#define IN_PLACE_H

#define _GNU_SOURCE
#include "window.h"
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

/* Contents, as seeds of patterns; the rank of the writer is added. */
enum { FIRST = 10, BEFORE = 30, BEHIND = 50, PUT = 70, STORED = 90, LAST = 110 };

/* More of a large window is not touched. */
enum { STRIP = 3000 };

/* Set by `find_peers`. Puts go to `to`, they come from `from`. */
static int to, from;
static size_t page_bytes;
static MPI_Group sources, targets;

static inline void find_peers(void)
{
    MPI_Group world;

    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    page_bytes = sysconf(_SC_PAGESIZE);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &from, &sources);
    MPI_Group_incl(world, 1, &to, &targets);
    MPI_Group_free(&world);
}

static inline void forget_peers(void)
{
    MPI_Group_free(&sources);
    MPI_Group_free(&targets);
}

static inline MPI_Win window_of(MPI_Comm comm, void *base, size_t bytes)
{
    MPI_Win win;

    OK(MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, comm, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return win;
}

static inline void *map(size_t bytes, int how)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED, "%lu bytes to be mapped", (unsigned long)bytes);
    return memory;
}

/* All peers see what this one had before the window was created. */
static inline void see(MPI_Win win, size_t at, size_t bytes, unsigned seed)
{
    char *back = malloc(bytes + 1);

    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    OK(MPI_Get(back, bytes, MPI_BYTE, to, at, bytes, MPI_BYTE, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_FILLED(back, bytes, seed + to);
    free(back);
}

/* A put comes from the peer before, within an epoch of groups. */
static inline void take(MPI_Win win, char *base, size_t at, size_t bytes, unsigned seed)
{
    char *data = malloc(bytes + 1);

    fill(data, bytes, seed + rank);
    OK(MPI_Win_post(sources, 0, win));
    OK(MPI_Win_start(targets, 0, win));
    OK(MPI_Put(data, bytes, MPI_BYTE, to, at, bytes, MPI_BYTE, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK_FILLED(base + at, bytes, seed + from);
    free(data);
}

/* The owner stores within a lock, and its peer sees it. */
static inline void store(MPI_Win win, char *base, size_t at, size_t bytes, unsigned seed)
{
    char *back = malloc(bytes + 1);

    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    fill(base + at, bytes, seed + rank);
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
    OK(MPI_Get(back, bytes, MPI_BYTE, to, at, bytes, MPI_BYTE, win));
    OK(MPI_Win_unlock(to, win));
    CHECK_FILLED(back, bytes, seed + to);
    MPI_Barrier(MPI_COMM_WORLD);
    free(back);
}

/* All add 1 to the first byte of all, which keeps the value that it had. */
static inline void add_all(MPI_Win win, unsigned char *first)
{
    const unsigned char one = 1, old = *first;
    int other;

    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    for (other = 0; other < size; other++)
        OK(MPI_Accumulate(&one, 1, MPI_UINT8_T, other, 0, 1, MPI_UINT8_T, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    CHECK_INT(*first, (unsigned char)(old + size));
    *first = old;
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* How many strips of a window of this size are used. */
static inline int strips(size_t bytes)
{
    return bytes <= 3 * STRIP ? 1 : 3;
}

static inline size_t strip_at(size_t bytes, int i)
{
    return strips(bytes) == 1 ? 0 : (bytes - STRIP) / 2 * i;
}

static inline size_t strip_bytes(size_t bytes)
{
    return strips(bytes) == 1 ? bytes : STRIP;
}

static inline void fill_strips(char *base, size_t bytes, unsigned seed)
{
    int i;

    for (i = 0; i < strips(bytes); i++)
        fill(base + strip_at(bytes, i), strip_bytes(bytes), seed);
}

static inline void check_strips(const char *base, size_t bytes, unsigned seed)
{
    int i;

    for (i = 0; i < strips(bytes); i++)
        CHECK_FILLED(base + strip_at(bytes, i), strip_bytes(bytes), seed);
}

/* Uses a window, whose strips are filled with FIRST, in epochs of each kind; leaves STORED. */
static inline void use(MPI_Win win, void *base, size_t bytes)
{
    int i;

    for (i = 0; i < strips(bytes); i++) {
        see(win, strip_at(bytes, i), strip_bytes(bytes), FIRST);
        take(win, base, strip_at(bytes, i), strip_bytes(bytes), PUT);
        store(win, base, strip_at(bytes, i), strip_bytes(bytes), STORED);
    }
    add_all(win, base);
}

/* The whole life of a window over memory that has `before` and `behind` bytes of the program at
 * its sides. */
static inline void live(char *base, size_t bytes, size_t before, size_t behind)
{
    MPI_Win win;

    fill_strips(base, bytes, FIRST + rank);
    fill(base - before, before, BEFORE);
    fill(base + bytes, behind, BEHIND);
    win = window_of(MPI_COMM_WORLD, base, bytes);
    check_strips(base, bytes, FIRST + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    use(win, base, bytes);
    CHECK_FILLED(base - before, before, BEFORE);
    CHECK_FILLED(base + bytes, behind, BEHIND);
    fill(base - before, before, BEFORE + 1);
    fill(base + bytes, behind, BEHIND + 1);
    OK(MPI_Win_free(&win));
    check_strips(base, bytes, STORED + rank);
    CHECK_FILLED(base - before, before, BEFORE + 1);
    CHECK_FILLED(base + bytes, behind, BEHIND + 1);
    fill_strips(base, bytes, LAST);
    check_strips(base, bytes, LAST);
}

#endif
