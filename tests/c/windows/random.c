/* ranks: 1, 2, 3, 5; transports: all; MPI 5.0 12.3, 12.5, 12.7 */
/* Random operations against a model, which each origin keeps of its part of each target. In another
 * part all origins count together. A failure names its seed; `random SEED` plays it alone, and
 * `random FIRST COUNT` as many from there on. */
#include "window.h"

enum { SEEDS = 20, ROUNDS = 12, PART = 4000, RANKS = 8, OPERATIONS = 6 };

/* The words that all use, before the parts of the origins. */
enum { TICKETS, LOCKED, SUM, SUMS = 4, COMMON = SUM + SUMS };

static unsigned long state;
static int seed, model[RANKS][PART], tickets[RANKS][4096], ticket_count[RANKS], locked[RANKS];
static long sums[RANKS][SUMS];

/* The buffers of a round, which must stay until it is over. */
static int buffers[RANKS][OPERATIONS][PART], wanted[RANKS][OPERATIONS][PART];
static int wanted_count[RANKS][OPERATIONS];
static int *ticket_place[RANKS][OPERATIONS];

static int below(int most)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (int)((state >> 33) % (unsigned long)most);
}

static int length(int most)
{
    int limit = below(4) == 0 ? most : most < 12 ? most : 12;

    return 1 + below(limit);
}

/* Elements `first`, `first + step`, ... of a part. */
typedef struct {
    int first, step, count;
} Range;

static Range draw(int from, int room)
{
    Range range;

    range.step = below(3) == 0 ? 2 + below(3) : 1;
    range.count = length(room / range.step);
    range.first = from + below(room - (range.count - 1) * range.step);
    return range;
}

/* A target's datatype for a range, and how many of it. */
static int typed(Range range, MPI_Datatype *datatype)
{
    if (range.step == 1 && below(2)) {
        *datatype = MPI_INT;
        return range.count;
    }
    if (below(2)) {
        MPI_Type_vector(range.count, 1, range.step, MPI_INT, datatype);
    } else {
        static int places[PART];
        int i;

        for (i = 0; i < range.count; i++)
            places[i] = i * range.step;
        MPI_Type_create_indexed_block(range.count, 1, places, MPI_INT, datatype);
    }
    MPI_Type_commit(datatype);
    return 1;
}

static int combined(MPI_Op op, int new, int old)
{
    if (op == MPI_SUM)
        return old + new;
    if (op == MPI_MAX)
        return old > new ? old : new;
    if (op == MPI_BXOR)
        return old ^ new;
    return op == MPI_REPLACE ? new : old;
}

/* Begins an operation of this round on a target; `kind` is the same for all of the round there. */
static void begin_one(MPI_Win win, int target, int number, int kind)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
    int third = PART / OPERATIONS, *buffer = buffers[target][number];
    /* Puts do not overlap: their order is open. */
    Range range = kind == 0 ? draw(number * third, third) : draw(0, PART);
    MPI_Aint at = COMMON + (MPI_Aint)rank * PART + range.first;
    MPI_Datatype datatype;
    int count = typed(range, &datatype), i;
    MPI_Op op = ops[below(kind == 2 ? 5 : 4)];

    wanted_count[target][number] = 0;
    for (i = 0; i < range.count; i++)
        buffer[i] = below(1 << 20);
    if (kind == 0)
        OK(MPI_Put(buffer, range.count, MPI_INT, target, at, count, datatype, win));
    else if (kind == 1)
        OK(MPI_Accumulate(buffer, range.count, MPI_INT, target, at, count, datatype, op, win));
    for (i = 0; i < range.count; i++) {
        int *element = &model[target][range.first + i * range.step];

        wanted[target][number][i] = *element;
        if (kind == 0)
            *element = buffer[i];
        else if (kind <= 2)
            *element = combined(op, buffer[i], *element);
    }
    if (kind == 2) {
        /* The result overwrites the part of the buffer behind the data. */
        static int data[RANKS][OPERATIONS][PART];

        memcpy(data[target][number], buffer, sizeof(int) * range.count);
        OK(MPI_Get_accumulate(data[target][number], range.count, MPI_INT, buffer, range.count,
                              MPI_INT, target, at, count, datatype, op, win));
    } else if (kind == 3) {
        OK(MPI_Get(buffer, range.count, MPI_INT, target, at, count, datatype, win));
    }
    if (kind >= 2)
        wanted_count[target][number] = range.count;
    if (datatype != MPI_INT)
        MPI_Type_free(&datatype);
}

/* What all origins do with the same words. */
static void count_together(MPI_Win win, int target, int number)
{
    static const int one = 1;
    static int more[RANKS][OPERATIONS][SUMS];
    int i;

    ticket_place[target][number] = NULL;
    if (below(2) && ticket_count[target] < 4096) {
        ticket_place[target][number] = &tickets[target][ticket_count[target]++];
        OK(MPI_Fetch_and_op(&one, ticket_place[target][number], MPI_INT, target, TICKETS, MPI_SUM,
                            win));
    }
    for (i = 0; i < SUMS; i++) {
        more[target][number][i] = below(100);
        sums[target][i] += more[target][number][i];
    }
    OK(MPI_Accumulate(more[target][number], SUMS, MPI_INT, target, SUM, SUMS, MPI_INT, MPI_SUM,
                      win));
}

static void operate(MPI_Win win, int target)
{
    int kind = below(4), count = 1 + below(OPERATIONS), number;

    for (number = 0; number < OPERATIONS; number++)
        wanted_count[target][number] = 0;
    for (number = 0; number < count; number++) {
        begin_one(win, target, number, kind);
        if (below(2))
            count_together(win, target, number);
    }
}

static void check_round(int target)
{
    int number, i;

    for (number = 0; number < OPERATIONS; number++)
        for (i = 0; i < wanted_count[target][number]; i++)
            CHECK(buffers[target][number][i] == wanted[target][number][i],
                  "seed %d: operation %d on rank %d to read %d at %d, not %d", seed, number, target,
                  wanted[target][number][i], i, buffers[target][number][i]);
}

/* A number that only who has the lock alone changes. */
static void count_locked(MPI_Win win, int target)
{
    int value;

    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    OK(MPI_Get(&value, 1, MPI_INT, target, LOCKED, 1, MPI_INT, win));
    OK(MPI_Win_flush(target, win));
    value++;
    OK(MPI_Put(&value, 1, MPI_INT, target, LOCKED, 1, MPI_INT, win));
    OK(MPI_Win_unlock(target, win));
    locked[target]++;
}

/* Rounds of one kind of epoch are between barriers: all kinds use the same words. */
static void round_of(MPI_Win win, int epoch)
{
    MPI_Group all;
    int target, times;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    switch (epoch) {
    case 0:
        OK(MPI_Win_fence(below(2) ? MPI_MODE_NOPRECEDE : 0, win));
        for (target = 0; target < size; target++)
            operate(win, target);
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        break;
    case 1:
        OK(MPI_Win_post(all, 0, win));
        OK(MPI_Win_start(all, 0, win));
        for (target = 0; target < size; target++)
            operate(win, target);
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        break;
    case 2:
        OK(MPI_Win_lock_all(0, win));
        for (times = 0; times < 2; times++) {
            for (target = 0; target < size; target++)
                operate(win, target);
            if (times == 0) {
                for (target = 0; target < size; target++)
                    OK(MPI_Win_flush(target, win));
                for (target = 0; target < size; target++)
                    check_round(target);
            }
        }
        OK(MPI_Win_unlock_all(win));
        break;
    default:
        for (times = 0; times < size; times++) {
            target = (rank + times) % size;
            OK(MPI_Win_lock(epoch == 3 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win));
            operate(win, target);
            OK(MPI_Win_unlock(target, win));
            count_locked(win, target);
        }
        break;
    }
    for (target = 0; target < size; target++)
        check_round(target);
    MPI_Group_free(&all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int in_order(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* What all have counted at a target, seen by rank 0. */
static void check_common(MPI_Win win, int target)
{
    int found[COMMON], all_locked, counts[RANKS], places[RANKS], total = 0, i;
    long all_sums[SUMS];
    static int all[RANKS * 4096];

    MPI_Reduce(&locked[target], &all_locked, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(sums[target], all_sums, SUMS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Gather(&ticket_count[target], 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (i = 0; rank == 0 && i < size; i++) {
        places[i] = total;
        total += counts[i];
    }
    MPI_Gatherv(tickets[target], ticket_count[target], MPI_INT, all, counts, places, MPI_INT, 0,
                MPI_COMM_WORLD);
    if (rank > 0)
        return;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    OK(MPI_Get(found, COMMON, MPI_INT, target, 0, COMMON, MPI_INT, win));
    OK(MPI_Win_unlock(target, win));
    CHECK(found[TICKETS] == total, "seed %d: rank %d: %d tickets, not %d", seed, target, total,
          found[TICKETS]);
    CHECK(found[LOCKED] == all_locked, "seed %d: rank %d: %d with the lock, not %d", seed, target,
          all_locked, found[LOCKED]);
    for (i = 0; i < SUMS; i++)
        CHECK(found[SUM + i] == all_sums[i], "seed %d: rank %d: sum %ld, not %d", seed, target,
              all_sums[i], found[SUM + i]);
    qsort(all, total, sizeof *all, in_order);
    for (i = 0; i < total; i++)
        CHECK(all[i] == i, "seed %d: rank %d: ticket %d, not %d", seed, target, i, all[i]);
}

static void play(void)
{
    MPI_Win win;
    void *base;
    int kind, round, epoch, target, i;
    static int found[PART];
    unsigned long common;

    memset(model, 0, sizeof model);
    memset(ticket_count, 0, sizeof ticket_count);
    memset(locked, 0, sizeof locked);
    memset(sums, 0, sizeof sums);
    state = 1000003UL * seed + 17;
    kind = below(all_share_memory() ? 3 : 2);
    base = make_window(kind, (COMMON + (MPI_Aint)size * PART) * sizeof(int), sizeof(int), &win);
    common = state;
    for (round = 0; round < ROUNDS; round++) {
        /* The kinds of epochs are drawn alike everywhere, what happens in them is not. */
        unsigned long own;

        state = common;
        epoch = below(5);
        common = state;
        own = state * (2 * rank + 3) + round;
        state = own;
        round_of(win, epoch);
    }
    for (target = 0; target < size; target++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        OK(MPI_Get(found, PART, MPI_INT, target, COMMON + (MPI_Aint)rank * PART, PART, MPI_INT,
                   win));
        OK(MPI_Win_unlock(target, win));
        for (i = 0; i < PART; i++)
            CHECK(found[i] == model[target][i], "seed %d: rank %d to have %d at %d, not %d", seed,
                  target, model[target][i], i, found[i]);
    }
    for (target = 0; target < size; target++)
        check_common(win, target);
    MPI_Barrier(MPI_COMM_WORLD);
    free_window(kind, base, &win);
}

int main(int argc, char **argv)
{
    int first = argc > 1 ? atoi(argv[1]) : 1;
    int count = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : SEEDS;

    begin(&argc, &argv);
    for (seed = first; seed < first + count; seed++)
        play();
    return end();
}
