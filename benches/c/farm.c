/* Task farm: a master deals out tasks, workers return results, a free worker gets more.
 *
 * Three tags: TASK and STOP go to the workers, RESULT comes back. The master receives from
 * any source (it cannot know which worker is first); a worker receives with any tag (it cannot
 * know whether a task or the end comes). While a worker computes, its next task is already
 * on the way: it never waits for the master, and the master never waits to hand out a task.
 *
 *     mpicc farm.c -o farm && mpirun -n 5 ./farm [tasks [bytes of a task [bytes of a result
 *         [seconds [tasks in hand]]]]]
 *
 * After `seconds` nothing more is dealt out: for networks that lose so much that nobody wants to
 * wait for all tasks. With one task in hand a worker waits for its next after each.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TASK = 1, RESULT = 2, STOP = 3 };

static long tasks = 2000;
static int task_words = 30 * 1024 / sizeof(long);
static int result_words = 1024 / sizeof(long);
static double seconds_to_deal = 1e9;
static int in_hand = 2;

/* Task t is the list of numbers t, t+1, t+2 ...: its sum is known without a computer. */
static void write_task(long *words, long task)
{
    int i;

    for (i = 0; i < task_words; i++)
        words[i] = task + i;
}

static long right_sum(void)
{
    long n = task_words;

    return n * (tasks * (tasks - 1) / 2) + tasks * (n * (n - 1) / 2);
}

static void send_task(long *words, long task, int worker)
{
    write_task(words, task);
    MPI_Send(words, task_words, MPI_LONG, worker, TASK, MPI_COMM_WORLD);
}

/* One line that grows on a terminal; a line at each quarter in a file. */
static void show_progress(long done, int workers)
{
    int terminal = isatty(STDERR_FILENO);
    long step = tasks / (terminal ? 100 : 4);

    if (done == tasks || (step > 0 && done % step == 0)) {
        fprintf(stderr, "farm: %3ld %%  %ld of %ld tasks by %d workers%c", 100 * done / tasks,
                done, tasks, workers, terminal && done < tasks ? '\r' : '\n');
        fflush(stderr);
    }
}

/* The longest time between two results; what a lost packet costs shows here. */
static double note_stall(double *last, double longest)
{
    double now = MPI_Wtime(), waited = now - *last;

    *last = now;
    return waited > longest ? waited : longest;
}

static long deal_out(long *words, long *result, int workers, double *stall)
{
    double start = MPI_Wtime(), last = start;
    long sum = 0, done = 0, next = 0;
    MPI_Status status;
    int i;

    for (i = 0; i < in_hand * workers && next < tasks; i++)
        send_task(words, next++, 1 + i % workers);
    while (done < tasks) {
        MPI_Recv(result, result_words, MPI_LONG, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
        *stall = note_stall(&last, *stall);
        if (last - start > seconds_to_deal)
            tasks = next;
        sum += result[0];
        if (next < tasks)
            send_task(words, next++, status.MPI_SOURCE);
        show_progress(++done, workers);
    }
    for (i = 1; i <= workers; i++)
        MPI_Send(NULL, 0, MPI_LONG, i, STOP, MPI_COMM_WORLD);
    return sum;
}

static int run_master(long *words, long *result, int workers)
{
    double start = MPI_Wtime(), seconds, stall = 0;
    long sum = deal_out(words, result, workers, &stall);

    seconds = MPI_Wtime() - start;
    printf("farm: %ld tasks in %.3f s: %.0f tasks/s\n", tasks, seconds, tasks / seconds);
    printf("farm: longest time between two results: %.3f ms\n", stall * 1e3);
    printf("farm: sum = %ld (%s)\n", sum, sum == right_sum() ? "right" : "WRONG");
    return sum == right_sum() ? 0 : 1;
}

static void work_on(const long *words, long *result)
{
    int i;

    result[0] = 0;
    for (i = 0; i < task_words; i++)
        result[0] += words[i];
    MPI_Send(result, result_words, MPI_LONG, 0, RESULT, MPI_COMM_WORLD);
}

static int run_worker(long *words, long *result)
{
    long *now = words, *next = words + task_words;
    MPI_Request coming;
    MPI_Status status;

    MPI_Irecv(next, task_words, MPI_LONG, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &coming);
    for (;;) {
        long *free_again = now;

        MPI_Wait(&coming, &status);
        if (status.MPI_TAG == STOP)
            return 0;
        now = next;
        next = free_again;
        MPI_Irecv(next, task_words, MPI_LONG, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &coming);
        work_on(now, result);
    }
}

static int words_of(const char *bytes)
{
    int words = atoi(bytes) / (int)sizeof(long);

    return words < 1 ? 1 : words;
}

int main(int argc, char **argv)
{
    int rank, size, wrong;
    long *words, *result;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        tasks = atol(argv[1]);
    if (argc > 2)
        task_words = words_of(argv[2]);
    if (argc > 3)
        result_words = words_of(argv[3]);
    if (argc > 4)
        seconds_to_deal = atof(argv[4]);
    if (argc > 5)
        in_hand = atoi(argv[5]) > 1 ? 2 : 1;
    words = calloc((size_t)task_words, 2 * sizeof(long));
    result = calloc((size_t)result_words, sizeof(long));
    if (size < 2 || words == NULL || result == NULL) {
        fprintf(stderr, "farm: needs a master and a worker: mpirun -n 2 ./farm\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    wrong = rank == 0 ? run_master(words, result, size - 1) : run_worker(words, result);
    free(words);
    free(result);
    MPI_Finalize();
    return wrong;
}
