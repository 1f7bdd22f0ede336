/* A flood that nobody drinks at first: mpirun -n 2 flood MESSAGES BYTES SECONDS sleep|probe
 *
 * Rank 0 sends one message after the other. Rank 1 receives none for SECONDS: it sleeps outside
 * MPI, or it probes for another tag, so that MPI sees what comes. Then it receives them and checks
 * each word of each. Prints "sender: MIB" and "receiver: MIB", by how much the peak of their
 * resident memory grew, and "drained: SECONDS", from the first receive to the last.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 1, OTHER_TAG = 2 };

static long messages, words;
static long *buffer;

static void fail(const char *why)
{
    fprintf(stderr, "flood: %s: mpirun -n 2 flood MESSAGES BYTES SECONDS sleep|probe\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The most memory that this process ever had resident. */
static double peak_mib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    if (kib < 0)
        fail("the system does not tell the peak of memory");
    return (double)kib / 1024;
}

/* What the start took and gave back shall not hide what the flood takes. */
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    if (file != NULL) {
        fputs("5\n", file);
        fclose(file);
    }
}

static void rest(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

/* Nothing comes with this tag. */
static void probe(double seconds)
{
    double start = MPI_Wtime();
    int flag;

    while (MPI_Wtime() - start < seconds)
        MPI_Iprobe(0, OTHER_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* Word i of message n; no two messages that follow each other have a word in common. */
static long word_of(long message, long i)
{
    return message * words + i;
}

static void send_all(void)
{
    long message, i;

    for (message = 0; message < messages; message++) {
        for (i = 0; i < words; i++)
            buffer[i] = word_of(message, i);
        MPI_Send(buffer, (int)words, MPI_LONG, 1, TAG, MPI_COMM_WORLD);
    }
}

static double receive_all(void)
{
    double start = MPI_Wtime();
    long message, i;

    for (message = 0; message < messages; message++) {
        MPI_Recv(buffer, (int)words, MPI_LONG, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = 0; i < words; i++)
            if (buffer[i] != word_of(message, i))
                fail("a message is not the one whose turn it is");
    }
    return MPI_Wtime() - start;
}

int main(int argc, char **argv)
{
    double before, drained = 0, growth, growths[2];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 5)
        fail("needs two ranks, a number of messages, their size, a time and what to do in it");
    messages = atol(argv[1]);
    words = atol(argv[2]) / (long)sizeof(long);
    buffer = calloc((size_t)words + 1, sizeof *buffer);
    MPI_Barrier(MPI_COMM_WORLD);
    forget_peak();
    before = peak_mib();
    if (rank == 0) {
        send_all();
    } else {
        (strcmp(argv[4], "probe") == 0 ? probe : rest)(atof(argv[3]));
        drained = receive_all();
    }
    growth = peak_mib() - before;
    MPI_Gather(&growth, 1, MPI_DOUBLE, growths, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    if (rank == 1)
        printf("sender: %.2f\nreceiver: %.2f\ndrained: %.3f\n", growths[0], growths[1], drained);
    free(buffer);
    MPI_Finalize();
    return 0;
}
