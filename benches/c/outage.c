/* Numbered round trips, one a millisecond, while somebody cuts the network and heals it:
 * mpirun -n 2 outage READY STOP
 *
 * Makes the file READY when messages flow. STOP is made before the network is healed; the first
 * round trip that ends after that is the first that crossed the healed network. A thousand more
 * must follow without a pause. Prints "resumed: SECONDS", the time of day at which it ended, and
 * how many messages came, each in its turn.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 1, AFTERWARDS = 1000, END = -1 };

static int rank;

static void fail(const char *why)
{
    fprintf(stderr, "outage: rank %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void round_trip(long number)
{
    long back;

    MPI_Send(&number, 1, MPI_LONG, 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(&back, 1, MPI_LONG, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (back != number)
        fail("another number came back");
}

static double time_of_day(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void lead(const char *ready, const char *stop)
{
    struct timespec pause = {0, 1000000};
    long number = 0, end;
    double resumed;
    FILE *file;

    round_trip(number++);
    file = fopen(ready, "w");
    if (file == NULL || fclose(file) != 0)
        fail("cannot make the file that says that it is ready");
    while (access(stop, F_OK) != 0) {
        round_trip(number++);
        nanosleep(&pause, NULL);
    }
    round_trip(number++);
    resumed = time_of_day();
    for (end = number + AFTERWARDS; number < end; number++)
        round_trip(number);
    round_trip(END);
    printf("resumed: %.6f\noutage: %ld messages, each in its turn\n", resumed, number);
}

static void follow(void)
{
    long number, expected = 0;

    do {
        MPI_Recv(&number, 1, MPI_LONG, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (number != END && number != expected++)
            fail("a message was lost, or came twice");
        MPI_Send(&number, 1, MPI_LONG, 0, TAG, MPI_COMM_WORLD);
    } while (number != END);
}

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 3)
        fail("needs two ranks and two files: mpirun -n 2 outage READY STOP");
    if (rank == 0)
        lead(argv[1], argv[2]);
    else
        follow();
    MPI_Finalize();
    return 0;
}
