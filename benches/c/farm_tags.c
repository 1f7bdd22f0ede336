/* The farm of the thesis on MPI over TCP and SCTP: mpirun -n 3 farm_tags BYTES TAGS SECONDS
 *
 * A manager and its workers. A worker keeps WINDOW requests for tasks open and works on whichever
 * task comes first, so that it computes while others are on their way. The task of request i has
 * tag i % TAGS: with one tag tasks come in their order, with several a task whose packet got lost
 * holds back only those of its own tag. A result of 1 KiB goes back with the next request. After
 * SECONDS the manager answers each request with an empty task. Prints "farm: N tasks, RATE /s".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 10, MOST_TAGS = WINDOW, REQUEST = 100, RESULT = 101, RESULT_WORDS = 128 };

static int tags, words;

static void fail(const char *why)
{
    fprintf(stderr, "farm_tags: %s: mpirun -n 3 farm_tags BYTES TAGS SECONDS\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static long *allocate(int count)
{
    long *memory = calloc((size_t)count, sizeof *memory);

    if (memory == NULL)
        fail("not enough memory");
    return memory;
}

/* Word i of a task is its number plus i: the worker checks the first and the last one. */
static void write_task(long *task, long number)
{
    int i;

    for (i = 0; i < words; i++)
        task[i] = number + i;
}

/* Answers requests until each worker has WINDOW empty tasks; takes the results in meanwhile. */
static void manage(int workers, double budget)
{
    long *task = allocate(words), result[RESULT_WORDS];
    double start = MPI_Wtime(), end = start;
    long sent = 0, done = 0;
    int slot, open = workers * WINDOW;
    MPI_Status status;

    while (open > 0 || done < sent) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == RESULT) {
            MPI_Recv(result, RESULT_WORDS, MPI_LONG, status.MPI_SOURCE, RESULT, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            done++;
            end = MPI_Wtime();
            continue;
        }
        MPI_Recv(&slot, 1, MPI_INT, status.MPI_SOURCE, REQUEST, MPI_COMM_WORLD, &status);
        if (MPI_Wtime() - start < budget) {
            write_task(task, sent++);
            MPI_Send(task, words, MPI_LONG, status.MPI_SOURCE, slot % tags, MPI_COMM_WORLD);
        } else {
            MPI_Send(task, 0, MPI_LONG, status.MPI_SOURCE, slot % tags, MPI_COMM_WORLD);
            open--;
        }
    }
    printf("farm: %ld tasks, %.1f /s\n", done, (double)done / (end - start));
    free(task);
}

static void request(int slot, long *task, MPI_Request *coming)
{
    MPI_Irecv(task, words, MPI_LONG, 0, slot % tags, MPI_COMM_WORLD, coming);
    MPI_Send(&slot, 1, MPI_INT, 0, REQUEST, MPI_COMM_WORLD);
}

static void work_on(const long *task, long *result)
{
    int i;

    if (task[words - 1] != task[0] + words - 1)
        fail("a task is not the one that was sent");
    result[0] = 0;
    for (i = 0; i < words; i++)
        result[0] += task[i];
    MPI_Send(result, RESULT_WORDS, MPI_LONG, 0, RESULT, MPI_COMM_WORLD);
}

static void work(void)
{
    long *tasks[WINDOW], result[RESULT_WORDS] = {0};
    MPI_Request coming[WINDOW];
    MPI_Status status;
    int slot, count, open = WINDOW;

    for (slot = 0; slot < WINDOW; slot++) {
        tasks[slot] = allocate(words);
        request(slot, tasks[slot], &coming[slot]);
    }
    while (open > 0) {
        MPI_Waitany(WINDOW, coming, &slot, &status);
        MPI_Get_count(&status, MPI_LONG, &count);
        if (count == 0) {
            open--;
        } else {
            work_on(tasks[slot], result);
            request(slot, tasks[slot], &coming[slot]);
        }
    }
    for (slot = 0; slot < WINDOW; slot++)
        free(tasks[slot]);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || argc < 4)
        fail("needs two ranks, the bytes of a task, a number of tags and a time");
    words = atoi(argv[1]) / (int)sizeof(long);
    tags = atoi(argv[2]);
    if (words < 1 || tags < 1 || tags > MOST_TAGS)
        fail("needs at least 8 bytes and 1 to 10 tags");
    if (rank == 0)
        manage(size - 1, atof(argv[3]));
    else
        work();
    MPI_Finalize();
    return 0;
}
