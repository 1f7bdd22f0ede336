/* ranks: 2, 3, 8; transports: all; MPI 5.0 3.2.4, 3.5 */
/* MPI_ANY_SOURCE and MPI_ANY_TAG: the status tells source and tag; order per sender is kept. */
#include "../check.h"

enum { MESSAGES = 60, TAGS = 3 };

static void send_numbers(void)
{
    int i, message[2];

    for (i = 0; i < MESSAGES; i++) {
        message[0] = rank;
        message[1] = i;
        MPI_Send(message, 2, MPI_INT, 0, i % TAGS, MPI_COMM_WORLD);
    }
}

static void receive_any(int *seen)
{
    int i, message[2];
    MPI_Status status;

    for (i = 0; i < MESSAGES * (size - 1); i++) {
        MPI_Recv(message, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, message[0], message[1] % TAGS, 2 * (int)sizeof(int));
        CHECK_INT(message[1], seen[message[0]]);
        seen[message[0]]++;
    }
}

/* One tag from anybody, then any tag from one sender. */
static void receive_half_wild(void)
{
    int i, source, tag, message[2], next[64] = {0};
    MPI_Status status;

    for (tag = TAGS - 1; tag > 0; tag--)
        for (i = 0; i < MESSAGES / TAGS * (size - 1); i++) {
            MPI_Recv(message, 2, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
            CHECK_STATUS(status, message[0], tag, 2 * (int)sizeof(int));
        }
    for (source = size - 1; source > 0; source--)
        for (i = 0; i < MESSAGES / TAGS; i++) {
            MPI_Recv(message, 2, MPI_INT, source, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            CHECK_STATUS(status, source, 0, 2 * (int)sizeof(int));
            CHECK_INT(message[1], next[source]);
            next[source] += TAGS;
        }
}

int main(int argc, char **argv)
{
    int seen[64] = {0};

    begin(&argc, &argv);
    if (rank == 0) {
        receive_any(seen);
        MPI_Barrier(MPI_COMM_WORLD);
        receive_half_wild();
    } else {
        send_numbers();
        MPI_Barrier(MPI_COMM_WORLD);
        send_numbers();
    }
    return end();
}
