/* ranks: 1, 2, 3, 5, 8; transports: all; MPI 5.0 6.3 */
/* Nobody leaves a barrier before everybody has entered it. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <time.h>

enum { ROUNDS = 20, TAG = 1 };

/* One clock for all ranks: they run on one machine. */
static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void nap(long milliseconds)
{
    struct timespec time = {0, milliseconds * 1000000};

    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    double entered, left, other;
    int round, peer;

    begin(&argc, &argv);
    for (round = 0; round < ROUNDS; round++) {
        if (round % size == rank)
            nap(5); /* the late one */
        entered = now();
        MPI_Barrier(MPI_COMM_WORLD);
        left = now();
        for (peer = 0; peer < size; peer++) {
            MPI_Sendrecv(&entered, 1, MPI_DOUBLE, (rank + peer) % size, TAG, &other, 1,
                         MPI_DOUBLE, (rank + size - peer) % size, TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            CHECK(left >= other, "round %d: to leave after the last entered (%.6f s too early)",
                  round, other - left);
        }
    }
    for (round = 0; round < 300; round++)
        MPI_Barrier(round % 2 ? MPI_COMM_WORLD : MPI_COMM_SELF);
    return end();
}
