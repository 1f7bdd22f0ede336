/* What the kernel alone carries: UDP one way, in bursts that the kernel cuts into segments
 * (UDP_SEGMENT) and joins again (UDP_GRO), no MPI.
 *
 * Prints "bytes-of-a-segment MB/s-received" per size: udp_blast SEGMENT...
 * A segment that fills a datagram alone is sent without either. The receiver returns a credit
 * now and then, so that the sender does not overrun its buffer; nothing is sent again, and what
 * does get lost is not counted.
 */
#include "probe.h"

enum {
    BATCHES = 5,
    BATCH_BYTES = 256 * 1024 * 1024,
    WINDOW = 2 * 1024 * 1024,
    CREDIT = WINDOW / 8,
    SOCKET_BUFFER = 4 * 1024 * 1024
};
static const double PATIENCE_S = 0.005;

static char buffer[65536];
static int segment;

static void prepare(int fd)
{
    int bytes = SOCKET_BUFFER;

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    prepare_trains(fd, segment);
}

/* Takes in credits until the window is open; what stays away for long is lost. */
static void wait_for_credit(int fd, size_t sent, size_t *taken, size_t *lost)
{
    double since = now();

    while (sent - *lost - *taken > WINDOW) {
        size_t total;

        if (recv(fd, &total, sizeof total, MSG_DONTWAIT) == (ssize_t)sizeof total)
            *taken = total;
        else if (now() - since > PATIENCE_S)
            *lost = sent - *taken;
    }
}

/* Sends for ever; the receiver ends it. */
static void blast(int fd)
{
    size_t sent = 0, taken = 0, lost = 0, burst = train_bytes(segment);

    for (;;) {
        wait_for_credit(fd, sent, &taken, &lost);
        if (send(fd, buffer, burst, 0) < 0)
            fail("udp_blast: send");
        sent += burst;
    }
}

/* Bytes per second of one batch; `total` goes on from batch to batch. */
static double take(int fd, size_t *total, size_t *credited)
{
    size_t got = 0;
    double start = now();

    while (got < BATCH_BYTES && now() - start < ENOUGH_S) {
        size_t bytes = receive(fd, buffer, sizeof buffer);

        got += bytes;
        *total += bytes;
        if (*total - *credited >= CREDIT) {
            *credited = *total;
            if (send(fd, total, sizeof *total, 0) < 0 && errno != ECONNREFUSED)
                fail("udp_blast: send of a credit");
        }
    }
    return (double)got / (now() - start);
}

static double measure_segment(void)
{
    size_t total = 0, credited = 0;
    double rates[BATCHES];
    int ends[2], i;
    pid_t child;

    open_udp_pair(ends);
    prepare(ends[0]);
    prepare(ends[1]);
    child = start_child(blast, ends[1]);
    for (i = -1; i < BATCHES; i++) {
        double rate = take(ends[0], &total, &credited);

        if (i >= 0)
            rates[i] = rate;
    }
    end_child(child);
    close(ends[0]);
    close(ends[1]);
    return median(rates, BATCHES);
}

int main(int argc, char **argv)
{
    int i;

    /* Memory that was never written is a page of zeros, many times over: too fast to be true. */
    memset(buffer, 1, sizeof buffer);
    for (i = 1; i < argc; i++) {
        segment = atoi(argv[i]);
        if (segment < 1 || segment > DATAGRAM) {
            fprintf(stderr, "udp_blast: a segment has 1 to %d bytes\n", DATAGRAM);
            return 2;
        }
        printf("%d %.1f\n", segment, measure_segment() / 1e6);
        fflush(stdout);
    }
    return 0;
}
