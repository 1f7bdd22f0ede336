/* Matching in deep queues: mpirun -n 2 depth N (or -n 1: messages to oneself)
 *
 * N receives are posted and their messages come in the reverse order (posted), or N messages have
 * come and are received in the reverse order (unexpected); the receives name the source (exact) or
 * not (any). Prints "pattern N ns" for each of the four, nanoseconds per message at the receiver:
 * from the first message on, or from the first receive, until all receives are complete.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* A run in order comes before each one that counts: it touches the memory, and is quick for all. */
enum { IN_ORDER, REVERSE };

static int rank, last, count;
static int *in, *out;
static MPI_Request *receives, *sends;

static void fail(const char *why)
{
    fprintf(stderr, "depth: %s: mpirun -n 2 depth 20000\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A word from one of the two to the other, beside the messages that are measured. */
static void tell(int from, int to)
{
    MPI_Request request;

    if (rank == to)
        MPI_Irecv(NULL, 0, MPI_BYTE, from, count, MPI_COMM_WORLD, &request);
    if (rank == from)
        MPI_Send(NULL, 0, MPI_BYTE, to, count, MPI_COMM_WORLD);
    if (rank == to)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Starts the messages; in reverse order the one with the highest tag is the first. */
static void send_all(int order)
{
    int i;

    for (i = 0; i < count; i++) {
        int tag = order == IN_ORDER ? i : count - 1 - i;

        MPI_Isend(&out[tag], 1, MPI_INT, last, tag, MPI_COMM_WORLD, &sends[tag]);
    }
}

static void check(void)
{
    int tag;

    for (tag = 0; tag < count; tag++) {
        if (in[tag] != tag)
            fail("a message is not the one that was sent");
        in[tag] = -1;
    }
}

/* Receives are posted, then the messages come. */
static double posted(int source, int order)
{
    double start = 0;
    int tag;

    if (rank == last) {
        for (tag = 0; tag < count; tag++)
            MPI_Irecv(&in[tag], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &receives[tag]);
        start = MPI_Wtime();
    }
    tell(last, 0);
    if (rank == 0)
        send_all(order);
    if (rank == last) {
        MPI_Waitall(count, receives, MPI_STATUSES_IGNORE);
        return MPI_Wtime() - start;
    }
    return 0;
}

/* The messages are there, then receives take them. */
static double unexpected(int source, int order)
{
    double start;
    int tag;

    if (rank == 0)
        send_all(order);
    /* What was sent before it has come before it. */
    tell(0, last);
    if (rank != last)
        return 0;
    start = MPI_Wtime();
    for (tag = 0; tag < count; tag++)
        MPI_Recv(&in[tag], 1, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - start;
}

static double match(double (*how)(int source, int order), int source, int order)
{
    double seconds = how(source, order);

    if (rank == 0)
        MPI_Waitall(count, sends, MPI_STATUSES_IGNORE);
    if (rank == last)
        check();
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds;
}

static void run(const char *pattern, double (*how)(int source, int order), int source)
{
    double seconds;

    match(how, source, IN_ORDER);
    seconds = match(how, source, REVERSE);
    if (rank == last) {
        printf("%s %d %.1f\n", pattern, count, seconds / count * 1e9);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int i;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &last);
    last--;
    count = argc == 2 ? atoi(argv[1]) : 0;
    if (last > 1 || count < 1)
        fail("needs 1 or 2 ranks and a number of messages");
    in = malloc(count * sizeof *in);
    out = malloc(count * sizeof *out);
    receives = malloc(count * sizeof *receives);
    sends = malloc(count * sizeof *sends);
    for (i = 0; i < count; i++) {
        in[i] = -1;
        out[i] = i;
    }
    run("posted_exact", posted, 0);
    run("posted_any", posted, MPI_ANY_SOURCE);
    run("unexpected_exact", unexpected, 0);
    run("unexpected_any", unexpected, MPI_ANY_SOURCE);
    free(in);
    free(out);
    free(receives);
    free(sends);
    MPI_Finalize();
    return 0;
}
