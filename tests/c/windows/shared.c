/* ranks: 1, 2, 4; MPI 5.0 12.2.3, 12.5.4 */
/* Windows of shared memory: where the pieces lie, loads and stores, and who shares what. */
#include "window.h"
#include <stdint.h>

static MPI_Win pieces(const char *is_apart, MPI_Aint bytes, int unit, char **base)
{
    MPI_Info info;
    MPI_Win win;

    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", is_apart);
    OK(MPI_Win_allocate_shared(bytes, unit, info, MPI_COMM_WORLD, base, &win));
    MPI_Info_free(&info);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return win;
}

/* Each piece begins where the one before it ends. Rank 1 has none, the others have 100 bytes. */
static void one_after_another(void)
{
    char *base, *piece, *first;
    MPI_Win win = pieces("false", rank == 1 ? 0 : 100, rank + 1, &base);
    MPI_Aint bytes;
    int unit, other, before = 0;

    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &first));
    for (other = 0; other < size; other++) {
        OK(MPI_Win_shared_query(win, other, &bytes, &unit, &piece));
        CHECK_INT(bytes, other == 1 ? 0 : 100);
        CHECK_INT(unit, other + 1);
        if (other != 1)
            CHECK_INT(piece - first, before);
        if (other == rank && bytes > 0)
            CHECK(piece == base, "the own piece at the own base");
        before += bytes;
    }
    OK(MPI_Win_free(&win));
}

/* The first one that has memory, asked for by MPI_PROC_NULL. */
static void of_the_first(void)
{
    char *base, *piece, *first;
    int owner = size > 1 ? 1 : 0, unit;
    MPI_Win win = pieces("false", rank < owner ? 0 : 64, 4 + rank, &base);
    MPI_Aint bytes;

    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first));
    CHECK_INT(bytes, 64);
    CHECK_INT(unit, 4 + owner);
    OK(MPI_Win_shared_query(win, owner, &bytes, &unit, &piece));
    CHECK(piece == first, "the piece of rank %d", owner);
    FAILS(MPI_Win_shared_query(win, size, &bytes, &unit, &piece), MPI_ERR_RANK);
    OK(MPI_Win_free(&win));
}

/* Pieces that may lie apart; each has the size that was asked for. */
static void apart(void)
{
    char *base, *piece;
    MPI_Win win = pieces("true", 100, 1, &base);
    MPI_Aint bytes;
    int unit, other;

    CHECK_INT((uintptr_t)base % 16, 0);
    memset(base, rank + 1, 100);
    MPI_Barrier(MPI_COMM_WORLD);
    for (other = 0; other < size; other++) {
        OK(MPI_Win_shared_query(win, other, &bytes, &unit, &piece));
        CHECK_INT(bytes, 100);
        CHECK(piece[0] == other + 1 && piece[99] == other + 1, "the piece of rank %d", other);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_free(&win));
}

/* What one stores, others load: after MPI_Win_sync, a barrier and MPI_Win_sync. */
static void loads_and_stores(void)
{
    enum { WORDS = 1000, ROUNDS = 50 };
    int *base, *piece, unit, round, i;
    MPI_Aint bytes;
    MPI_Win win;

    OK(MPI_Win_allocate_shared(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                               &base, &win));
    OK(MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &piece));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < WORDS; i++)
            piece[i] = round * WORDS + i + rank;
        OK(MPI_Win_sync(win));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_sync(win));
        for (i = 0; i < WORDS; i++)
            CHECK_INT(base[i], round * WORDS + i + (rank + size - 1) % size);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

/* Operations and loads and stores meet the same memory. */
static void operations(void)
{
    long *base, *all, old, one = 1;
    int unit, i;
    MPI_Aint bytes;
    MPI_Win win;

    OK(MPI_Win_allocate_shared(rank == 0 ? 2 * sizeof(long) : 0, sizeof(long), MPI_INFO_NULL,
                               MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &all));
    OK(MPI_Win_fence(0, win));
    if (rank == 0)
        all[0] = all[1] = 0;
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < 1000; i++)
        OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK_INT(all[0], 1000 * size);
    OK(MPI_Win_free(&win));
}

/* MPI 4.1: also other windows can be asked. What is not shared has size 0 and no address. */
static void of_others(void)
{
    char memory[16], *base, *piece;
    MPI_Aint bytes;
    int unit, other, is_shared;
    MPI_Win win;

    OK(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_shared_query(win, rank, &bytes, &unit, &piece));
    CHECK((bytes == sizeof memory && piece == memory) || (bytes == 0 && piece == NULL),
          "the own memory, or nothing");
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    memset(base, rank + 1, 16);
    MPI_Barrier(MPI_COMM_WORLD);
    for (other = 0; other < size; other++) {
        OK(MPI_Win_shared_query(win, other, &bytes, &unit, &piece));
        is_shared = bytes == 16 && piece != NULL && piece[15] == other + 1;
        CHECK(is_shared || (bytes == 0 && piece == NULL), "memory of rank %d, or nothing", other);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_free(&win));
}

/* Large pieces, of which little is touched. */
static void large(void)
{
    const MPI_Aint bytes = (MPI_Aint)1 << 26;
    char *base, *piece;
    MPI_Aint found;
    int unit;
    MPI_Win win;

    OK(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[bytes - 1] = (char)(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_shared_query(win, size - 1, &found, &unit, &piece));
    CHECK_INT(found, bytes);
    CHECK_INT(piece[bytes - 1], size);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (all_share_memory()) {
        one_after_another();
        of_the_first();
        apart();
        loads_and_stores();
        operations();
        large();
    }
    of_others();
    return end();
}
