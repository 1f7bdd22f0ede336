/* Round trips for some time: mpirun -n 2 roundtrips BYTES SECONDS
 *
 * Prints "bytes, half of the mean round trip in us, the longest in ms, packets per message".
 * The mean and the longest, not the median: where packets are lost, the exception is the point.
 */
#include "measure.h"
#include "network.h"

/* The first byte of a message of rank 0: whether another follows. */
enum { GO_ON = 1, LAST = 2 };

struct figures {
    long count, packets;
    double seconds, longest;
};

static void round_trip(char *buffer, int bytes)
{
    MPI_Send(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static struct figures lead(char *buffer, int bytes, double budget)
{
    struct figures figures = {0, loopback_packets(), 0, 0};
    double start = MPI_Wtime(), before = start;

    for (buffer[0] = GO_ON; buffer[0] == GO_ON; figures.count++) {
        double took;

        if (before - start > budget)
            buffer[0] = LAST;
        round_trip(buffer, bytes);
        took = MPI_Wtime() - before;
        before += took;
        figures.longest = took > figures.longest ? took : figures.longest;
    }
    figures.seconds = before - start;
    figures.packets = loopback_packets() - figures.packets;
    return figures;
}

static void follow(char *buffer, int bytes)
{
    do {
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    } while (buffer[0] == GO_ON);
}

int main(int argc, char **argv)
{
    struct figures figures;
    char *buffer;
    int bytes;

    begin(argc, argv);
    bytes = atoi(argv[1]) > 1 ? atoi(argv[1]) : 1;
    buffer = calloc(1, (size_t)bytes);
    if (rank == 0) {
        figures = lead(buffer, bytes, argc > 2 ? atof(argv[2]) : 1);
        printf("%d %.3f %.3f %.4f\n", bytes, figures.seconds / figures.count / 2 * 1e6,
               figures.longest * 1e3, (double)figures.packets / figures.count / 2);
    } else {
        follow(buffer, bytes);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
