/* A stream along a long path: mpirun -n 2 path BYTES IN_FLIGHT SECONDS
 *
 * Rank 0 keeps IN_FLIGHT messages of BYTES under way for SECONDS. Rank 1 prints "rate: MB/s", from
 * the first complete message to the last, and "first: SECONDS", from a barrier to the first one.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { GO_ON = 1, LAST = 2, MOST_IN_FLIGHT = 256 };

static int bytes, flight;
static char *buffers[MOST_IN_FLIGHT];
static MPI_Request requests[MOST_IN_FLIGHT];

static void fail(const char *why)
{
    fprintf(stderr, "path: %s: mpirun -n 2 path BYTES IN_FLIGHT SECONDS\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The last round of messages says of itself that it is the last. */
static void send_all(double seconds)
{
    double start = MPI_Wtime();
    int slot, is_over;

    do {
        is_over = MPI_Wtime() - start > seconds;
        for (slot = 0; slot < flight; slot++) {
            MPI_Wait(&requests[slot], MPI_STATUS_IGNORE);
            buffers[slot][0] = is_over ? LAST : GO_ON;
            MPI_Isend(buffers[slot], bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[slot]);
        }
    } while (!is_over);
    MPI_Waitall(flight, requests, MPI_STATUSES_IGNORE);
}

static void post(int slot)
{
    MPI_Irecv(buffers[slot], bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[slot]);
}

static void receive_all(void)
{
    double start = MPI_Wtime(), first = 0, end = 0;
    long count = 0;
    int slot, last = 0;

    for (slot = 0; slot < flight; slot++)
        post(slot);
    for (slot = 0; last < flight; slot = (slot + 1) % flight) {
        MPI_Wait(&requests[slot], MPI_STATUS_IGNORE);
        end = MPI_Wtime();
        if (count++ == 0)
            first = end;
        if (buffers[slot][0] == LAST)
            last++;
        else
            post(slot);
    }
    printf("rate: %.3f\nfirst: %.4f\n", (double)(count - 1) * bytes / (end - first) / 1e6,
           first - start);
}

int main(int argc, char **argv)
{
    int rank, size, slot;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 4)
        fail("needs two ranks, a size, a number of messages and a time");
    bytes = atoi(argv[1]);
    flight = atoi(argv[2]);
    if (bytes < 1 || flight < 1 || flight > MOST_IN_FLIGHT)
        fail("needs at least a byte and 1 to 64 messages");
    for (slot = 0; slot < flight; slot++) {
        buffers[slot] = calloc(1, (size_t)bytes);
        if (buffers[slot] == NULL)
            fail("not enough memory");
        requests[slot] = MPI_REQUEST_NULL;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        send_all(atof(argv[3]));
    else
        receive_all();
    for (slot = 0; slot < flight; slot++)
        free(buffers[slot]);
    MPI_Finalize();
    return 0;
}
