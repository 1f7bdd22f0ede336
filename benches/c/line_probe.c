/* What the machine alone costs: half a round trip of one cache line between two cores, through
 * memory that two processes share, both spinning, no MPI.
 *
 * Prints "bytes-of-a-line nanoseconds". The cores are the first two that the process may use, those
 * on which two ranks run.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "probe.h"

enum { BATCHES = 15, ROUNDS = 10000, GLANCE = 100, LINE = 64 };

/* Odd: the first has written; even: the second has answered. Alone in its line. */
struct line {
    _Alignas(LINE) atomic_ulong turn;
    char rest[LINE - sizeof(atomic_ulong)];
};

static struct line *line;

/* The number of the core, counted among those that are allowed. */
static int allowed_core(int index)
{
    cpu_set_t allowed;
    int core;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        fail("line_probe: sched_getaffinity");
    for (core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed) && index-- == 0)
            return core;
    fprintf(stderr, "line_probe: needs two cores\n");
    exit(2);
}

static void stay_on(int core)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        fail("line_probe: sched_setaffinity");
}

static void wait_for(unsigned long turn)
{
    while (atomic_load_explicit(&line->turn, memory_order_acquire) != turn)
        ;
}

static void take_turn(unsigned long turn)
{
    atomic_store_explicit(&line->turn, turn, memory_order_release);
}

static void answer(int core)
{
    unsigned long turn;

    stay_on(core);
    for (turn = 1;; turn += 2) {
        wait_for(turn);
        take_turn(turn + 1);
    }
}

/* Where somebody else has one of the cores a turn takes milliseconds: then fewer must do. */
static double batch(unsigned long *turn)
{
    double start = now();
    int i, done = 0;

    while (done < ROUNDS && now() - start < ENOUGH_S) {
        for (i = 0; i < GLANCE; i++) {
            take_turn(++*turn);
            wait_for(++*turn);
        }
        done += GLANCE;
    }
    return (now() - start) / done / 2;
}

int main(void)
{
    int first = allowed_core(0), second = allowed_core(1), i;
    double seconds[BATCHES];
    unsigned long turn = 0;
    pid_t child;

    line = mmap(NULL, sizeof *line, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (line == MAP_FAILED)
        fail("line_probe: mmap");
    child = start_child(answer, second);
    stay_on(first);
    batch(&turn);
    for (i = 0; i < BATCHES; i++)
        seconds[i] = batch(&turn);
    printf("%d %.2f\n", LINE, median(seconds, BATCHES) * 1e9);
    end_child(child);
    return 0;
}
