/* ranks: 1, 2, 3, 5; transports: one; MPI 5.0 12.2.1, 3.7 */
/* Windows that come and go while long messages, signals and operations of all are on their way. */
#include "in_place.h"
#include <sched.h>
#include <signal.h>
#include <sys/time.h>

enum { MIB = 1 << 20, LONG_BYTES = MIB };

/* A long message comes and one leaves, from the peer before and to the one behind. */
struct messages {
    char *in, *out;
    MPI_Request request[2];
};

static void start_receive(struct messages *messages)
{
    OK(MPI_Irecv(messages->in, LONG_BYTES, MPI_BYTE, from, 6, MPI_COMM_WORLD,
                 &messages->request[0]));
}

static void start_send(struct messages *messages)
{
    OK(MPI_Isend(messages->out, LONG_BYTES, MPI_BYTE, to, 6, MPI_COMM_WORLD,
                 &messages->request[1]));
}

/* Where the window lies: in the first page of a message, in its last page, or over all of it. */
static char *place_of(char *message, int round)
{
    return message + (round % 3 == 1 ? LONG_BYTES : -100);
}

static size_t bytes_of(int round)
{
    return round % 3 == 2 ? LONG_BYTES + 200 : 100;
}

/* A window is created and freed, over a message or beside it, before the message has come. Of the
 * window, only what is not the message's is used before. */
static void beside_messages(char *in, char *out, int round)
{
    struct messages messages = {in, out, {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};
    const int is_of_out = round / 3 % 2, order = round / 6 % 3;
    char *base = place_of(is_of_out ? out : in, round);
    MPI_Win win;

    fill(out, LONG_BYTES, round + rank);
    memset(in, 0, LONG_BYTES);
    fill(base, 100, FIRST + rank);
    fill(base + bytes_of(round) - 100, 100, FIRST + rank);
    /* A receive after the creation finds a message that has come without one. */
    if (order != 1)
        start_receive(&messages);
    if (order == 2)
        MPI_Barrier(MPI_COMM_WORLD);
    start_send(&messages);
    win = window_of(MPI_COMM_WORLD, base, bytes_of(round));
    if (order == 1)
        start_receive(&messages);
    if (round % 2)
        OK(MPI_Waitall(2, messages.request, MPI_STATUSES_IGNORE));
    see(win, 0, 100, FIRST);
    take(win, base, bytes_of(round) - 100, 100, PUT);
    OK(MPI_Win_free(&win));
    OK(MPI_Waitall(2, messages.request, MPI_STATUSES_IGNORE));
    CHECK_FILLED(in, LONG_BYTES, round + from);
    CHECK_FILLED(out, LONG_BYTES, round + rank);
    CHECK_FILLED(base + bytes_of(round) - 100, 100, PUT + from);
}

static void long_messages(void)
{
    enum { ROUNDS = 54 };
    const size_t bytes = LONG_BYTES + 3 * page_bytes;
    char *in = malloc(bytes), *out = malloc(bytes);
    int round;

    for (round = 0; round < ROUNDS; round++)
        beside_messages(in + 200 + round * 577 % page_bytes, out + 200 + round * 91 % page_bytes,
                        round);
    free(in);
    free(out);
}

/* A collective operation is under way, whose buffers share pages with the window. */
static void collective_under_way(void)
{
    enum { NUMBERS = 100000, ROUNDS = 10 };
    long *in = malloc((NUMBERS + 10) * sizeof *in), *out = malloc((NUMBERS + 10) * sizeof *out);
    MPI_Request request;
    MPI_Win win;
    int round, i;

    for (round = 0; round < ROUNDS; round++) {
        long *place = (round % 2 ? in : out) + NUMBERS;

        for (i = 0; i < NUMBERS; i++)
            out[i] = i + rank;
        fill(place, 80, FIRST + rank);
        OK(MPI_Iallreduce(out, in, NUMBERS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request));
        win = window_of(MPI_COMM_WORLD, place, 80);
        see(win, 0, 80, FIRST);
        take(win, (char *)place, 0, 80, PUT);
        OK(MPI_Win_free(&win));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (i = 0; i < NUMBERS; i++)
            CHECK_INT(in[i], (long)size * i + size * (size - 1) / 2);
        CHECK_FILLED(place, 80, PUT + from);
    }
    free(in);
    free(out);
}

/* What the handler counts: elsewhere, and in the pages of windows. */
enum { COUNTERS = 3 };

static volatile long elsewhere, *counter[COUNTERS];

/* A signal may come to a thread of the library: so handlers may run at once. */
static void count_signal(int number)
{
    int i;

    (void)number;
    __sync_fetch_and_add(&elsewhere, 1);
    for (i = 0; i < COUNTERS; i++)
        __sync_fetch_and_add(counter[i], 1);
}

static void set_timer(int period_us)
{
    const struct itimerval timer = {{0, period_us}, {0, period_us}};

    CHECK_INT(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* The last handler may still run in another thread; a count that is lost stays lost. */
static void check_counters(void)
{
    int i, times;

    for (i = 0; i < COUNTERS; i++) {
        for (times = 0; *counter[i] != elsewhere && times < 1000; times++)
            sched_yield();
        CHECK(*counter[i] == elsewhere, "counter %d to be %ld, not %ld", i, elsewhere,
              *counter[i]);
    }
}

/* A handler counts before, in and behind a window that is created and freed again and again. */
static void signals(size_t bytes, int rounds, int period_us)
{
    struct sigaction action, old;
    char *memory = calloc(bytes + 64, 1), *base = memory + 16;
    MPI_Win win;
    int i;

    elsewhere = 0;
    counter[0] = (long *)(memory + 8);
    counter[1] = (long *)(base + bytes / 16 * 8);
    counter[2] = (long *)(base + bytes + 8);
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    action.sa_flags = SA_RESTART;
    CHECK_INT(sigaction(SIGALRM, &action, &old), 0);
    set_timer(period_us);
    for (i = 0; i < rounds; i++) {
        win = window_of(MPI_COMM_WORLD, base, bytes);
        fill(base, 8, FIRST + rank);
        see(win, 0, 8, FIRST);
        OK(MPI_Win_free(&win));
        CHECK_FILLED(base, 8, FIRST + rank);
    }
    set_timer(0);
    CHECK_INT(sigaction(SIGALRM, &old, NULL), 0);
    check_counters();
    free(memory);
}

/* All change the same numbers of all; the owner does, too. A row for each operator. */
enum { COLUMNS = 40, TIMES = 400, ROWS = 5 };

static void change_all(MPI_Win win, int i)
{
    static const MPI_Op operator[ROWS - 1] = {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_MIN};
    long value[ROWS - 1][COLUMNS], one = 1, old[COLUMNS], last;
    int target, row, column;

    for (column = 0; column < COLUMNS; column++) {
        value[0][column] = column + 1;
        value[1][column] = rank * 1000 + i;
        value[2][column] = (long)1 << rank;
        value[3][column] = -rank * 1000 - i;
    }
    for (target = 0; target < size; target++) {
        for (row = 0; row < ROWS - 1; row++)
            OK(MPI_Accumulate(value[row], COLUMNS, MPI_LONG, target, row * sizeof value[row],
                              COLUMNS, MPI_LONG, operator[row], win));
        OK(MPI_Get_accumulate(value[0], COLUMNS, MPI_LONG, old, COLUMNS, MPI_LONG, target, 0,
                              COLUMNS, MPI_LONG, MPI_SUM, win));
        OK(MPI_Fetch_and_op(&one, &last, MPI_LONG, target, (ROWS - 1) * sizeof old, MPI_SUM,
                            win));
        /* The results are to be taken before the next target gives others. */
        OK(MPI_Win_flush_local(target, win));
    }
}

static void check_number(const char *base, int row, int column, long wanted)
{
    long number;

    memcpy(&number, base + (row * COLUMNS + column) * sizeof number, sizeof number);
    CHECK(number == wanted, "row %d, column %d to be %ld, not %ld", row, column, wanted, number);
}

static void contention(char *base)
{
    const size_t bytes = ROWS * COLUMNS * sizeof(long);
    MPI_Win win;
    int i;

    memset(base, 0, bytes);
    win = window_of(MPI_COMM_WORLD, base, bytes);
    OK(MPI_Win_lock_all(0, win));
    for (i = 0; i < TIMES; i++)
        change_all(win, i);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    for (i = 0; i < COLUMNS; i++) {
        check_number(base, 0, i, 2L * (i + 1) * TIMES * size);
        check_number(base, 1, i, (size - 1) * 1000 + TIMES - 1);
        check_number(base, 2, i, TIMES % 2 ? (1L << size) - 1 : 0);
        check_number(base, 3, i, -(size - 1) * 1000 - TIMES + 1);
        check_number(base, 4, i, i == 0 ? (long)TIMES * size : 0);
    }
}

/* The same numbers by compare and swap: of memory that is moved at some ranks only. */
static void contention_of_swaps(long *number)
{
    MPI_Win win;
    long old, wanted, next;
    int i;

    *number = 0;
    win = window_of(MPI_COMM_WORLD, number, sizeof *number);
    OK(MPI_Win_lock_all(0, win));
    for (i = 0, wanted = 0; i < TIMES;) {
        next = wanted + 1;
        OK(MPI_Compare_and_swap(&next, &wanted, &old, MPI_LONG, size - 1, 0, win));
        OK(MPI_Win_flush(size - 1, win));
        i += old == wanted;
        wanted = old == wanted ? next : old;
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    CHECK_INT(*number, rank == size - 1 ? (long)TIMES * size : 0);
}

static void contention_of_all(void)
{
    char *memory = malloc(5 * page_bytes);
    char *page = memory + page_bytes - (uintptr_t)memory % page_bytes;
    long local;

    contention(page + 8);
    contention(page + 3);
    contention(page + page_bytes - 4);
    contention(page + page_bytes - 64);
    contention_of_swaps((long *)page + 5);
    contention_of_swaps(&local);
    contention_of_swaps(rank % 2 ? &local : (long *)page + 7);
    free(memory);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    find_peers();
    long_messages();
    collective_under_way();
    signals(32, 100, 1000);
    signals(4800, 200, 100);
    signals(MIB, 60, 50);
    contention_of_all();
    forget_peers();
    return end();
}
