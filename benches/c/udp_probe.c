/* What the kernel alone costs: half a round trip over UDP, both sides spinning, no MPI.
 *
 * Prints "bytes microseconds" per size, as latency.c does: udp_probe SEGMENT BYTES...
 * A message longer than SEGMENT bytes, which one datagram carries, goes in several: in trains that
 * the kernel cuts into datagrams (UDP_SEGMENT) and joins again (UDP_GRO). Nothing acknowledges,
 * repeats or paces them, so sizes that the receiver's buffer may not hold are left out.
 */
#include "probe.h"

enum {
    ROUNDS = 1000,
    BATCHES = 7,
    TRAIN_ROOM = 65536,
    LARGEST = 1024 * 1024,
    SOCKET_BUFFER = 8 * 1024 * 1024,
    PATIENCE_S = 5
};

static char outgoing[LARGEST], incoming[LARGEST + TRAIN_ROOM];
static int segment;
static size_t current;

/* As much as the system allows; answers how many bytes of messages may wait there. Each counts
 * with what the kernel keeps beside it. */
static size_t prepare(int fd)
{
    int bytes = SOCKET_BUFFER;
    socklen_t length = sizeof bytes;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    prepare_trains(fd, segment);
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length) != 0)
        fail("udp_probe: SO_RCVBUF");
    return (size_t)bytes / 4;
}

static void transmit(int fd)
{
    size_t train = train_bytes(segment), sent = 0;

    do {
        size_t left = current - sent;
        ssize_t taken = send(fd, outgoing + sent, left < train ? left : train, 0);

        if (taken < 0)
            fail("udp_probe: send");
        sent += (size_t)taken;
    } while (sent < current);
}

/* All of a message; which datagram comes first makes no difference. */
static void receive_message(int fd)
{
    size_t got = 0;

    do {
        size_t more = receive_within(fd, incoming + got, TRAIN_ROOM, PATIENCE_S);

        got += more;
        if (more == 0 && current > 0) {
            fprintf(stderr, "udp_probe: a datagram was lost\n");
            exit(1);
        }
    } while (got < current);
}

static void send_back_for_ever(int fd)
{
    for (;;) {
        receive_message(fd);
        transmit(fd);
    }
}

static double half_round_trip(int fd)
{
    double start = now();
    int i;

    for (i = 0; i < ROUNDS; i++) {
        transmit(fd);
        receive_message(fd);
    }
    return (now() - start) / ROUNDS / 2;
}

static double median_of_batches(int fd)
{
    double seconds[BATCHES];
    int i;

    half_round_trip(fd);
    for (i = 0; i < BATCHES; i++)
        seconds[i] = half_round_trip(fd);
    return median(seconds, BATCHES);
}

/* Both sides know the size, so each has a child of its own. */
static void measure(size_t bytes)
{
    int ends[2];
    size_t room;
    pid_t child;

    open_udp_pair(ends);
    room = prepare(ends[0]);
    prepare(ends[1]);
    current = bytes;
    if (bytes <= (size_t)segment || bytes <= room) {
        child = start_child(send_back_for_ever, ends[1]);
        printf("%zu %.4f\n", bytes, median_of_batches(ends[0]) * 1e6);
        fflush(stdout);
        end_child(child);
    }
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv)
{
    int i;

    segment = argc > 1 ? atoi(argv[1]) : 0;
    if (segment < 1 || segment > DATAGRAM) {
        fprintf(stderr, "udp_probe: udp_probe SEGMENT BYTES..., SEGMENT from 1 to %d\n", DATAGRAM);
        return 2;
    }
    memset(outgoing, 1, sizeof outgoing);
    memset(incoming, 1, sizeof incoming);
    for (i = 2; i < argc; i++)
        if (atol(argv[i]) <= LARGEST)
            measure((size_t)atol(argv[i]));
    return 0;
}
