/* What the kernel alone costs: half a round trip over UDP, both sides spinning, no MPI.
 *
 * Prints "bytes microseconds" per size, as latency.c does: udp_probe BYTES...
 * Sizes above one datagram are left out.
 */
#include "probe.h"

enum { ROUNDS = 1000, BATCHES = 7, LARGEST = 65000 };

static char buffer[LARGEST];

static void transmit(int fd, size_t bytes)
{
    if (send(fd, buffer, bytes, 0) < 0)
        fail("udp_probe: send");
}

static void send_back_for_ever(int fd)
{
    for (;;)
        transmit(fd, receive(fd, buffer, sizeof buffer));
}

static double half_round_trip(int fd, size_t bytes)
{
    double start = now();
    int i;

    for (i = 0; i < ROUNDS; i++) {
        transmit(fd, bytes);
        receive(fd, buffer, sizeof buffer);
    }
    return (now() - start) / ROUNDS / 2;
}

static double median_of_batches(int fd, size_t bytes)
{
    double seconds[BATCHES];
    int i;

    half_round_trip(fd, bytes);
    for (i = 0; i < BATCHES; i++)
        seconds[i] = half_round_trip(fd, bytes);
    return median(seconds, BATCHES);
}

int main(int argc, char **argv)
{
    int ends[2], i;
    pid_t child;

    open_udp_pair(ends);
    child = start_child(send_back_for_ever, ends[1]);
    for (i = 1; i < argc; i++) {
        int bytes = atoi(argv[i]);

        if (bytes <= LARGEST)
            printf("%d %.4f\n", bytes, median_of_batches(ends[0], (size_t)bytes) * 1e6);
    }
    end_child(child);
    return 0;
}
