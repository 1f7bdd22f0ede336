/* What the kernel alone carries: TCP one way, no MPI.
 *
 * Prints "bytes-of-a-write MB/s-received" per size: tcp_blast BYTES...
 */
#include "probe.h"

enum { BATCHES = 5, BATCH_BYTES = 256 * 1024 * 1024, LARGEST = 4 * 1024 * 1024 };

static char buffer[LARGEST];
static size_t bytes_of_write;

static void blast(int fd)
{
    for (;;)
        if (send(fd, buffer, bytes_of_write, MSG_NOSIGNAL) < 0)
            exit(0);
}

static double take(int fd)
{
    size_t total = 0;
    double start = now();

    while (total < BATCH_BYTES && now() - start < ENOUGH_S) {
        size_t got = receive(fd, buffer, bytes_of_write);

        if (got == 0)
            fail("tcp_blast: the sender is gone");
        total += got;
    }
    return (double)total / (now() - start);
}

static double measure_writes(void)
{
    double rates[BATCHES];
    int ends[2], i;
    pid_t child;

    open_tcp_pair(ends);
    child = start_child(blast, ends[1]);
    close(ends[1]);
    take(ends[0]);
    for (i = 0; i < BATCHES; i++)
        rates[i] = take(ends[0]);
    end_child(child);
    close(ends[0]);
    return median(rates, BATCHES);
}

int main(int argc, char **argv)
{
    int i;

    /* Memory that was never written is a page of zeros, many times over: too fast to be true. */
    memset(buffer, 1, sizeof buffer);
    for (i = 1; i < argc; i++) {
        long bytes = atol(argv[i]);

        if (bytes < 1 || bytes > LARGEST) {
            fprintf(stderr, "tcp_blast: a write has 1 to %d bytes\n", LARGEST);
            return 2;
        }
        bytes_of_write = (size_t)bytes;
        printf("%ld %.1f\n", bytes, measure_writes() / 1e6);
        fflush(stdout);
    }
    return 0;
}
