/* A job whose ranks wait in one place for what the test does to one of them.
 *
 *     victim init FILE       the first process makes FILE and stays out of MPI_Init
 *     victim compute         everybody computes
 *     victim receive         everybody is blocked in MPI_Recv
 *     victim transfer        everybody exchanges 16 MiB messages, again and again
 *     victim barrier         everybody goes through barriers, again and again
 *     victim finalize        rank 1 computes, the others are in MPI_Finalize
 *     victim exit CODE       rank 1 calls exit(CODE), the others are blocked in MPI_Recv
 *     victim leave           rank 1 returns 0 without MPI_Finalize, the others are blocked
 *
 * Each rank prints "ready RANK PID" when it is there (before MPI_Init: "ready ? PID").
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank = -1, size;

static void say_ready(void)
{
    if (rank < 0)
        printf("ready ? %ld\n", (long)getpid());
    else
        printf("ready %d %ld\n", rank, (long)getpid());
    fflush(stdout);
}

static void compute(void)
{
    volatile double x = 1.0;

    for (;;)
        x = x * 1.0000001;
}

static void receive(void)
{
    int never;

    MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void transfer(void)
{
    int bytes = 16 * 1024 * 1024, right = (rank + 1) % size, left = (rank + size - 1) % size;
    char *out = calloc(1, bytes), *in = malloc(bytes);
    int round;

    for (round = 0;; round++) {
        MPI_Sendrecv(out, bytes, MPI_BYTE, right, 0, in, bytes, MPI_BYTE, left, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (round == 0)
            say_ready();
    }
}

static void synchronize(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    say_ready();
    for (;;)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* The process that makes the file is the victim. */
static void stay_out_of_init(const char *file)
{
    int mine = open(file, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;

    if (mine) {
        say_ready();
        compute();
    }
}

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "";

    if (strcmp(where, "init") == 0)
        stay_out_of_init(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(where, "transfer") == 0)
        transfer();
    if (strcmp(where, "barrier") == 0)
        synchronize();
    say_ready();
    if (strcmp(where, "compute") == 0 || (strcmp(where, "finalize") == 0 && rank == 1))
        compute();
    if (strcmp(where, "exit") == 0 && rank == 1)
        exit(atoi(argv[2]));
    if (strcmp(where, "leave") == 0 && rank == 1)
        return 0;
    if (strcmp(where, "finalize") != 0)
        receive();
    MPI_Finalize();
    return 0;
}
