/* ranks: 2, 4; MPI 5.0 12.3.4, 12.7.1, 12.7.2 */
/* Many processes change the same elements: nothing is lost, and order is kept. */
#include "window.h"

enum { ROUNDS = 200, WORDS = 8 };

/* Each process adds; all numbers below the sum are given out once. */
static void counter_of_fetch_and_op(MPI_Win win, const long *base)
{
    static char seen[8 * ROUNDS];
    long one = 1, old, last = -1;
    char *all = calloc(size, ROUNDS);
    int i;

    (void)base;
    memset(seen, 0, sizeof seen);
    OK(MPI_Win_lock_all(0, win));
    for (i = 0; i < ROUNDS; i++) {
        OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
        CHECK(old > last && old < (long)size * ROUNDS, "%ld to be more than %ld", old, last);
        last = old;
        seen[old] = 1;
    }
    OK(MPI_Win_unlock_all(win));
    MPI_Allreduce(seen, all, size * ROUNDS, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < size * ROUNDS; i++)
        CHECK(all[i] == 1, "number %d to be given out once, not %d times", i, all[i]);
    free(all);
}

/* A lock of one's own, of compare and swap; the counter that it guards is of puts and gets. */
static void counter_of_compare_and_swap(MPI_Win win)
{
    int free_ = 0, mine = rank + 1, old, i;
    long value;

    OK(MPI_Win_lock_all(0, win));
    for (i = 0; i < ROUNDS / 4; i++) {
        do {
            OK(MPI_Compare_and_swap(&mine, &free_, &old, MPI_INT, 0, 1, win));
            OK(MPI_Win_flush(0, win));
            CHECK(old != mine, "nobody else to have the lock as rank %d", rank);
        } while (old != free_);
        OK(MPI_Get(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Compare_and_swap(&free_, &mine, &old, MPI_INT, 0, 1, win));
        OK(MPI_Win_flush(0, win));
        CHECK_INT(old, mine);
    }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Get(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
    CHECK_INT(value, (long)size * (ROUNDS / 4));
}

/* All add to all, with elements of several types; also one element at a time and many at once. */
static void sums(int kind)
{
    MPI_Win win;
    double *base = make_window(kind, WORDS * sizeof(double), sizeof(double), &win), add[WORDS];
    int to, i, word;

    for (word = 0; word < WORDS; word++)
        add[word] = word + 1;
    OK(MPI_Win_lock_all(0, win));
    for (i = 0; i < ROUNDS; i++)
        for (to = 0; to < size; to++) {
            word = (i + rank) % WORDS;
            OK(MPI_Accumulate(&add[word], 1, MPI_DOUBLE, to, word, 1, MPI_DOUBLE, MPI_SUM, win));
            if (i % 4 == 0)
                OK(MPI_Accumulate(add, WORDS, MPI_DOUBLE, to, 0, WORDS, MPI_DOUBLE, MPI_SUM, win));
        }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    for (word = 0; word < WORDS; word++) {
        int times = size * (ROUNDS / WORDS) + size * (ROUNDS / 4);

        CHECK(base[word] == add[word] * times, "word %d to be %g, not %g", word,
              add[word] * times, base[word]);
    }
    OK(MPI_Win_unlock(rank, win));
    free_window(kind, base, &win);
}

/* Accumulates of one origin to one element come in order, and a read with MPI_NO_OP among them. */
static void order(MPI_Win win)
{
    long value[ROUNDS], seen[ROUNDS], final;
    int i;

    OK(MPI_Win_lock_all(0, win));
    for (i = 0; i < ROUNDS; i++) {
        value[i] = rank * 10000 + i + 1;
        OK(MPI_Accumulate(&value[i], 1, MPI_LONG, 0, 8 + rank, 1, MPI_LONG, MPI_REPLACE, win));
        OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, &seen[i], 1, MPI_LONG, 0, 8 + rank, 1, MPI_LONG,
                              MPI_NO_OP, win));
    }
    OK(MPI_Win_flush(0, win));
    for (i = 0; i < ROUNDS; i++)
        CHECK_INT(seen[i], value[i]);
    OK(MPI_Fetch_and_op(NULL, &final, MPI_LONG, 0, 8 + rank, MPI_NO_OP, win));
    OK(MPI_Win_flush(0, win));
    CHECK_INT(final, value[ROUNDS - 1]);
    OK(MPI_Win_unlock_all(win));
}

/* A pair is one element: the value never comes apart from its index. */
static void pairs(int kind)
{
    struct {
        double value;
        int index;
    } *base, mine, old;
    MPI_Win win;
    int i;

    base = make_window(kind, sizeof *base, sizeof *base, &win);
    OK(MPI_Win_lock_all(0, win));
    for (i = 1; i <= ROUNDS; i++) {
        mine.value = i * size + rank;
        mine.index = i * size + rank;
        OK(MPI_Get_accumulate(&mine, 1, MPI_DOUBLE_INT, &old, 1, MPI_DOUBLE_INT, size - 1, 0, 1,
                              MPI_DOUBLE_INT, MPI_MAXLOC, win));
        OK(MPI_Win_flush(size - 1, win));
        CHECK(old.value == old.index, "%g and %d to belong together", old.value, old.index);
    }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
        CHECK_INT(base->index, ROUNDS * size + size - 1);
        OK(MPI_Win_unlock(rank, win));
    }
    free_window(kind, base, &win);
}

/* All at once, as often as they can. */
static void crowd(MPI_Win win)
{
    enum { TIMES = 20000 };
    static const long one = 1;
    long value, old;
    int i;

    OK(MPI_Win_lock_all(0, win));
    for (i = 0; i < TIMES; i++) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 7, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 7, MPI_SUM, win));
    }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Get(&value, 1, MPI_LONG, 0, 7, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
    CHECK_INT(value, (long)size * TIMES * 2);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int kind;

    begin(&argc, &argv);
    for (kind = CREATED; kind <= SHARED; kind++) {
        MPI_Win win;
        long *base;

        if (kind == SHARED && !all_share_memory())
            continue;
        base = make_window(kind, (8 + size) * sizeof(long), sizeof(long), &win);
        counter_of_fetch_and_op(win, base);
        counter_of_compare_and_swap(win);
        order(win);
        crowd(win);
        free_window(kind, base, &win);
        sums(kind);
        pairs(kind);
    }
    return end();
}
