/* A rank that has nothing to do but wait: mpirun -n 2 idle SECONDS
 *
 * Rank 1 waits in MPI_Recv while rank 0 sleeps, SECONDS the first time and a moment WAKES times
 * more. Prints "cpu: PERCENT", the processor time of rank 1 over the first wait, all threads
 * counted; and "woken: MEDIAN LONGEST", microseconds from before the send until it has the message.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "middle.h"

enum { TAG = 1, WAKES = 20 };
#define MOMENT_S 0.05

static double read_clock(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void rest(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

static void wake(double after)
{
    double sent;

    rest(after);
    sent = read_clock(CLOCK_MONOTONIC);
    MPI_Send(&sent, 1, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD);
}

/* How long the message was under way; both ranks read the same clock. */
static double get_woken(void)
{
    double sent;

    MPI_Recv(&sent, 1, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return read_clock(CLOCK_MONOTONIC) - sent;
}

static void wait_in_vain(void)
{
    double since = read_clock(CLOCK_MONOTONIC), used = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    double woken[WAKES + 1], middle;
    int i;

    woken[0] = get_woken();
    used = read_clock(CLOCK_PROCESS_CPUTIME_ID) - used;
    printf("cpu: %.3f\n", 100 * used / (read_clock(CLOCK_MONOTONIC) - since));
    for (i = 1; i <= WAKES; i++)
        woken[i] = get_woken();
    /* It sorts them: the longest is the last. */
    middle = median(woken, WAKES + 1);
    printf("woken: %.2f %.2f\n", middle * 1e6, woken[WAKES] * 1e6);
}

int main(int argc, char **argv)
{
    int rank, size, i;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 2) {
        fprintf(stderr, "idle: needs 2 ranks and a time: mpirun -n 2 idle SECONDS\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        wait_in_vain();
    } else {
        wake(atof(argv[1]));
        for (i = 0; i < WAKES; i++)
            wake(MOMENT_S);
    }
    MPI_Finalize();
    return 0;
}
