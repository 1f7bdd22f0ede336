/* What the kernel alone costs: half a round trip over TCP, both sides spinning, no MPI.
 *
 * Prints "bytes microseconds" per size, as latency.c does: tcp_probe BYTES...
 * A stream knows no empty message: size 0 is measured with one byte.
 */
#include "probe.h"

enum { BATCHES = 7, LARGEST = 4 * 1024 * 1024 };

static char buffer[LARGEST];
static int count;
static char **sizes;

static size_t size_of(const char *text)
{
    long bytes = atol(text);

    if (bytes > LARGEST) {
        fprintf(stderr, "tcp_probe: at most %d bytes\n", LARGEST);
        exit(2);
    }
    return bytes < 1 ? 1 : (size_t)bytes;
}

static int rounds_for(size_t bytes)
{
    return bytes <= 8192 ? 1000 : bytes <= 262144 ? 200 : 20;
}

static void transmit_all(int fd, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t sent = send(fd, buffer + done, bytes - done, 0);

        if (sent < 0)
            fail("tcp_probe: send");
        done += (size_t)sent;
    }
}

static void receive_all(int fd, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        size_t got = receive(fd, buffer + done, bytes - done);

        if (got == 0)
            exit(0);
        done += got;
    }
}

static double batch(int fd, size_t bytes, int is_first)
{
    double start = now();
    int i, rounds = rounds_for(bytes);

    for (i = 0; i < rounds; i++) {
        if (is_first)
            transmit_all(fd, bytes);
        receive_all(fd, bytes);
        if (!is_first)
            transmit_all(fd, bytes);
    }
    return (now() - start) / rounds / 2;
}

static double median_of_batches(int fd, size_t bytes, int is_first)
{
    double seconds[BATCHES];
    int i;

    batch(fd, bytes, is_first);
    for (i = 0; i < BATCHES; i++)
        seconds[i] = batch(fd, bytes, is_first);
    return median(seconds, BATCHES);
}

static void answer(int fd)
{
    int i;

    for (i = 0; i < count; i++)
        median_of_batches(fd, size_of(sizes[i]), 0);
}

int main(int argc, char **argv)
{
    int ends[2], i;

    count = argc - 1;
    sizes = argv + 1;
    open_tcp_pair(ends);
    start_child(answer, ends[1]);
    for (i = 0; i < count; i++)
        printf("%s %.4f\n", sizes[i], median_of_batches(ends[0], size_of(sizes[i]), 1) * 1e6);
    return 0;
}
