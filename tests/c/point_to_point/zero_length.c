/* ranks: 1, 2, 3; transports: all; MPI 5.0 3.2 */
/* Empty messages, with null buffers: they match, keep order and carry source and tag. */
#include "../check.h"

int main(int argc, char **argv)
{
    MPI_Request requests[60];
    MPI_Status status;
    int i, right, left, found, one = 1, got = 0;

    begin(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (i = 0; i < 60; i++)
        if (i % 3 == 1)
            MPI_Issend(NULL, 0, MPI_DOUBLE, right, i, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Isend(i % 3 ? &one : NULL, i % 3 ? 1 : 0, MPI_INT, right, i, MPI_COMM_WORLD,
                      &requests[i]);
    for (i = 0; i < 60; i++) {
        MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, left, i, i % 3 == 2 ? (int)sizeof(int) : 0);
        if (i % 3 == 2)
            MPI_Recv(&got, 1, MPI_INT, left, i, MPI_COMM_WORLD, &status);
        else
            MPI_Recv(NULL, 0, MPI_CHAR, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, left, i, i % 3 == 2 ? (int)sizeof(int) : 0);
    }
    MPI_Waitall(60, requests, MPI_STATUSES_IGNORE);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    CHECK_INT(found, 0);
    CHECK_INT(got, 1);
    return end();
}
