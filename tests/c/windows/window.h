/* What the programs on windows have in common. */
#ifndef WINDOW_H
#define WINDOW_H

#include "../returned.h"

enum { CREATED, ALLOCATED, SHARED, DYNAMIC, KINDS };

/* A window of `bytes` bytes of zeros in each process, whose errors are returned. */
static inline void *make_window(int kind, MPI_Aint bytes, int unit, MPI_Win *win)
{
    void *base = NULL;

    switch (kind) {
    case CREATED:
        MPI_Alloc_mem(bytes > 0 ? bytes : 1, MPI_INFO_NULL, &base);
        memset(base, 0, bytes);
        MPI_Win_create(base, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, win);
        break;
    case ALLOCATED:
        MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, win);
        break;
    case SHARED:
        MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, win);
        break;
    }
    if (kind != CREATED && bytes > 0)
        memset(base, 0, bytes);
    MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    return base;
}

static inline void free_window(int kind, void *base, MPI_Win *win)
{
    OK(MPI_Win_free(win));
    CHECK(*win == MPI_WIN_NULL, "the handle to be null");
    if (kind == CREATED)
        MPI_Free_mem(base);
}

/* True if all processes share memory: a window of shared memory can be made. */
static inline int all_share_memory(void)
{
    MPI_Comm near;
    int near_size;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    MPI_Comm_size(near, &near_size);
    MPI_Comm_free(&near);
    return near_size == size;
}

#endif
