/* Half of a round trip, in microseconds: mpirun -n 2 latency [separate] BYTES...
 *
 * Prints "bytes figure figure figure figure", for four ways to measure: one buffer for sending and
 * receiving; one for each; then both again with touched buffers. A rank that touches writes every
 * byte before it sends and reads every byte that it receives; the time that this takes is included.
 * After the word "separate" there is one figure: one buffer for each, not touched.
 */
#include "measure.h"

enum { WAYS = 4 };

/* Where messages arrive if not in the buffer that is sent. */
static char *second;
static int has_two, is_touched;
/* What is written here must be computed. */
static volatile unsigned long seen;

/* The sum of all bytes as words: four at a time, as fast as memory gives them. */
static unsigned long sum_of(const char *buffer, int bytes)
{
    unsigned long sums[4] = {0, 0, 0, 0}, words[4];
    int i;

    for (i = 0; i + (int)sizeof words <= bytes; i += (int)sizeof words) {
        memcpy(words, buffer + i, sizeof words);
        sums[0] += words[0];
        sums[1] += words[1];
        sums[2] += words[2];
        sums[3] += words[3];
    }
    for (; i < bytes; i++)
        sums[0] += (unsigned char)buffer[i];
    return sums[0] + sums[1] + sums[2] + sums[3];
}

static void transmit(char *buffer, int bytes, int round)
{
    if (is_touched)
        memset(buffer, round, (size_t)bytes);
    MPI_Send(buffer, bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD);
}

static void receive(char *buffer, int bytes)
{
    MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is_touched)
        seen = sum_of(buffer, bytes);
}

static void batch(char *buffer, int bytes, int rounds)
{
    char *landing = has_two ? second : buffer;
    int i;

    for (i = 0; i < rounds; i++) {
        if (rank == 0)
            transmit(buffer, bytes, i);
        receive(landing, bytes);
        if (rank == 1)
            transmit(buffer, bytes, i);
    }
}

int main(int argc, char **argv)
{
    int i, way, is_single;

    begin(argc, argv);
    is_single = strcmp(argv[1], "separate") == 0;
    for (i = 1 + is_single; i < argc; i++) {
        int bytes = atoi(argv[i]), rounds = bytes <= 8192 ? 200 : bytes <= 262144 ? 40 : 4;
        double figures[WAYS];

        int ways = is_single ? 1 : WAYS;

        second = allocate(bytes);
        for (way = 0; way < ways; way++) {
            has_two = is_single || way & 1;
            is_touched = way >> 1;
            figures[way] = measure(batch, bytes, rounds) / rounds / 2 * 1e6;
        }
        free(second);
        report_all(bytes, figures, ways);
    }
    MPI_Finalize();
    return 0;
}
