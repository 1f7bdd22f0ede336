/* ranks: 2; transports: all; MPI 5.0 3.5 */
/* Messages of one tag, many times what a rank keeps of them, and behind them one of another tag
 * that is received first. LAST_FIRST_MESSAGES=1000000 makes it a million. */
#include "../check.h"

enum { LEN = 64, TAG = 1, LAST = 2 };

static int messages;

static void send(void)
{
    MPI_Request *requests = malloc((messages + 1) * sizeof *requests);
    char(*data)[LEN] = malloc(messages * sizeof *data);
    int i;

    CHECK(requests && data, "memory for %d messages", messages);
    for (i = 0; i < messages; i++) {
        fill(data[i], LEN, i);
        MPI_Isend(data[i], LEN, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Isend(NULL, 0, MPI_BYTE, 1, LAST, MPI_COMM_WORLD, &requests[messages]);
    MPI_Waitall(messages + 1, requests, MPI_STATUSES_IGNORE);
    free(data);
    free(requests);
}

static void receive(void)
{
    char data[LEN];
    MPI_Status status;
    int i;

    MPI_Recv(NULL, 0, MPI_BYTE, 0, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 0; i < messages; i++) {
        MPI_Recv(data, LEN, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, 0, TAG, LEN);
        CHECK_FILLED(data, LEN, i);
    }
}

int main(int argc, char **argv)
{
    const char *asked = getenv("LAST_FIRST_MESSAGES");

    begin(&argc, &argv);
    messages = asked ? atoi(asked) : 300000;
    if (rank == 0)
        send();
    else
        receive();
    return end();
}
