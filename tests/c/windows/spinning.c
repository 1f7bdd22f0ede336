/* ranks: 1, 2, 3; MPI 5.0 12.5.4, 12.7.3 */
/* A rank waits in a loop of MPI_Win_sync until its memory changes. Nobody flushes: what others have
 * begun comes all the same. */
#include "window.h"

/* The number of a round goes around all ranks, each of which waits for it in its own memory. */
static void around(MPI_Win win, volatile long *mine, int rounds)
{
    long round;

    for (round = 1; round <= rounds; round++) {
        if (rank == 0)
            OK(MPI_Accumulate(&round, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, MPI_REPLACE,
                              win));
        while (*mine != round)
            OK(MPI_Win_sync(win));
        if (rank != 0)
            OK(MPI_Accumulate(&round, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, MPI_REPLACE,
                              win));
    }
    OK(MPI_Win_sync(win));
}

/* What was begun with a request comes while its origin waits for the answer of another rank. */
static void with_requests(MPI_Win win, volatile long *mine)
{
    long round;
    MPI_Request request;

    for (round = 1; round <= 50; round++) {
        if (rank == 0) {
            long heard;
            int i;

            for (i = 1; i < size; i++) {
                OK(MPI_Rput(&round, 1, MPI_LONG, i, 2, 1, MPI_LONG, win, &request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                MPI_Recv(&heard, 1, MPI_LONG, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(heard == round, "round %ld, not %ld", round, heard);
            }
        } else {
            while (mine[2] != round)
                OK(MPI_Win_sync(win));
            MPI_Send(&round, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* What a rank does to its own memory is not overtaken by what others do later. */
static void own_first(MPI_Win win, volatile long *mine)
{
    long none = -1, value = rank;
    int i, other = (rank + 1) % size, before = (rank + size - 1) % size;

    for (i = 0; i < 100; i++) {
        OK(MPI_Accumulate(&none, 1, MPI_LONG, rank, 1, 1, MPI_LONG, MPI_REPLACE, win));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Accumulate(&value, 1, MPI_LONG, other, 1, 1, MPI_LONG, MPI_REPLACE, win));
        OK(MPI_Win_flush(other, win));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_sync(win));
        CHECK_INT(mine[1], before);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    long *mine;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    OK(MPI_Win_allocate(3 * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                        &win));
    mine[0] = mine[1] = mine[2] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    around(win, mine, 200);
    own_first(win, mine);
    with_requests(win, mine);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    MPI_Finalize();
    return 0;
}
