/* ranks: 1, 2, 3; transports: all; MPI 5.0 11.6 */
/* MPI_THREAD_MULTIPLE: sixteen threads of each rank send, receive, probe, wait and test at once, on
 * one communicator, each with tags of its own. */
#include "../check.h"
#include <pthread.h>

enum { ROUNDS = 40, THREADS = 16, WINDOW = 8, LONG = 50000, WAYS = 8 };

/* Word i of a message of a thread. */
static int word(int name, int round, int i)
{
    return name * 1000003 + round * 101 + i;
}

struct board {
    int out[WINDOW], in[WINDOW];
    MPI_Request sends[WINDOW], receives[WINDOW];
};

static void check_status(const MPI_Status *status, int left, int tag)
{
    CHECK_INT(status->MPI_SOURCE, left);
    CHECK_INT(status->MPI_TAG, tag);
}

/* Ends all receives, one or some at a time. */
static void drain(struct board *board, int way, int left, int tag)
{
    MPI_Status status, statuses[WINDOW];
    int indices[WINDOW], left_over = WINDOW, index, count, i;

    while (left_over > 0) {
        if (way == 0) {
            MPI_Waitany(WINDOW, board->receives, &index, &status);
            check_status(&status, left, tag);
            CHECK(index >= 0 && index < WINDOW, "an index, not %d", index);
            left_over--;
            continue;
        }
        if (way == 1)
            MPI_Testsome(WINDOW, board->receives, &count, indices, statuses);
        else
            MPI_Waitsome(WINDOW, board->receives, &count, indices, statuses);
        CHECK(count >= way - 1 && count <= left_over, "up to %d, not %d", left_over, count);
        for (i = 0; i < count; i++)
            check_status(&statuses[i], left, tag);
        left_over -= count;
    }
}

static void window(int name, int round, int way, int right, int left)
{
    struct board board;
    int i;

    for (i = 0; i < WINDOW; i++) {
        board.out[i] = word(name, round, i);
        MPI_Irecv(&board.in[i], 1, MPI_INT, MPI_ANY_SOURCE, name, MPI_COMM_WORLD,
                  &board.receives[i]);
        MPI_Isend(&board.out[i], 1, MPI_INT, right, name, MPI_COMM_WORLD, &board.sends[i]);
    }
    if (way < 3)
        drain(&board, way, left, name);
    else
        MPI_Waitall(WINDOW, board.receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(WINDOW, board.sends, MPI_STATUSES_IGNORE);
    for (i = 0; i < WINDOW; i++)
        CHECK_INT(board.in[i], word(name, round, i));
}

/* The other ways: probes, long messages, a call that does both. */
static void single(int name, int round, int way, int right, int left)
{
    static int longs[2][THREADS][LONG];
    int *out = longs[0][name], *in = longs[1][name], len = way == 6 ? LONG : 3, count, i, flag;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;

    for (i = 0; i < len; i++)
        out[i] = word(name, round, i);
    if (way == 7) {
        MPI_Sendrecv(out, len, MPI_INT, right, name, in, len, MPI_INT, left, name,
                     MPI_COMM_WORLD, &status);
    } else {
        MPI_Isend(out, len, MPI_INT, right, name, MPI_COMM_WORLD, &request);
        if (way == 4) {
            MPI_Mprobe(MPI_ANY_SOURCE, name, MPI_COMM_WORLD, &message, &status);
            MPI_Mrecv(in, len, MPI_INT, &message, &status);
        } else if (way == 5) {
            for (flag = 0; !flag;)
                MPI_Iprobe(left, name, MPI_COMM_WORLD, &flag, &status);
            MPI_Recv(in, len, MPI_INT, left, name, MPI_COMM_WORLD, &status);
        } else {
            MPI_Probe(left, name, MPI_COMM_WORLD, &status);
            MPI_Recv(in, len, MPI_INT, left, name, MPI_COMM_WORLD, &status);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check_status(&status, left, name);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, len);
    for (i = 0; i < len; i++)
        CHECK_INT(in[i], word(name, round, i));
}

static void *run(void *argument)
{
    int name = *(int *)argument, round, way;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;

    for (round = 0; round < ROUNDS; round++) {
        way = (round + name) % WAYS;
        if (way < 4)
            window(name, round, way, right, left);
        else
            single(name, round, way, right, left);
    }
    return NULL;
}

static void *wait_for_word(void *argument)
{
    MPI_Recv(argument, 1, MPI_INT, rank, THREADS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

/* One thread sleeps in a receive; another one does all that it needs, and then computes. */
static void wake_a_sleeper(void)
{
    pthread_t sleeper;
    int i, word = 0;
    double begin = MPI_Wtime();

    for (i = 1; i <= 3; i++) {
        pthread_create(&sleeper, NULL, wait_for_word, &word);
        while (MPI_Wtime() < begin + i * 0.02)
            ;
        MPI_Send(&i, 1, MPI_INT, rank, THREADS, MPI_COMM_WORLD);
        pthread_join(sleeper, NULL);
        CHECK_INT(word, i);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int i, names[THREADS], provided = -1, asked;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    MPI_Query_thread(&asked);
    CHECK_INT(asked, provided);
    wake_a_sleeper();
    for (i = 0; i < THREADS; i++) {
        names[i] = i;
        pthread_create(&threads[i], NULL, run, &names[i]);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return end();
}
