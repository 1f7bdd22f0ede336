/* ranks: 1, 2, 3, 5; transports: one; MPI 5.0 12.2.1, 11.6 */
/* Windows of processes that have children and threads, older and younger than the windows. */
#include "in_place.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { BYTES = 3000, AROUND = 1000, BLOCK = BYTES + 2 * AROUND };

/* A child, which has a copy of all memory of the process. */
struct child {
    pid_t pid;
    int told, tells;
    const char *when;
};

/* What a child ends with. */
enum { ALL_RIGHT, NOT_AS_AT_FORK, NOT_ITS_OWN, NO_PIPE };

static int has_pattern(const char *memory, size_t bytes, unsigned seed)
{
    size_t i;

    for (i = 0; i < bytes; i++)
        if ((unsigned char)memory[i] != pattern(i, seed))
            return 0;
    return 1;
}

/* A child writes to the first half of the block at once, and reads everything again when it is told
 * to: its half is as it left it, the other one as it was at the fork. */
static int live_as_child(char *block, unsigned seed, int told, int tells)
{
    char word = 0;

    if (!has_pattern(block, BLOCK, seed))
        return NOT_AS_AT_FORK;
    fill(block, BLOCK / 2, 200);
    if (write(tells, &word, 1) != 1 || read(told, &word, 1) != 1)
        return NO_PIPE;
    if (!has_pattern(block, BLOCK / 2, 200))
        return NOT_ITS_OWN;
    fill(block, BLOCK / 2, seed);
    return has_pattern(block, BLOCK, seed) ? ALL_RIGHT : NOT_AS_AT_FORK;
}

/* The block has this pattern at the fork. Returns when the child has written. */
static struct child start_child(char *block, unsigned seed, const char *when)
{
    struct child child;
    int down[2], up[2];
    char word;

    fill(block, BLOCK, seed);
    CHECK(pipe(down) == 0 && pipe(up) == 0, "two pipes");
    child.pid = fork();
    CHECK(child.pid >= 0, "a child");
    if (child.pid == 0)
        _exit(live_as_child(block, seed, down[0], up[1]));
    close(down[0]);
    close(up[1]);
    child.told = down[1];
    child.tells = up[0];
    child.when = when;
    /* A child that finds something wrong at once tells nothing. */
    CHECK(read(up[0], &word, 1) <= 1, "a pipe");
    CHECK_FILLED(block, BLOCK, seed);
    return child;
}

static void end_child(struct child *child)
{
    int status;
    char word = 0;

    signal(SIGPIPE, SIG_IGN);
    (void)!write(child->told, &word, 1);
    CHECK_INT(waitpid(child->pid, &status, 0), child->pid);
    CHECK(WIFEXITED(status), "a child made %s to end by itself", child->when);
    CHECK(WEXITSTATUS(status) != NOT_AS_AT_FORK, "what was at the fork, in a child made %s",
          child->when);
    CHECK(WEXITSTATUS(status) != NOT_ITS_OWN, "what it wrote, in a child made %s", child->when);
    CHECK_INT(WEXITSTATUS(status), ALL_RIGHT);
    close(child->told);
    close(child->tells);
}

/* Children made before, during and after the life of a window, while all that lasts. */
static void children(char *block)
{
    char *base = block + AROUND;
    struct child child[4];
    MPI_Win win;
    int i;

    child[0] = start_child(block, 1, "before a window");
    fill(base, BYTES, FIRST + rank);
    win = window_of(MPI_COMM_WORLD, base, BYTES);
    see(win, 0, BYTES, FIRST);
    child[1] = start_child(block, 2, "in the life of a window");
    MPI_Barrier(MPI_COMM_WORLD);
    fill(base, BYTES, FIRST + rank);
    use(win, base, BYTES);
    OK(MPI_Win_lock_all(0, win));
    child[2] = start_child(block, 3, "in an epoch");
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    fill(block, BLOCK, FIRST + rank);
    see(win, 0, 0, 0);
    CHECK_INT(system("true"), 0);
    take(win, base, 0, BYTES, PUT);
    CHECK_FILLED(block, AROUND, FIRST + rank);
    OK(MPI_Win_free(&win));
    CHECK_FILLED(base, BYTES, PUT + from);
    child[3] = start_child(block, 4, "after a window");
    fill(block, BLOCK, 5);
    for (i = 0; i < 4; i++)
        end_child(&child[i]);
    CHECK_FILLED(block, BLOCK, 5);
    live(base, BYTES, AROUND, AROUND);
}

static void children_and_memory_of_each_kind(void)
{
    static char memory[BLOCK];
    char local[BLOCK], *heap = malloc(BLOCK), *mapped = map(BLOCK, MAP_PRIVATE);

    children(heap);
    children(mapped);
    children(memory);
    children(local);
    free(heap);
    CHECK_INT(munmap(mapped, BLOCK), 0);
}

/* Memory that the program shares with its children stays shared. */
static void shared_with_child(void)
{
    char *block = map(BLOCK, MAP_SHARED);
    MPI_Win win;
    pid_t pid;
    int status, round;

    for (round = 0; round < 3; round++) {
        if (round == 1)
            win = window_of(MPI_COMM_WORLD, block + AROUND, BYTES);
        pid = fork();
        if (pid == 0) {
            fill(block, BLOCK, FIRST + round);
            _exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0, "a child to end well");
        CHECK_FILLED(block, BLOCK, FIRST + round);
        if (round == 1)
            OK(MPI_Win_free(&win));
        CHECK_FILLED(block, BLOCK, FIRST + round);
    }
    CHECK_INT(munmap(block, BLOCK), 0);
}

/* What a thread counts in the page of a window, and elsewhere. */
struct counter {
    volatile long *first, *second;
    volatile int is_over;
    long counted;
};

static void *count_on(void *argument)
{
    struct counter *counter = argument;

    while (!counter->is_over) {
        ++*counter->first;
        ++*counter->second;
        counter->counted++;
    }
    return NULL;
}

static void *read_into(void *argument)
{
    void **place = argument;

    return read(*(int *)place[1], place[0], 64) == 64 ? NULL : place;
}

/* Bit 0: the first window is older than the thread. Bit 1: it has a longer life. */
static void with_thread(int ages)
{
    static long page[1500];
    char *base = (char *)(page + 600);
    struct counter counter = {page + 599, page + 600 + 50, 0, 0};
    pthread_t thread;
    MPI_Win win[2];

    memset(page, 0, sizeof page);
    fill(base, 400, FIRST + rank);
    if (ages & 1)
        win[0] = window_of(MPI_COMM_WORLD, base, 400);
    CHECK_INT(pthread_create(&thread, NULL, count_on, &counter), 0);
    if (!(ages & 1))
        win[0] = window_of(MPI_COMM_WORLD, base, 400);
    see(win[0], 0, 400, FIRST);
    take(win[0], base, 0, 400, PUT);
    win[1] = window_of(MPI_COMM_WORLD, page + 660, 100);
    take(win[1], (char *)(page + 660), 0, 100, PUT);
    if (!(ages & 2))
        OK(MPI_Win_free(&win[0]));
    OK(MPI_Win_free(&win[1]));
    if (ages & 2)
        store(win[0], base, 0, 400, STORED);
    counter.is_over = 1;
    pthread_join(thread, NULL);
    if (ages & 2)
        OK(MPI_Win_free(&win[0]));
    CHECK_INT(*counter.first, counter.counted);
    CHECK_INT(*counter.second, counter.counted);
    CHECK_FILLED(page + 660, 100, PUT + from);
}

/* A thread waits in the kernel, which will write to the page, while a window comes or goes. */
static void with_waiting_thread(int is_older)
{
    char *memory = malloc(1000), data[64];
    int ends[2];
    void *place[2] = {memory + 300, &ends[0]}, *result;
    pthread_t thread;
    MPI_Win win;

    CHECK_INT(pipe(ends), 0);
    fill(memory + 100, 100, FIRST + rank);
    if (is_older)
        win = window_of(MPI_COMM_WORLD, memory + 100, 100);
    CHECK_INT(pthread_create(&thread, NULL, read_into, place), 0);
    if (!is_older)
        win = window_of(MPI_COMM_WORLD, memory + 100, 100);
    see(win, 0, 100, FIRST);
    if (is_older)
        OK(MPI_Win_free(&win));
    fill(data, 64, LAST);
    CHECK_INT(write(ends[1], data, 64), 64);
    pthread_join(thread, &result);
    CHECK(result == NULL, "a thread to read 64 bytes");
    CHECK_FILLED(memory + 300, 64, LAST);
    if (!is_older)
        OK(MPI_Win_free(&win));
    CHECK_FILLED(memory + 300, 64, LAST);
    live(memory + 100, 100, 50, 50);
    close(ends[0]);
    close(ends[1]);
    free(memory);
}

static void threads(void)
{
    enum { ROUNDS = 20 };
    int round;

    for (round = 0; round < ROUNDS; round++) {
        with_thread(round % 4);
        with_waiting_thread(round % 2);
    }
}

int main(int argc, char **argv)
{
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(level >= MPI_THREAD_FUNNELED, "threads to be allowed");
    find_peers();
    children_and_memory_of_each_kind();
    shared_with_child();
    threads();
    children_and_memory_of_each_kind();
    forget_peers();
    return end();
}
