/* ranks: 1, 2, 8; transports: all; MPI 5.0 3.9 */
/* Persistent requests: started again and again, one by one and all together. */
#include "../check.h"

enum { TAG = 3, ROUNDS = 40, BYTES = 5000, PAIRS = 3 };

static char out[PAIRS][BYTES], in[PAIRS][BYTES];

static void rounds(MPI_Request *requests, int together)
{
    MPI_Status statuses[2 * PAIRS];
    int round, i, left = (rank + size - 1) % size;

    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < PAIRS; i++) {
            fill(out[i], BYTES, rank + round + i);
            memset(in[i], 0, BYTES);
        }
        if (together)
            MPI_Startall(2 * PAIRS, requests);
        else
            for (i = 0; i < 2 * PAIRS; i++)
                MPI_Start(&requests[i]);
        MPI_Waitall(2 * PAIRS, requests, statuses);
        for (i = 0; i < PAIRS; i++) {
            CHECK(requests[i] != MPI_REQUEST_NULL, "a persistent request to outlive its wait");
            CHECK_STATUS(statuses[i], left, TAG + i, BYTES);
            CHECK_FILLED(in[i], BYTES, left + round + i);
        }
    }
}

/* An inactive request is complete at once, with an empty status, and stays. */
static void inactive(MPI_Request *request)
{
    MPI_Status status;
    int done = 0, index = 0;

    MPI_Wait(request, &status);
    CHECK_EMPTY_STATUS(status);
    MPI_Test(request, &done, &status);
    CHECK_INT(done, 1);
    CHECK_EMPTY_STATUS(status);
    MPI_Waitany(1, request, &index, &status);
    CHECK_INT(index, MPI_UNDEFINED);
    MPI_Waitsome(1, request, &index, &done, &status);
    CHECK_INT(index, MPI_UNDEFINED);
    MPI_Request_get_status(*request, &done, &status);
    CHECK_INT(done, 1);
    CHECK(*request != MPI_REQUEST_NULL, "an inactive persistent request to stay");
}

int main(int argc, char **argv)
{
    MPI_Request requests[2 * PAIRS];
    int i;

    begin(&argc, &argv);
    for (i = 0; i < PAIRS; i++) {
        MPI_Recv_init(in[i], BYTES, MPI_BYTE, (rank + size - 1) % size, TAG + i, MPI_COMM_WORLD,
                      &requests[i]);
        MPI_Send_init(out[i], BYTES, MPI_BYTE, (rank + 1) % size, TAG + i, MPI_COMM_WORLD,
                      &requests[PAIRS + i]);
    }
    for (i = 0; i < 2 * PAIRS; i++)
        inactive(&requests[i]);
    rounds(requests, 0);
    rounds(requests, 1);
    for (i = 0; i < 2 * PAIRS; i++) {
        inactive(&requests[i]);
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL, "the handle to be null after Request_free");
    }
    return end();
}
