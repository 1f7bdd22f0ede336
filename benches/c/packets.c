/* Packets per message, counted at the loopback interface: mpirun -n 2 packets BYTES...
 *
 * Prints "bytes, in a ping-pong, in a stream with 64 in flight". Only in a network of its own
 * (`unshare -n`) and with the offloads of the interface off are these the packets of a wire.
 */
enum { WINDOW = 64, ROUNDS = 100 };
#include "network.h"
#include "window.h"

static void ping_pong(char *buffer, int bytes)
{
    int i;

    for (i = 0; i < WINDOW * ROUNDS / 2; i++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static void count_size(int bytes)
{
    char *buffer = calloc(1, bytes > 0 ? (size_t)bytes : 1);
    long before, between, after;

    batch(buffer, bytes, 2);
    before = loopback_packets();
    ping_pong(buffer, bytes);
    between = loopback_packets();
    batch(buffer, bytes, ROUNDS);
    after = loopback_packets();
    if (rank == 0)
        printf("%d %.4f %.4f\n", bytes, (double)(between - before) / (WINDOW * ROUNDS),
               (double)(after - between) / (WINDOW * ROUNDS));
    free(buffer);
}

int main(int argc, char **argv)
{
    int i;

    begin(argc, argv);
    for (i = 1; i < argc; i++)
        count_size(atoi(argv[i]));
    MPI_Finalize();
    return 0;
}
