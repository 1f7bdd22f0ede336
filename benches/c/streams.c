/* Two streams of messages, one of which loses packets: mpirun -n 2 streams BYTES SECONDS
 *
 * Rank 0 sends a message of BYTES with tag A, then one of 8 bytes with tag B; both have the time of
 * their start in them. Rank 1 has posted both receives and notes when each completes. A pair
 * counts as hit if A took more than HIT times the median: a packet of it got lost, and to repair
 * that took long. Prints "pairs: N", "hit: P" in percent of them, and in us the medians "first hit:
 * A", "second beside it: B" of those pairs, and "second otherwise: B" of all others. Both ranks
 * read the clock of one machine.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "middle.h"

enum { A = 1, B = 2, BACK = 3, MOST_PAIRS = 20000, HIT = 3 };

static double a_us[MOST_PAIRS], b_us[MOST_PAIRS], chosen[MOST_PAIRS];

static void fail(const char *why)
{
    fprintf(stderr, "streams: %s: mpirun -n 2 streams BYTES SECONDS\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double now_us(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* A negative start in the second message is the end. */
static void send_pairs(char *first, int bytes, double seconds)
{
    double begin = now_us(), second = 0;
    MPI_Request requests[2];
    int pairs;

    for (pairs = 0; second >= 0; pairs++) {
        double start = now_us();

        second = start - begin > seconds * 1e6 || pairs == MOST_PAIRS - 1 ? -start : start;
        memcpy(first, &start, sizeof start);
        MPI_Isend(first, bytes, MPI_BYTE, 1, A, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&second, 1, MPI_DOUBLE, 1, B, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, BACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static int receive_pairs(char *first, int bytes)
{
    double second = 0, start;
    int pairs, index, turn;

    for (pairs = 0; second >= 0; pairs++) {
        MPI_Request requests[2];
        double ends[2];

        MPI_Irecv(first, bytes, MPI_BYTE, 0, A, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&second, 1, MPI_DOUBLE, 0, B, MPI_COMM_WORLD, &requests[1]);
        for (turn = 0; turn < 2; turn++) {
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            ends[index] = now_us();
        }
        memcpy(&start, first, sizeof start);
        a_us[pairs] = ends[0] - start;
        b_us[pairs] = ends[1] - start;
        MPI_Send(NULL, 0, MPI_BYTE, 0, BACK, MPI_COMM_WORLD);
    }
    return pairs;
}

/* The median of those figures whose pair is hit, or is not; -1 if there are none. */
static double median_of(const double *figures, int pairs, double limit, int is_hit)
{
    int i, count = 0;

    for (i = 0; i < pairs; i++)
        if ((a_us[i] > limit) == is_hit)
            chosen[count++] = figures[i];
    return count > 0 ? median(chosen, count) : -1;
}

static void report(int pairs)
{
    double limit;
    int i, hits = 0;

    memcpy(chosen, a_us, (size_t)pairs * sizeof *chosen);
    limit = HIT * median(chosen, pairs);
    for (i = 0; i < pairs; i++)
        hits += a_us[i] > limit;
    printf("pairs: %d\nhit: %.2f\nsecond otherwise: %.1f\n", pairs, 100.0 * hits / pairs,
           median_of(b_us, pairs, limit, 0));
    if (hits > 0)
        printf("first hit: %.1f\nsecond beside it: %.1f\n", median_of(a_us, pairs, limit, 1),
               median_of(b_us, pairs, limit, 1));
}

int main(int argc, char **argv)
{
    int rank, size, bytes;
    char *first;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 3)
        fail("needs two ranks, a size and a time");
    bytes = atoi(argv[1]);
    if (bytes < (int)sizeof(double))
        fail("needs at least 8 bytes");
    first = calloc(1, (size_t)bytes);
    if (first == NULL)
        fail("not enough memory");
    if (rank == 0)
        send_pairs(first, bytes, atof(argv[2]));
    else
        report(receive_pairs(first, bytes));
    free(first);
    MPI_Finalize();
    return 0;
}
