/* ranks: 1, 3; transports: all; MPI 5.0 3.2.4, 3.5 */
/* A rank may send to itself: every mode, every length, order and probes as with anybody. */
#include "../check.h"

enum { LARGEST = 3000000, MANY = 200 };

static char *out, *in;

static void exchange(MPI_Comm comm, int me, int bytes)
{
    MPI_Request requests[2];
    MPI_Status status;

    fill(out, bytes, bytes);
    memset(in, 0, bytes);
    MPI_Isend(out, bytes, MPI_BYTE, me, 1, comm, &requests[0]);
    MPI_Recv(in, bytes, MPI_BYTE, me, 1, comm, &status);
    CHECK_STATUS(status, me, 1, bytes);
    CHECK_FILLED(in, bytes, bytes);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

    memset(in, 0, bytes);
    MPI_Irecv(in, bytes, MPI_BYTE, me, 2, comm, &requests[0]);
    MPI_Issend(out, bytes, MPI_BYTE, me, 2, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_FILLED(in, bytes, bytes);

    memset(in, 0, bytes);
    MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]);
    MPI_Send(out, bytes, MPI_BYTE, me, 3, comm);
    MPI_Wait(&requests[0], &status);
    CHECK_STATUS(status, me, 3, bytes);
    CHECK_FILLED(in, bytes, bytes);

    memset(in, 0, bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, me, 4, in, bytes, MPI_BYTE, me, 4, comm, &status);
    CHECK_FILLED(in, bytes, bytes);
}

static void many_in_order(MPI_Comm comm, int me)
{
    MPI_Request requests[MANY];
    int i, values[MANY], got, found;
    MPI_Status status;

    for (i = 0; i < MANY; i++) {
        values[i] = i;
        MPI_Isend(&values[i], 1, MPI_INT, me, i % 2, comm, &requests[i]);
    }
    for (i = 0; i < MANY; i++) {
        MPI_Probe(me, MPI_ANY_TAG, comm, &status);
        CHECK_INT(status.MPI_TAG, i % 2);
        MPI_Recv(&got, 1, MPI_INT, me, MPI_ANY_TAG, comm, &status);
        CHECK_INT(got, i);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &status);
    CHECK_INT(found, 0);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 1000, 70000, LARGEST};
    unsigned i;

    out = malloc(LARGEST);
    in = malloc(LARGEST);
    begin(&argc, &argv);
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        exchange(MPI_COMM_WORLD, rank, sizes[i]);
        exchange(MPI_COMM_SELF, 0, sizes[i]);
    }
    many_in_order(MPI_COMM_WORLD, rank);
    many_in_order(MPI_COMM_SELF, 0);
    free(out);
    free(in);
    return end();
}
