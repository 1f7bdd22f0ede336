/* Windows on which somebody waits for ever. */
#ifndef STALL_WINDOWS_H
#define STALL_WINDOWS_H

#include "hang.h"

static MPI_Win table(void)
{
    MPI_Win win;
    int *base;

    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_name(win, "table");
    return win;
}

/* The last rank does not come to a fence. */
static void missing_in_fence(void)
{
    MPI_Win win = table();

    if (rank < size - 1)
        MPI_Win_fence(0, win);
    else
        receive(0, 1);
}

/* Rank 0 keeps its lock. */
static void lock_that_is_held(void)
{
    MPI_Win win = table();

    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        receive(1, 1);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
}

/* Rank 1 does not post. */
static void missing_post(void)
{
    MPI_Win win = table();
    MPI_Group all, other;
    int one_rank = 1;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &one_rank, &other);
    if (rank == 0) {
        MPI_Win_start(other, 0, win);
        MPI_Win_complete(win);
    } else {
        receive(0, 1);
    }
}

#endif
