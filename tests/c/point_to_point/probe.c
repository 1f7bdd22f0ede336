/* ranks: 2, 3, 8; transports: all; MPI 5.0 3.8.1 */
/* Probe and Iprobe tell source, tag and length, and leave the message where it is. */
#include "../check.h"

enum { MESSAGES = 40 };

static int length_of(int source, int i)
{
    return 17 * source + 401 * i;
}

static void probe_then_receive(int blocking)
{
    int i, bytes, found = 0, next[64] = {0};
    MPI_Status probed, received;
    static char data[32 * 1024];

    for (i = 0; i < MESSAGES * (size - 1); i++) {
        if (blocking)
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
        else
            do
                MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &probed);
            while (!found);
        CHECK_INT(probed.MPI_TAG, next[probed.MPI_SOURCE]);
        bytes = length_of(probed.MPI_SOURCE, probed.MPI_TAG);
        CHECK_STATUS(probed, probed.MPI_SOURCE, probed.MPI_TAG, bytes);
        MPI_Recv(data, bytes, MPI_BYTE, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD,
                 &received);
        CHECK_STATUS(received, probed.MPI_SOURCE, probed.MPI_TAG, bytes);
        CHECK_FILLED(data, bytes, probed.MPI_TAG);
        next[probed.MPI_SOURCE]++;
    }
}

static void send_lengths(void)
{
    static char data[32 * 1024];
    int i;

    for (i = 0; i < MESSAGES; i++) {
        fill(data, length_of(rank, i), i);
        MPI_Send(data, length_of(rank, i), MPI_BYTE, 0, i, MPI_COMM_WORLD);
    }
}

/* Tag 1000 is never sent: Iprobe must say so, and must not be confused by tag 1001. */
static void iprobe_of_nothing(void)
{
    int found = 1, i;

    for (i = 0; i < 100; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 1000, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        CHECK_INT(found, 0);
    }
    if (rank == 0) {
        MPI_Probe(1, 1001, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iprobe(1, 1000, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        CHECK_INT(found, 0);
        MPI_Recv(&i, 1, MPI_INT, 1, 1001, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send(&i, 1, MPI_INT, 0, 1001, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (rank == 0) {
        probe_then_receive(1);
        MPI_Barrier(MPI_COMM_WORLD);
        probe_then_receive(0);
    } else {
        send_lengths();
        MPI_Barrier(MPI_COMM_WORLD);
        send_lengths();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    iprobe_of_nothing();
    return end();
}
