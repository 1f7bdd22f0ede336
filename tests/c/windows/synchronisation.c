/* ranks: 1, 2, 3, 4; transports: all; MPI 5.0 12.5 */
/* Epochs of each kind, on one window in turn: fences, groups, locks. */
#include "window.h"

enum { WORDS = 64 };

static int kind, to, from;

/* Fences with all assertions that may be given here. */
static void fences(MPI_Win win, int *base)
{
    const int store = MPI_MODE_NOSTORE;
    int round, x;

    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | store, win));
    for (round = 0; round < 20; round++) {
        x = rank + round;
        OK(MPI_Put(&x, 1, MPI_INT, to, 0, 1, MPI_INT, win));
        OK(MPI_Win_fence(store | (round % 2 ? 0 : MPI_MODE_NOPUT), win));
        CHECK_INT(base[0], from + round);
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    /* No epoch is open: the window may be used in another way. */
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(0, win));
    /* Nothing was done since the last one: so there is no epoch yet. */
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Group group_of(const int *ranks, int number)
{
    MPI_Group world, group;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, number, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

static void wait_for(MPI_Win win, int by_test)
{
    int flag = 0;

    if (!by_test)
        OK(MPI_Win_wait(win));
    while (by_test && !flag)
        OK(MPI_Win_test(win, &flag));
}

/* Each process exposes its memory to the one before it and writes to the one after it. */
static void neighbours(MPI_Win win, int *base)
{
    MPI_Group origins = group_of(&from, 1), targets = group_of(&to, 1);
    int round, x;

    for (round = 0; round < 50; round++) {
        x = rank * 100 + round;
        OK(MPI_Win_post(origins, round % 3 ? 0 : MPI_MODE_NOSTORE, win));
        OK(MPI_Win_start(targets, 0, win));
        OK(MPI_Put(&x, 1, MPI_INT, to, 1, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        wait_for(win, round % 2);
        CHECK_INT(base[1], from * 100 + round);
    }
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

/* Process 0 is written to by all others, in epochs of which some run ahead. */
static void one_target(MPI_Win win, int *base)
{
    int others[64], first = 0, i, round;
    MPI_Group group;

    if (size == 1)
        return;
    for (i = 1; i < size; i++)
        others[i - 1] = i;
    group = rank == 0 ? group_of(others, size - 1) : group_of(&first, 1);
    for (round = 1; round <= 30; round++)
        if (rank == 0) {
            OK(MPI_Win_post(group, 0, win));
            wait_for(win, round % 2);
            for (i = 1; i < size; i++)
                CHECK_INT(base[i], i * round);
        } else {
            int x = rank * round;

            OK(MPI_Win_start(group, 0, win));
            OK(MPI_Put(&x, 1, MPI_INT, 0, rank, 1, MPI_INT, win));
            OK(MPI_Win_complete(win));
        }
    MPI_Group_free(&group);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Process 0 accesses all others at once; one of them is late. */
static void one_origin(MPI_Win win, int *base)
{
    int others[64], first = 0, i, x = 77;
    MPI_Group group;

    if (size == 1)
        return;
    for (i = 1; i < size; i++)
        others[i - 1] = i;
    group = rank == 0 ? group_of(others, size - 1) : group_of(&first, 1);
    if (rank == 0) {
        OK(MPI_Win_start(group, 0, win));
        for (i = 1; i < size; i++)
            OK(MPI_Put(&x, 1, MPI_INT, i, 2, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
    } else {
        double start = MPI_Wtime();

        while (rank == size - 1 && MPI_Wtime() < start + 0.02)
            ;
        OK(MPI_Win_post(group, 0, win));
        OK(MPI_Win_wait(win));
        CHECK_INT(base[2], 77);
    }
    MPI_Group_free(&group);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A process that is in its own group, and groups without members. */
static void alone(MPI_Win win, int *base)
{
    MPI_Group own = group_of(&rank, 1);
    int x = 5, flag = 0;

    OK(MPI_Win_post(own, 0, win));
    OK(MPI_Win_start(own, 0, win));
    OK(MPI_Put(&x, 1, MPI_INT, rank, 3, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK_INT(base[3], 5);
    MPI_Group_free(&own);
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_test(win, &flag));
    CHECK_INT(flag, 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Without a message that says that the memory is exposed: the program makes sure of it. */
static void no_check(MPI_Win win, int *base)
{
    MPI_Group origins = group_of(&from, 1), targets = group_of(&to, 1);
    int x = rank + 9;

    OK(MPI_Win_post(origins, MPI_MODE_NOCHECK, win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_start(targets, MPI_MODE_NOCHECK, win));
    OK(MPI_Put(&x, 1, MPI_INT, to, 4, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK_INT(base[4], from + 9);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

/* An exclusive lock keeps all others out: what it guards is read, changed and written. */
static void exclusive(MPI_Win win, int *base)
{
    int i, x, target;

    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    base[5] = 0;
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < 20; i++)
        for (target = 0; target < size; target++) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
            OK(MPI_Get(&x, 1, MPI_INT, target, 5, 1, MPI_INT, win));
            OK(MPI_Win_flush(target, win));
            x++;
            OK(MPI_Put(&x, 1, MPI_INT, target, 5, 1, MPI_INT, win));
            OK(MPI_Win_unlock(target, win));
        }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    CHECK_INT(base[5], 20 * size);
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Locks of several targets at once, of all, and the flushes. */
static void shared(MPI_Win win, int *base)
{
    int target, x[64], back = 0;

    for (target = 0; target < size; target++)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    for (target = 0; target < size; target++) {
        x[target] = rank * 100 + target;
        OK(MPI_Put(&x[target], 1, MPI_INT, target, 8 + rank, 1, MPI_INT, win));
        OK(MPI_Win_flush_local(target, win));
        x[target] = -1;
    }
    for (target = size - 1; target >= 0; target--)
        OK(MPI_Win_unlock(target, win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    for (target = 0; target < size; target++)
        CHECK_INT(base[8 + target], target * 100 + rank);
    for (target = 0; target < size; target++) {
        OK(MPI_Get(&x[target], 1, MPI_INT, target, 8 + rank, 1, MPI_INT, win));
    }
    OK(MPI_Win_flush_local_all(win));
    for (target = 0; target < size; target++)
        CHECK_INT(x[target], rank * 100 + target);
    MPI_Barrier(MPI_COMM_WORLD);
    x[0] = 4711;
    OK(MPI_Put(x, 1, MPI_INT, to, 8 + rank, 1, MPI_INT, win));
    OK(MPI_Win_flush_all(win));
    OK(MPI_Get(&back, 1, MPI_INT, to, 8 + rank, 1, MPI_INT, win));
    OK(MPI_Win_flush(to, win));
    CHECK_INT(back, 4711);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    OK(MPI_Win_flush_all(win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, to, MPI_MODE_NOCHECK, win));
    OK(MPI_Win_unlock(to, win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, win));
    OK(MPI_Put(x, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
    OK(MPI_Win_flush(MPI_PROC_NULL, win));
    OK(MPI_Win_unlock(MPI_PROC_NULL, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A target that calls nothing: an epoch of another process ends all the same. */
static void target_computes(MPI_Win win, int *base)
{
    int x = 1, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    double start;

    if (size == 1)
        return;
    base[6] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Accumulate(&x, 1, MPI_INT, 0, 6, 1, MPI_INT, MPI_SUM, win));
        OK(MPI_Win_unlock(0, win));
        MPI_Send(&x, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    } else if (rank == 0) {
        start = MPI_Wtime();
        while (*(volatile int *)&base[6] == 0 && MPI_Wtime() < start + 20)
            ;
        CHECK(base[6] == 1, "the number to come without a call of the target");
        MPI_Irecv(&x, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Two windows over the same memory. */
static void overlapping(void)
{
    int memory[4] = {0, 0, 0, 0}, x = rank + 1;
    MPI_Win one, other;

    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &one));
    OK(MPI_Win_create(memory + 2, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &other));
    OK(MPI_Win_fence(0, one));
    OK(MPI_Win_fence(0, other));
    OK(MPI_Put(&x, 1, MPI_INT, to, 0, 1, MPI_INT, one));
    OK(MPI_Put(&x, 1, MPI_INT, to, 1, 1, MPI_INT, other));
    OK(MPI_Win_fence(0, other));
    OK(MPI_Win_fence(0, one));
    CHECK(memory[0] == from + 1 && memory[3] == from + 1 && memory[2] == 0, "one of each");
    OK(MPI_Win_free(&one));
    OK(MPI_Win_free(&other));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    for (kind = CREATED; kind <= SHARED; kind++) {
        int *base, turn;
        MPI_Win win;

        if (kind == SHARED && !all_share_memory())
            continue;
        base = make_window(kind, WORDS * sizeof(int), sizeof(int), &win);
        for (turn = 0; turn < 2; turn++) {
            fences(win, base);
            neighbours(win, base);
            exclusive(win, base);
            one_target(win, base);
            shared(win, base);
            one_origin(win, base);
            alone(win, base);
            no_check(win, base);
            target_computes(win, base);
        }
        free_window(kind, base, &win);
    }
    overlapping();
    return end();
}
