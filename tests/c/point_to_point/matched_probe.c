/* ranks: 2, 3, 8; transports: all; MPI 5.0 3.8.2, 3.8.3 */
/* A matched message belongs to the caller that matched it: no other receive or probe sees it. */
#include "../check.h"

enum { MESSAGES = 30, TAG = 5 };

static int length_of(int i)
{
    return i * 997;
}

static void send_all(void)
{
    static char data[MESSAGES * 1000];
    int i;

    for (i = 0; i < MESSAGES; i++) {
        fill(data, length_of(i), i + rank);
        MPI_Send(data, length_of(i), MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static MPI_Message match(int i, MPI_Status *status)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    int found = 0;

    if (i % 2)
        MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, status);
    else
        while (!found)
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, status);
    CHECK(message != MPI_MESSAGE_NULL, "a message handle from a matched probe");
    return message;
}

static void take(MPI_Message *message, int i, char *data, int bytes, MPI_Status *status)
{
    MPI_Request request;

    if (i % 3) {
        MPI_Mrecv(data, bytes, MPI_BYTE, message, status);
    } else {
        MPI_Imrecv(data, bytes, MPI_BYTE, message, &request);
        MPI_Wait(&request, status);
    }
    CHECK(*message == MPI_MESSAGE_NULL, "the handle to be MPI_MESSAGE_NULL after the receive");
}

static void match_all(int pairs)
{
    static char data[MESSAGES * 1000];
    MPI_Message first, second;
    MPI_Status status, second_status;
    int i, next[64] = {0};

    for (i = 0; i < pairs; i++) { /* match two, then receive the second before the first */
        int one, two;

        first = match(i, &status);
        one = next[status.MPI_SOURCE]++;
        second = match(i + 1, &second_status);
        two = next[second_status.MPI_SOURCE]++;
        CHECK_STATUS(status, status.MPI_SOURCE, TAG, length_of(one));
        CHECK_STATUS(second_status, second_status.MPI_SOURCE, TAG, length_of(two));
        take(&second, i, data, length_of(two), &second_status);
        CHECK_FILLED(data, length_of(two), two + second_status.MPI_SOURCE);
        take(&first, i, data, length_of(one), &status);
        CHECK_STATUS(status, status.MPI_SOURCE, TAG, length_of(one));
        CHECK_FILLED(data, length_of(one), one + status.MPI_SOURCE);
    }
}

/* Rank 1 sends two; rank 0 matches the first, so that a plain receive gets the second. */
static void plain_receive_passes_by(void)
{
    MPI_Message message;
    int value = rank == 1 ? 100 : 0;

    if (rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        value++;
        MPI_Send(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Mprobe(1, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(value, 101);
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK_INT(value, 100);
    }
}

int main(int argc, char **argv)
{
    int found = 1;
    MPI_Message message;

    begin(&argc, &argv);
    MPI_Improbe(MPI_ANY_SOURCE, 1234, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
    CHECK_INT(found, 0);
    if (rank == 0)
        match_all(MESSAGES * (size - 1) / 2);
    else
        send_all();
    MPI_Barrier(MPI_COMM_WORLD);
    plain_receive_passes_by();
    return end();
}
