/* What the probes share that measure the kernel alone: two processes, two sockets, no MPI. */
#ifndef PROBE_H
#define PROBE_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "middle.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* A batch that takes longer on a busy machine is cut short. */
#define ENOUGH_S 0.3

enum {
    DATAGRAM = 65000,   /* below the 65,507 bytes that one send may carry */
    SEGMENTS = 64       /* of a train: as many as every kernel with UDP_SEGMENT takes */
};

static inline void fail(const char *what)
{
    perror(what);
    exit(1);
}

static inline double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A socket of this kind, bound to the loopback at a port that the kernel chooses. */
static inline int open_socket(int kind, struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, kind, 0);

    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &length) != 0)
        fail("probe: socket");
    return fd;
}

static inline void connect_to(int fd, const struct sockaddr_in *address)
{
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        fail("probe: connect");
}

static inline void open_udp_pair(int ends[2])
{
    struct sockaddr_in here, there;

    ends[0] = open_socket(SOCK_DGRAM, &here);
    ends[1] = open_socket(SOCK_DGRAM, &there);
    connect_to(ends[0], &there);
    connect_to(ends[1], &here);
}

static inline void open_tcp_pair(int ends[2])
{
    struct sockaddr_in here, there;
    int door = open_socket(SOCK_STREAM, &there), on = 1, i;

    ends[0] = open_socket(SOCK_STREAM, &here);
    if (listen(door, 1) != 0)
        fail("probe: listen");
    connect_to(ends[0], &there);
    ends[1] = accept(door, NULL, NULL);
    if (ends[1] < 0)
        fail("probe: accept");
    close(door);
    for (i = 0; i < 2; i++)
        if (setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
            fail("probe: TCP_NODELAY");
}

/* The kernel cuts what is sent into datagrams of `segment` bytes (UDP_SEGMENT) and joins them
 * again (UDP_GRO); a segment that fills a datagram alone is sent without either. */
static inline void prepare_trains(int fd, int segment)
{
    int on = 1;

    if (segment * 2 > DATAGRAM)
        return;
    if (setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) != 0)
        fail("probe: UDP_GRO");
    if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0)
        fail("probe: UDP_SEGMENT");
}

/* As many bytes as one send takes. */
static inline size_t train_bytes(int segment)
{
    int segments = DATAGRAM / segment;

    return (size_t)segment * (size_t)(segments > SEGMENTS ? SEGMENTS : segments);
}

/* Runs `work` in a process of its own, which ends with this one. */
static inline pid_t start_child(void (*work)(int fd), int fd)
{
    pid_t child = fork();

    if (child < 0)
        fail("probe: fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(fd);
        exit(0);
    }
    return child;
}

static inline void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* One datagram or train, or what there is of a stream; spins until something is there. Answers 0
 * if nothing has come for `patience_s` seconds, or an empty datagram has. */
static inline size_t receive_within(int fd, char *buffer, size_t room, double patience_s)
{
    double begin = 0.0;
    unsigned spins = 0;

    for (;;) {
        ssize_t got = recv(fd, buffer, room, MSG_DONTWAIT);

        if (got >= 0)
            return (size_t)got;
        if (errno != EAGAIN && errno != EINTR)
            fail("probe: recv");
        if (++spins % 65536 != 0)
            continue;
        if (begin == 0.0)
            begin = now();
        else if (now() - begin > patience_s)
            return 0;
    }
}

/* The same without an end. */
static inline size_t receive(int fd, char *buffer, size_t room)
{
    return receive_within(fd, buffer, room, 1e9);
}

#endif
