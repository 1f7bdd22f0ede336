/* ranks: 1, 2, 3; MPI 5.0 12.5, 12.6 */
/* Wrong calls on windows: each returns an error of its class, and the window can be used on. */
#include "window.h"

enum { WORDS = 10 };

static long x = 1, y = 7;
static int next;

static void no_window(void)
{
    MPI_Win null = MPI_WIN_NULL, foreign = (MPI_Win)MPI_COMM_WORLD;
    MPI_Group group;
    MPI_Request request;

    FAILS(MPI_Win_fence(0, null), MPI_ERR_WIN);
    FAILS(MPI_Win_fence(0, foreign), MPI_ERR_WIN);
    FAILS(MPI_Win_free(&null), MPI_ERR_WIN);
    FAILS(MPI_Win_lock_all(0, null), MPI_ERR_WIN);
    FAILS(MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, null), MPI_ERR_WIN);
    FAILS(MPI_Rput(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, null, &request), MPI_ERR_WIN);
    CHECK(request == MPI_REQUEST_NULL, "no request");
    FAILS(MPI_Win_get_group(null, &group), MPI_ERR_WIN);
    FAILS(MPI_Win_set_errhandler(null, MPI_ERRORS_RETURN), MPI_ERR_WIN);
}

static void creation(void)
{
    MPI_Win win;
    void *base;

    FAILS(MPI_Win_create(&x, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
    CHECK(win == MPI_WIN_NULL, "no window");
    FAILS(MPI_Win_create(&x, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
    FAILS(MPI_Win_create(&x, 8, -4, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
    FAILS(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
    FAILS(MPI_Win_allocate(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_DISP);
    FAILS(MPI_Win_allocate_shared(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_DISP);
    FAILS(MPI_Win_create(&x, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
}

/* Outside of epochs. */
static void no_epoch(MPI_Win win)
{
    MPI_Request request;
    int flag;

    FAILS(MPI_Put(&x, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Get(&y, 1, MPI_LONG, next, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Accumulate(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Fetch_and_op(&x, &y, MPI_LONG, next, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Compare_and_swap(&x, &x, &y, MPI_LONG, next, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Rput(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, win, &request), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock(rank, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush(rank, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush_local(rank, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
}

/* Within a lock. */
static void locked(MPI_Win *win)
{
    MPI_Win same = *win;

    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, *win));
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, *win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock_all(0, *win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock_all(*win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, *win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_free(win), MPI_ERR_RMA_SYNC);
    CHECK(*win == same, "the window to stay");
    FAILS(MPI_Win_start(MPI_GROUP_EMPTY, 0, *win), MPI_ERR_RMA_SYNC);
    if (next != rank) {
        FAILS(MPI_Win_flush(next, *win), MPI_ERR_RMA_SYNC);
        FAILS(MPI_Win_unlock(next, *win), MPI_ERR_RMA_SYNC);
        FAILS(MPI_Put(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, *win), MPI_ERR_RMA_SYNC);
    }
    OK(MPI_Win_unlock(rank, *win));
    FAILS(MPI_Win_unlock(rank, *win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_lock_all(0, *win));
    FAILS(MPI_Win_lock_all(0, *win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, *win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock(rank, *win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_unlock_all(*win));
}

/* Groups. */
static void posted(MPI_Win win)
{
    MPI_Group own;

    MPI_Comm_group(MPI_COMM_SELF, &own);
    OK(MPI_Win_post(own, 0, win));
    FAILS(MPI_Win_post(own, 0, win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_start(own, 0, win));
    FAILS(MPI_Win_start(own, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    if (next != rank)
        FAILS(MPI_Put(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    MPI_Group_free(&own);
    FAILS(MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
}

static void places(MPI_Win win)
{
    const int three[3] = {1, 2, 3};

    OK(MPI_Win_lock_all(0, win));
    FAILS(MPI_Put(&x, 1, MPI_LONG, next, WORDS, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(three, 3, MPI_INT, next, WORDS - 1, 3, MPI_INT, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Get(&y, 1, MPI_LONG, next, WORDS, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Fetch_and_op(&x, &y, MPI_LONG, next, WORDS, MPI_SUM, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(&x, 1, MPI_LONG, next, (MPI_Aint)1 << 62, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(&x, 1, MPI_LONG, next, -1, 1, MPI_LONG, win), MPI_ERR_DISP);
    FAILS(MPI_Put(&x, 1, MPI_LONG, size, 0, 1, MPI_LONG, win), MPI_ERR_RANK);
    FAILS(MPI_Put(&x, 1, MPI_LONG, -77, 0, 1, MPI_LONG, win), MPI_ERR_RANK);
    FAILS(MPI_Win_flush(size, win), MPI_ERR_RANK);
    FAILS(MPI_Put(&x, -1, MPI_LONG, next, 0, 1, MPI_LONG, win), MPI_ERR_COUNT);
    FAILS(MPI_Put(&x, 1, MPI_LONG, next, 0, -1, MPI_LONG, win), MPI_ERR_COUNT);
    OK(MPI_Win_unlock_all(win));
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    while ((*length)-- > 0)
        ((long *)inout)[*length] += ((long *)in)[*length];
}

static void types_and_operators(MPI_Win win)
{
    MPI_Op own;
    MPI_Datatype uncommitted, mixed;
    const int ones[] = {1, 1};
    const MPI_Aint at[] = {0, 8};
    const MPI_Datatype both[] = {MPI_LONG, MPI_DOUBLE};
    double z[2] = {1, 2}, old[2];

    MPI_Op_create(add, 1, &own);
    MPI_Type_contiguous(2, MPI_LONG, &uncommitted);
    MPI_Type_create_struct(2, ones, at, both, &mixed);
    MPI_Type_commit(&mixed);
    OK(MPI_Win_lock_all(0, win));
    FAILS(MPI_Put(z, 1, uncommitted, next, 0, 2, MPI_LONG, win), MPI_ERR_TYPE);
    FAILS(MPI_Put(z, 2, MPI_LONG, next, 0, 1, uncommitted, win), MPI_ERR_TYPE);
    FAILS(MPI_Put(z, 1, MPI_DATATYPE_NULL, next, 0, 1, MPI_LONG, win), MPI_ERR_TYPE);
    FAILS(MPI_Accumulate(&x, 1, MPI_LONG, next, 0, 1, MPI_DOUBLE, MPI_SUM, win), MPI_ERR_TYPE);
    FAILS(MPI_Accumulate(z, 1, mixed, next, 0, 1, mixed, MPI_SUM, win), MPI_ERR_TYPE);
    FAILS(MPI_Accumulate(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_NO_OP, win), MPI_ERR_OP);
    FAILS(MPI_Accumulate(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, own, win), MPI_ERR_OP);
    FAILS(MPI_Accumulate(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_OP_NULL, win), MPI_ERR_OP);
    FAILS(MPI_Get_accumulate(&x, 1, MPI_LONG, &y, 1, MPI_LONG, next, 0, 1, MPI_LONG, own, win),
          MPI_ERR_OP);
    FAILS(MPI_Fetch_and_op(z, old, MPI_DOUBLE, next, 0, MPI_BAND, win), MPI_ERR_OP);
    FAILS(MPI_Compare_and_swap(z, z, old, MPI_DOUBLE, next, 0, win), MPI_ERR_TYPE);
    FAILS(MPI_Fetch_and_op(z, old, mixed, next, 0, MPI_SUM, win), MPI_ERR_TYPE);
    /* As many bytes of another type are no error. */
    OK(MPI_Put(&x, 1, MPI_LONG, next, 0, 1, MPI_DOUBLE, win));
    OK(MPI_Win_unlock_all(win));
    MPI_Op_free(&own);
    MPI_Type_free(&uncommitted);
    MPI_Type_free(&mixed);
}

static void bits(MPI_Win win)
{
    const int no_epochs = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;

    FAILS(MPI_Win_fence(12345678, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_post(MPI_GROUP_EMPTY, MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_start(MPI_GROUP_EMPTY, MPI_MODE_NOSTORE, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_lock_all(MPI_MODE_NOSUCCEED, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_lock(4711, rank, 0, win), MPI_ERR_LOCKTYPE);
    OK(MPI_Win_fence(no_epochs | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win));
}

/* Requests belong to locks; a fence epoch is no place for them. */
static void requests(MPI_Win win)
{
    MPI_Request request;

    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    FAILS(MPI_Rput(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, win, &request), MPI_ERR_RMA_SYNC);
    CHECK(request == MPI_REQUEST_NULL, "no request");
    OK(MPI_Put(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, win));
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    FAILS(MPI_Put(&x, 1, MPI_LONG, next, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    void *base;
    int kind;

    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    next = (rank + 1) % size;
    no_window();
    creation();
    for (kind = CREATED; kind <= ALLOCATED; kind++) {
        base = make_window(kind, WORDS * sizeof(long), sizeof(long), &win);
        no_epoch(win);
        locked(&win);
        posted(win);
        places(win);
        types_and_operators(win);
        bits(win);
        requests(win);
        MPI_Barrier(MPI_COMM_WORLD);
        free_window(kind, base, &win);
    }
    return end();
}
