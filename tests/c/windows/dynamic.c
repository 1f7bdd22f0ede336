/* ranks: 1, 2, 3; MPI 5.0 12.2.4 */
/* Dynamic windows: memory that comes and goes; displacements are addresses at the target. */
#include "window.h"

enum { AREAS = 6, WORDS = 100 };

static MPI_Win win;
static int to, from;

static MPI_Aint address_of(void *place)
{
    MPI_Aint address;

    MPI_Get_address(place, &address);
    return address;
}

/* Sends an address to those who write there; gets that of the target. */
static MPI_Aint swap(MPI_Aint mine)
{
    MPI_Aint theirs;

    MPI_Sendrecv(&mine, 1, MPI_AINT, from, 1, &theirs, 1, MPI_AINT, to, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return theirs;
}

static void put_and_get(void)
{
    int *area[AREAS], i, j, x, back;
    MPI_Aint theirs[AREAS];

    for (i = 0; i < AREAS; i++) {
        area[i] = calloc(WORDS, sizeof(int));
        OK(MPI_Win_attach(win, area[i], WORDS * sizeof(int)));
        theirs[i] = swap(address_of(area[i]));
    }
    OK(MPI_Win_lock_all(0, win));
    for (i = 0; i < AREAS; i++)
        for (j = 0; j < WORDS; j += 33) {
            x = rank * 1000 + i * 100 + j;
            OK(MPI_Put(&x, 1, MPI_INT, to, MPI_Aint_add(theirs[i], j * sizeof(int)), 1, MPI_INT,
                       win));
            OK(MPI_Win_flush(to, win));
            OK(MPI_Get(&back, 1, MPI_INT, to, MPI_Aint_add(theirs[i], j * sizeof(int)), 1, MPI_INT,
                       win));
            OK(MPI_Win_flush(to, win));
            CHECK_INT(back, x);
        }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < AREAS; i++) {
        for (j = 0; j < WORDS; j += 33)
            CHECK_INT(area[i][j], from * 1000 + i * 100 + j);
        OK(MPI_Win_detach(win, area[(i * 5) % AREAS]));
    }
    for (i = 0; i < AREAS; i++)
        free(area[i]);
}

/* Fences, and operations that change what is there. */
static void change(void)
{
    long *counter = calloc(2, sizeof *counter), one = 1, old;
    MPI_Aint theirs;

    OK(MPI_Win_attach(win, counter, 2 * sizeof *counter));
    theirs = swap(address_of(counter));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, to, theirs, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, to, theirs, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK_INT(old, 1);
    CHECK_INT(counter[0], 2);
    OK(MPI_Win_detach(win, counter));
    free(counter);
}

static void errors(void)
{
    static char memory[64], other[64];
    char x = 1;

    OK(MPI_Win_attach(win, memory, sizeof memory));
    FAILS(MPI_Win_attach(win, memory + 10, 4), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_attach(win, memory, sizeof memory), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_attach(win, other, -1), MPI_ERR_SIZE);
    FAILS(MPI_Win_detach(win, memory + 1), MPI_ERR_RMA_ATTACH);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    OK(MPI_Put(&x, 1, MPI_CHAR, rank, address_of(memory) + 63, 1, MPI_CHAR, win));
    OK(MPI_Win_flush(rank, win));
    CHECK_INT(memory[63], 1);
    FAILS(MPI_Put(&x, 1, MPI_CHAR, rank, address_of(other), 1, MPI_CHAR, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(other, 2, MPI_CHAR, rank, address_of(memory) + 63, 2, MPI_CHAR, win),
          MPI_ERR_RMA_RANGE);
    CHECK(other[0] == 0 && memory[63] == 1, "nothing to be written");
    if (size > 1) {
        /* The target finds out; the origin hears of it when it waits for the target. */
        int next = (rank + 1) % size;

        OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
        OK(MPI_Put(&x, 1, MPI_CHAR, next, 64, 1, MPI_CHAR, win));
        FAILS(MPI_Win_flush(next, win), MPI_ERR_RMA_RANGE);
        OK(MPI_Win_unlock(next, win));
    }
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_detach(win, memory));
    FAILS(MPI_Win_detach(win, memory), MPI_ERR_RMA_ATTACH);
    /* What is detached may be attached again. */
    OK(MPI_Win_attach(win, memory, 32));
    OK(MPI_Win_attach(win, memory + 32, 32));
    OK(MPI_Win_detach(win, memory + 32));
    OK(MPI_Win_detach(win, memory));
    /* A rank that has no data attaches no bytes, and detaches them. */
    OK(MPI_Win_attach(win, other, 0));
    OK(MPI_Win_attach(win, other, sizeof other));
    OK(MPI_Win_detach(win, other));
    OK(MPI_Win_detach(win, other));
    OK(MPI_Win_attach(win, NULL, 0));
    OK(MPI_Win_detach(win, NULL));
    FAILS(MPI_Win_detach(win, other), MPI_ERR_RMA_ATTACH);
}

/* Memory is attached to dynamic windows only. */
static void other_kinds(void)
{
    char memory[8];
    MPI_Win created;

    OK(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created));
    MPI_Win_set_errhandler(created, MPI_ERRORS_RETURN);
    FAILS(MPI_Win_attach(created, memory, sizeof memory), MPI_ERR_RMA_FLAVOR);
    OK(MPI_Win_free(&created));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    put_and_get();
    change();
    errors();
    other_kinds();
    OK(MPI_Win_free(&win));
    return end();
}
