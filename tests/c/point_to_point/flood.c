/* ranks: 2, 4; transports: all; MPI 5.0 3.5 */
/* Thousands of messages that nobody expects yet; then received in the reverse order of tags. */
#include "../check.h"

enum { TAGS = 10, PER_TAG = 500, LONG_EVERY = 50, LONG_BYTES = 6000, GO = 99 };

static int length_of(int i)
{
    return i % LONG_EVERY == 0 ? LONG_BYTES : 8;
}

static void flood(void)
{
    static char data[TAGS * PER_TAG][8], long_data[TAGS * PER_TAG / LONG_EVERY][LONG_BYTES];
    static MPI_Request requests[TAGS * PER_TAG];
    int i;

    for (i = 0; i < TAGS * PER_TAG; i++) {
        char *at = length_of(i) == 8 ? data[i] : long_data[i / LONG_EVERY];

        fill(at, length_of(i), i);
        MPI_Isend(at, length_of(i), MPI_BYTE, 0, i % TAGS, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
    MPI_Waitall(TAGS * PER_TAG, requests, MPI_STATUSES_IGNORE);
}

static void drain(int source)
{
    static char data[LONG_BYTES];
    MPI_Status status;
    int tag, i;

    for (tag = TAGS - 1; tag >= 0; tag--)
        for (i = tag; i < TAGS * PER_TAG; i += TAGS) {
            MPI_Recv(data, LONG_BYTES, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
            CHECK_STATUS(status, source, tag, length_of(i));
            CHECK_FILLED(data, length_of(i), i);
        }
}

int main(int argc, char **argv)
{
    int source;

    begin(&argc, &argv);
    if (rank > 0) {
        flood();
    } else {
        for (source = 1; source < size; source++)
            MPI_Recv(NULL, 0, MPI_BYTE, source, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (source = size - 1; source > 0; source--)
            drain(source);
    }
    return end();
}
