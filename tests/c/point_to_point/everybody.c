/* ranks: 1, 2, 3, 5, 8; transports: all; MPI 5.0 3.5, 3.7 */
/* Everybody sends to everybody at once: many requests, random lengths and tags. */
#include "../check.h"

enum { PER_PAIR = 12, ROUNDS = 3, LONGEST = 20000 };

/* Both ends know the length of message i of a pair from the same numbers. */
static int length_of(int from, int to, int i, int round)
{
    unsigned state = (unsigned)(((from * 64 + to) * 64 + i) * 64 + round);

    next_random(&state);
    return next_random(&state) % (next_random(&state) % 4 ? 64 : LONGEST);
}

static void exchange(int round, char *out, char *in)
{
    int peer, i, at, total = size * PER_PAIR;
    MPI_Request *requests = malloc(2 * total * sizeof *requests);
    MPI_Status *statuses = malloc(2 * total * sizeof *statuses);

    for (i = 0; i < PER_PAIR; i++)
        for (peer = 0; peer < size; peer++) {
            int bytes = length_of(rank, peer, i, round);

            at = i * size + peer;
            fill(out + (size_t)at * LONGEST, bytes, i + rank);
            MPI_Isend(out + (size_t)at * LONGEST, bytes, MPI_BYTE, peer, i / 2, MPI_COMM_WORLD,
                      &requests[total + at]);
            MPI_Irecv(in + (size_t)at * LONGEST, LONGEST, MPI_BYTE, peer, i / 2, MPI_COMM_WORLD,
                      &requests[at]);
        }
    MPI_Waitall(2 * total, requests, statuses);
    for (i = 0; i < PER_PAIR; i++)
        for (peer = 0; peer < size; peer++) {
            at = i * size + peer;
            CHECK_STATUS(statuses[at], peer, i / 2, length_of(peer, rank, i, round));
            CHECK_FILLED(in + (size_t)at * LONGEST, length_of(peer, rank, i, round), i + peer);
        }
    free(requests);
    free(statuses);
}

int main(int argc, char **argv)
{
    char *out, *in;
    int round;

    begin(&argc, &argv);
    out = malloc((size_t)size * PER_PAIR * LONGEST);
    in = malloc((size_t)size * PER_PAIR * LONGEST);
    for (round = 0; round < ROUNDS; round++)
        exchange(round, out, in);
    free(out);
    free(in);
    return end();
}
