/* What the kernel alone costs: half a round trip over UDP, both sides spinning, no MPI.
 *
 * Prints "bytes microseconds" per size, as latency.c does: udp_probe BYTES...
 */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 1000, BATCHES = 7, LARGEST = 65000 };

static char buffer[LARGEST];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int open_socket(struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &length) != 0)
        fail("udp_probe: socket");
    return fd;
}

static ssize_t receive(int fd)
{
    ssize_t got;

    do
        got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    while (got < 0);
    return got;
}

static void send_back_for_ever(int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        if (send(fd, buffer, receive(fd), 0) < 0)
            fail("udp_probe: send");
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double half_round_trip(int fd, int bytes)
{
    double start = now();
    int i;

    for (i = 0; i < ROUNDS; i++) {
        if (send(fd, buffer, bytes, 0) < 0)
            fail("udp_probe: send");
        receive(fd);
    }
    return (now() - start) / ROUNDS / 2;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_of_batches(int fd, int bytes)
{
    double seconds[BATCHES];
    int i;

    half_round_trip(fd, bytes);
    for (i = 0; i < BATCHES; i++)
        seconds[i] = half_round_trip(fd, bytes);
    qsort(seconds, BATCHES, sizeof seconds[0], compare_doubles);
    return seconds[BATCHES / 2];
}

int main(int argc, char **argv)
{
    struct sockaddr_in ours, theirs;
    int here = open_socket(&ours), there = open_socket(&theirs), i;
    pid_t child;

    if (connect(here, (struct sockaddr *)&theirs, sizeof theirs) != 0 ||
        connect(there, (struct sockaddr *)&ours, sizeof ours) != 0)
        fail("udp_probe: connect");
    child = fork();
    if (child == 0)
        send_back_for_ever(there);
    for (i = 1; i < argc; i++) {
        int bytes = atoi(argv[i]);

        if (bytes <= LARGEST)
            printf("%d %.4f\n", bytes, median_of_batches(here, bytes) * 1e6);
    }
    kill(child, SIGKILL);
    return 0;
}
