/* ranks: 1, 2; transports: all; MPI 5.0 3.2.4, 3.7.5 */
/* A message longer than its receive is MPI_ERR_TRUNCATE for that receive and no other. */
#include "../check.h"

enum { TAG = 7, LARGEST = 200000 };

static char out[LARGEST], in[LARGEST];

static void start(int bytes, unsigned seed, MPI_Request *request)
{
    fill(out, bytes, seed);
    MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % size, TAG, MPI_COMM_WORLD, request);
}

static void finish(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void blocking(int sent, int room, int source)
{
    MPI_Request send;
    MPI_Status status;
    int i, code, from = (rank + size - 1) % size;

    start(sent, 1, &send);
    fill(in, LARGEST, 9);
    code = MPI_Recv(in, room, MPI_BYTE, source, TAG, MPI_COMM_WORLD, &status);
    CHECK_INT(class_of(code), MPI_ERR_TRUNCATE);
    for (i = room; i < LARGEST; i++)
        CHECK((unsigned char)in[i] == pattern(i, 9), "no byte behind %d to change", room);
    finish(&send);

    start(sent, 2, &send); /* the next one is as good as ever */
    code = MPI_Recv(in, LARGEST, MPI_BYTE, source, TAG, MPI_COMM_WORLD, &status);
    CHECK_INT(code, MPI_SUCCESS);
    CHECK_STATUS(status, from, TAG, sent);
    CHECK_FILLED(in, sent, 2);
    finish(&send);
}

/* The send buffers here live until both messages are received. */
static void in_waitall(int bytes)
{
    static char second[LARGEST];
    MPI_Request requests[2], sends[2];
    MPI_Status statuses[2];
    int code, to = (rank + 1) % size, from = (rank + size - 1) % size;

    MPI_Irecv(in, bytes / 2, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(second, bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &requests[1]);
    fill(out, bytes, 3);
    MPI_Isend(out, bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(out, bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &sends[1]);
    code = MPI_Waitall(2, requests, statuses);
    CHECK_INT(class_of(code), MPI_ERR_IN_STATUS);
    CHECK_INT(class_of(statuses[0].MPI_ERROR), MPI_ERR_TRUNCATE);
    if (statuses[1].MPI_ERROR == MPI_ERR_PENDING)
        CHECK_INT(MPI_Wait(&requests[1], &statuses[1]), MPI_SUCCESS);
    else
        CHECK_INT(statuses[1].MPI_ERROR, MPI_SUCCESS);
    CHECK_STATUS(statuses[1], from, TAG, bytes);
    CHECK_FILLED(second, bytes, 3);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    blocking(8, 4, (rank + size - 1) % size);
    blocking(1, 0, MPI_ANY_SOURCE);
    blocking(5000, 4999, MPI_ANY_SOURCE);
    blocking(LARGEST, LARGEST / 2, (rank + size - 1) % size);
    blocking(LARGEST, 1, MPI_ANY_SOURCE);
    in_waitall(16);
    in_waitall(LARGEST);
    return end();
}
