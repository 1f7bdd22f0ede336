/* The calls of programs that hang, with the arguments that matter. */
#ifndef HANG_H
#define HANG_H

#include "../check.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define LONG (8 << 20)

static int one[64], counts[] = {1, 1}, places[] = {0, 1};
static char *many;

static void receive(int source, int tag)
{
    MPI_Recv(one, 1, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(int dest, int tag)
{
    MPI_Send(one, 1, MPI_INT, dest, tag, MPI_COMM_WORLD);
}

static void send_long(int dest, int tag)
{
    MPI_Send(many, LONG, MPI_CHAR, dest, tag, MPI_COMM_WORLD);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void print_ready(void)
{
    printf("ready\n");
    fflush(stdout);
}

/* A copy of MPI_COMM_WORLD with a name. */
static MPI_Comm named(const char *name)
{
    MPI_Comm copy;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_name(copy, name);
    return copy;
}

#endif
