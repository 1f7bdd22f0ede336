/* ranks: 2, 3; MPI 5.0 11.6, 12.7 */
/* Several threads use one window and windows of their own at once. */
#include "window.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 100 };

static MPI_Win common, own[THREADS];
static long *common_base, *own_base[THREADS];

static void *work(void *argument)
{
    const int me = *(int *)argument, to = (rank + 1) % size;
    long one = 1, old, last = -1, x, back;
    MPI_Request request;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, common));
        OK(MPI_Win_flush(0, common));
        CHECK(old > last, "%ld to be more than %ld", old, last);
        last = old;
        x = i * THREADS + me;
        OK(MPI_Put(&x, 1, MPI_LONG, to, 1 + me, 1, MPI_LONG, common));
        OK(MPI_Win_flush(to, common));
        OK(MPI_Rget(&back, 1, MPI_LONG, to, 1 + me, 1, MPI_LONG, common, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(back, x);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, own[me]));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, own[me]));
        OK(MPI_Win_unlock(to, own[me]));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    int number[THREADS], level, i;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_INT(level, MPI_THREAD_MULTIPLE);
    common_base = make_window(ALLOCATED, (1 + THREADS) * sizeof(long), sizeof(long), &common);
    for (i = 0; i < THREADS; i++)
        own_base[i] = make_window(i % 2, sizeof(long), sizeof(long), &own[i]);
    OK(MPI_Win_lock_all(0, common));
    for (i = 0; i < THREADS; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, work, &number[i]);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    OK(MPI_Win_unlock_all(common));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK_INT(common_base[0], (long)size * THREADS * ROUNDS);
    for (i = 0; i < THREADS; i++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, own[i]));
        CHECK_INT(*own_base[i], ROUNDS);
        OK(MPI_Win_unlock(rank, own[i]));
        free_window(i % 2, own_base[i], &own[i]);
    }
    free_window(ALLOCATED, common_base, &common);
    return end();
}
