/* Many to one: mpirun -n 9 incast BYTES ROUNDS
 *
 * 1, 2, 4 or 8 ranks send to rank 0 with eight messages in flight in all, 64 in a round. Prints
 * "bytes, MB/s (median of the rounds after the first), datagrams that the sockets had no room
 * for in the first round, and in all later ones".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "middle.h"
#include "network.h"

enum { TAG = 1, FLIGHT = 8, MESSAGES = 64, TURNS = MESSAGES / FLIGHT, MOST_ROUNDS = 1000 };

static int rank, senders, bytes, rounds;
static char *buffers[FLIGHT];

static void fail(const char *why)
{
    fprintf(stderr, "incast: %s: mpirun -n 9 incast BYTES ROUNDS\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What the message says of itself. */
static int label(int sender, int round)
{
    return sender * MOST_ROUNDS + round;
}

static void send_round(int round)
{
    MPI_Request requests[FLIGHT];
    int turn, i, flight = FLIGHT / senders, text = label(rank, round);

    for (turn = 0; turn < TURNS; turn++) {
        for (i = 0; i < flight; i++) {
            memcpy(buffers[i], &text, sizeof text);
            MPI_Isend(buffers[i], bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(flight, requests, MPI_STATUSES_IGNORE);
    }
}

static void post(int slot, MPI_Request *request)
{
    int sender = 1 + slot % senders;

    MPI_Irecv(buffers[slot], bytes, MPI_BYTE, sender, TAG, MPI_COMM_WORLD, request);
}

static void check(int slot, int round)
{
    int text;

    memcpy(&text, buffers[slot], sizeof text);
    if (text != label(1 + slot % senders, round))
        fail("a message is not the one that was sent");
}

static void receive_round(int round)
{
    MPI_Request requests[FLIGHT];
    int slot, left = MESSAGES, posted[FLIGHT];

    for (slot = 0; slot < FLIGHT; slot++) {
        posted[slot] = 1;
        post(slot, &requests[slot]);
    }
    for (; left > 0; left--) {
        MPI_Waitany(FLIGHT, requests, &slot, MPI_STATUS_IGNORE);
        check(slot, round);
        if (posted[slot]++ < TURNS)
            post(slot, &requests[slot]);
    }
}

static void take_all_in(void)
{
    double *rates = calloc((size_t)rounds, sizeof *rates);
    long before = udp_drops(), between = before;
    int round;

    for (round = 0; round < rounds; round++) {
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        receive_round(round);
        rates[round] = (double)bytes * MESSAGES / (MPI_Wtime() - start) / 1e6;
        if (round == 0)
            between = udp_drops();
    }
    printf("%d %.1f %ld %ld\n", bytes, median(rates + 1, rounds - 1), between - before,
           udp_drops() - between);
    free(rates);
}

int main(int argc, char **argv)
{
    int i, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    senders = size - 1;
    if (senders < 1 || FLIGHT % senders != 0 || argc < 3)
        fail("needs 1, 2, 4 or 8 senders, a size and a number of rounds");
    bytes = atoi(argv[1]);
    rounds = atoi(argv[2]);
    if (bytes < (int)sizeof(int) || rounds < 2 || rounds > MOST_ROUNDS)
        fail("needs at least 4 bytes and 2 to 1000 rounds");
    for (i = 0; i < FLIGHT; i++)
        buffers[i] = calloc(1, (size_t)bytes);
    if (rank == 0)
        take_all_in();
    else
        for (i = 0; i < rounds; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            send_round(i);
        }
    for (i = 0; i < FLIGHT; i++)
        free(buffers[i]);
    MPI_Finalize();
    return 0;
}
