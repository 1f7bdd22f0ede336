/* ranks: 2; without: gobackn unet sctp; MPI 5.0 3.7.5 */
/* Waiting for many requests takes time in proportion to their number, not to its square: with the
 * square this program would run into the time limit of the tests. Some transports take 10 to 20 s
 * for as many messages on two idle cores, which is too near to that limit. */
#include "../check.h"

enum { MANY = 150000, TAGS = 7, GO = 99 };

static void send_all(void)
{
    static MPI_Request requests[MANY];
    static int data[MANY];
    int i;

    for (i = 0; i < MANY; i++) {
        data[i] = i;
        MPI_Issend(&data[i], 1, MPI_INT, 1, i % TAGS, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < MANY; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "request %d to be null", i);
}

static void receive_all(void)
{
    int got, i;

    MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 0; i < MANY; i++) {
        MPI_Recv(&got, 1, MPI_INT, 0, i % TAGS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(got, i);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (rank == 0)
        send_all();
    else
        receive_all();
    return end();
}
