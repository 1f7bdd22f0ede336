/* Messages per second between two ranks whose threads all call MPI at once, under
 * MPI_THREAD_MULTIPLE: mpirun -n 2 threads BYTES THREADS
 *
 * Thread i of rank 0 sends to thread i of rank 1, WINDOW messages in flight. Prints the rate of all
 * pairs together: of one pair; of THREADS pairs on one communicator, each with a tag of its own; of
 * THREADS pairs each with a communicator of its own. A library that gives less than
 * MPI_THREAD_MULTIPLE gets one line, "refused: ...", and no figure. */
#include <pthread.h>

#include "measure.h"

enum { WINDOW = 64, ROUNDS = 200, MOST_THREADS = 16 };

/* What a thread does. */
struct pair {
    pthread_t thread;
    MPI_Comm comm;
    int tag, bytes, rounds;
    char *buffer;
};

static struct pair pairs[MOST_THREADS];
static int threads;

/* How a level is called, for people. */
static const char *name_of(int level)
{
    return level == MPI_THREAD_SINGLE       ? "MPI_THREAD_SINGLE"
           : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
           : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                                            : "MPI_THREAD_MULTIPLE";
}

static void *run(void *argument)
{
    struct pair *pair = argument;
    MPI_Request requests[WINDOW];
    int i, j;

    for (i = 0; i < pair->rounds; i++) {
        for (j = 0; j < WINDOW; j++) {
            char *place = pair->buffer + (size_t)j * (size_t)pair->bytes;

            if (rank == 0)
                MPI_Isend(place, pair->bytes, MPI_BYTE, 1, pair->tag, pair->comm, &requests[j]);
            else
                MPI_Irecv(place, pair->bytes, MPI_BYTE, 0, pair->tag, pair->comm, &requests[j]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, pair->tag, pair->comm, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, pair->tag, pair->comm);
    return NULL;
}

/* All pairs at once; it takes a batch for as long as its slowest. */
static void batch(char *buffer, int bytes, int rounds)
{
    int i;

    (void)buffer;
    (void)bytes;
    for (i = 0; i < threads; i++) {
        pairs[i].rounds = rounds;
        if (pthread_create(&pairs[i].thread, NULL, run, &pairs[i]) != 0) {
            fprintf(stderr, "no thread can be made\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (i = 0; i < threads; i++)
        pthread_join(pairs[i].thread, NULL);
}

/* Measures `count` pairs and prints their rate behind this name. */
static void measure_pairs(const char *name, int count)
{
    double seconds;

    threads = count;
    seconds = measure(batch, pairs[0].bytes, ROUNDS);
    if (rank == 0)
        printf("%s: %.0f\n", name, (double)count * WINDOW * ROUNDS / seconds);
    fflush(stdout);
}

/* Gives the pairs their communicator and tag. */
static void deal(MPI_Comm *comms, int count)
{
    int i;

    for (i = 0; i < count; i++) {
        pairs[i].comm = comms == NULL ? MPI_COMM_WORLD : comms[i];
        pairs[i].tag = comms == NULL ? TAG + i : TAG;
    }
}

/* Prepares as many pairs as the command line asks for. */
static int prepare(int argc, char **argv)
{
    int i, size, bytes = argc > 1 ? atoi(argv[1]) : 0, count = argc > 2 ? atoi(argv[2]) : 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || bytes < 1 || count < 1 || count > MOST_THREADS) {
        fprintf(stderr, "needs 2 ranks, bytes, threads up to %d: mpirun -n 2 %s 8 2\n",
                MOST_THREADS, argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (i = 0; i < count; i++) {
        pairs[i].bytes = bytes;
        pairs[i].buffer = allocate(WINDOW * bytes);
    }
    return count;
}

int main(int argc, char **argv)
{
    int i, count, provided;
    MPI_Comm comms[MOST_THREADS];

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    count = prepare(argc, argv);
    if (provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            printf("refused: %s is all that is given\n", name_of(provided));
        MPI_Finalize();
        return 0;
    }
    deal(NULL, count);
    measure_pairs("one pair", 1);
    measure_pairs("tags", count);
    for (i = 0; i < count; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    deal(comms, count);
    measure_pairs("communicators", count);
    for (i = 0; i < count; i++) {
        MPI_Comm_free(&comms[i]);
        free(pairs[i].buffer);
    }
    MPI_Finalize();
    return 0;
}
