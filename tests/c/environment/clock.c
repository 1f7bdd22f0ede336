/* ranks: 1, 2; transports: one; MPI 5.0 9.6 */
/* Wtime runs forward, at the speed of the world; Wtick is its honest step. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <time.h>

int main(int argc, char **argv)
{
    struct timespec nap = {0, 50000000};
    double start, last, tick;
    int i;

    begin(&argc, &argv);
    tick = MPI_Wtick();
    CHECK(tick > 0.0 && tick <= 1e-3, "a tick of at most a millisecond, not %g s", tick);
    start = last = MPI_Wtime();
    for (i = 0; i < 100000; i++) {
        double now = MPI_Wtime();

        CHECK(now >= last, "time not to run backwards (%.9f after %.9f)", now, last);
        last = now;
    }
    start = MPI_Wtime();
    nanosleep(&nap, NULL);
    last = MPI_Wtime() - start;
    CHECK(last >= 0.0499 && last < 20.0, "a nap of 50 ms to last 50 ms, not %g s", last);
    return end();
}
