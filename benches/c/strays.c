/* Somebody else's datagrams, onto every UDP port that is open in this network:
 * strays PER_SECOND onto|aside
 *
 * `aside` sends as many onto a socket of its own: what the sender costs by itself. Sends until
 * SIGTERM, then prints "strays: SENT sent, BACK came back". Meant for a network of its own
 * (`unshare -n`), where the open ports are the ranks'.
 */
#include "probe.h"

enum { MOST_PORTS = 64, LARGEST = 1400, LOOK_AGAIN = 100 };

static volatile sig_atomic_t is_over;
static unsigned short ports[MOST_PORTS], own;
static int port_count;
static unsigned long long seed = 88172645463325252ULL;

static void stop(int number)
{
    (void)number;
    is_over = 1;
}

static unsigned long long draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Lines of /proc/net/udp: "slot: ADDRESS:PORT ...", in hexadecimal. */
static void look_for_ports(void)
{
    FILE *file = fopen("/proc/net/udp", "r");
    char line[512];
    unsigned port;

    if (file == NULL)
        fail("strays: /proc/net/udp");
    port_count = 0;
    while (port_count < MOST_PORTS && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, " %*d: %*x:%x", &port) == 1 && port != own)
            ports[port_count++] = (unsigned short)port;
    fclose(file);
}

static void send_one(int fd, unsigned short port)
{
    unsigned char packet[LARGEST];
    struct sockaddr_in to = {0};
    size_t i, bytes = draw() % (LARGEST + 1);

    for (i = 0; i < bytes; i++)
        packet[i] = (unsigned char)draw();
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    /* Nobody may be there any more; that is no concern of a stray packet. */
    (void)!sendto(fd, packet, bytes, 0, (struct sockaddr *)&to, sizeof to);
}

/* As many as are due by now: a sleep is longer than it was asked to be. */
static long send_due(int fd, double due, long sent)
{
    struct timespec pause = {0, 1000000};

    nanosleep(&pause, NULL);
    for (; (double)sent < due; sent++)
        send_one(fd, ports[draw() % (unsigned)port_count]);
    return sent;
}

/* Until there is a job to be disturbed. */
static void wait_for_ports(void)
{
    struct timespec pause = {0, 1000000};

    for (look_for_ports(); port_count == 0 && !is_over; look_for_ports())
        nanosleep(&pause, NULL);
}

static long take_back(int fd)
{
    char buffer[64];
    long count = 0;

    while (recv(fd, buffer, sizeof buffer, MSG_DONTWAIT) >= 0)
        count++;
    return count;
}

int main(int argc, char **argv)
{
    struct sockaddr_in here, sink;
    long per_second = argc > 1 ? atol(argv[1]) : 0, sent = 0, back = 0, turn;
    int fd = open_socket(SOCK_DGRAM, &here), aside = -1;
    double start;

    if (argc < 3 || per_second < 1) {
        fprintf(stderr, "strays: strays PER_SECOND onto|aside\n");
        return 2;
    }
    signal(SIGTERM, stop);
    own = ntohs(here.sin_port);
    if (strcmp(argv[2], "aside") == 0) {
        aside = open_socket(SOCK_DGRAM, &sink);
        ports[port_count++] = ntohs(sink.sin_port);
    }
    for (turn = 0, start = now(); !is_over; turn++) {
        if (aside < 0 && (turn % LOOK_AGAIN == 0 || port_count == 0)) {
            wait_for_ports();
            if (turn == 0)
                start = now();
        }
        if (port_count > 0)
            sent = send_due(fd, (now() - start) * (double)per_second, sent);
        if (aside >= 0)
            take_back(aside);
        back += take_back(fd);
    }
    printf("strays: %ld sent, %ld came back\n", sent, back);
    return 0;
}
