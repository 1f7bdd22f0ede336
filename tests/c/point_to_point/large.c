/* ranks: 1, 2, 4; transports: all; MPI 5.0 3.2 */
/* Messages of several MiB, several at a time, in both directions at once. */
#include "../check.h"

enum { MESSAGES = 3, LARGEST = 6 * 1024 * 1024 + 13 };

static void exchange(char *out[MESSAGES], char *in[MESSAGES], int bytes)
{
    int i, right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request requests[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];

    for (i = 0; i < MESSAGES; i++) {
        fill(out[i], bytes, 3 * rank + i);
        memset(in[i], 0, bytes);
        MPI_Irecv(in[i], LARGEST, MPI_BYTE, left, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (i = MESSAGES - 1; i >= 0; i--)
        MPI_Isend(out[i], bytes, MPI_BYTE, right, i, MPI_COMM_WORLD, &requests[MESSAGES + i]);
    MPI_Waitall(2 * MESSAGES, requests, statuses);
    for (i = 0; i < MESSAGES; i++) {
        CHECK_STATUS(statuses[i], left, i, bytes);
        CHECK_FILLED(in[i], bytes, 3 * left + i);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {65535, 65536, 1 << 20, (1 << 20) + 1, LARGEST};
    char *out[MESSAGES], *in[MESSAGES];
    unsigned i;

    begin(&argc, &argv);
    for (i = 0; i < MESSAGES; i++) {
        out[i] = malloc(LARGEST);
        in[i] = malloc(LARGEST);
    }
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        exchange(out, in, sizes[i]);
    for (i = 0; i < MESSAGES; i++) {
        free(out[i]);
        free(in[i]);
    }
    return end();
}
