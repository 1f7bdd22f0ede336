/* Ping-pong: the "hello" of message passing.
 *
 * Rank 0 sends a message to rank 1, which sends it back. Half the time of a round
 * trip is the latency; bytes divided by it is the bandwidth.
 *
 *     mpicc pingpong.c -o pingpong && mpirun -n 2 ./pingpong [largest message in bytes]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PING = 1, WARM_UP = 20, LARGEST = 4 * 1024 * 1024 };

static void fail(const char *why)
{
    fprintf(stderr, "pingpong: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Few rounds for long messages: every line of the table takes about the same time. */
static int rounds_for(int bytes)
{
    return bytes <= 1024 ? 2000 : bytes <= 64 * 1024 ? 400 : 40;
}

static void round_trip(char *buffer, int bytes, int rank)
{
    int other = 1 - rank;

    if (rank == 0)
        MPI_Send(buffer, bytes, MPI_BYTE, other, PING, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_BYTE, other, PING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(buffer, bytes, MPI_BYTE, other, PING, MPI_COMM_WORLD);
}

/* Rank 0 sets the bytes, rank 1 sees them only through the network, rank 0 gets them back. */
static void check_content(char *buffer, int bytes, int rank)
{
    int i;

    for (i = 0; i < bytes; i++)
        buffer[i] = rank == 0 ? (char)(i % 251) : 0;
    round_trip(buffer, bytes, rank);
    for (i = 0; i < bytes; i++)
        if (buffer[i] != (char)(i % 251))
            fail("the message came back changed");
}

/* Seconds for half a round trip. */
static double measure(char *buffer, int bytes, int rank)
{
    int round, rounds = rounds_for(bytes);
    double start = 0.0;

    for (round = -WARM_UP; round < rounds; round++) {
        if (round == 0)
            start = MPI_Wtime();
        round_trip(buffer, bytes, rank);
    }
    return (MPI_Wtime() - start) / rounds / 2;
}

int main(int argc, char **argv)
{
    int rank, size, bytes, largest;
    char *buffer;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    largest = argc > 1 ? atoi(argv[1]) : LARGEST;
    if (size != 2)
        fail("needs exactly 2 ranks: mpirun -n 2 ./pingpong");
    buffer = malloc(largest > 0 ? (size_t)largest : 1);
    if (buffer == NULL)
        fail("not enough memory for the largest message");

    if (rank == 0)
        printf("%10s %12s %12s\n", "bytes", "latency us", "MB/s");
    for (bytes = 0; bytes <= largest; bytes = bytes ? bytes * 4 : 1) {
        double seconds;

        check_content(buffer, bytes, rank);
        seconds = measure(buffer, bytes, rank);
        if (rank == 0)
            printf("%10d %12.2f %12.1f\n", bytes, seconds * 1e6, bytes / seconds / 1e6);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
