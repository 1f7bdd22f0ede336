/* ranks: 2; transports: all; MPI 5.0 3.5 */
/* A message goes to the first posted receive that matches it, wildcard or not. */
#include "../check.h"

enum { RECEIVES = 4, GO = 9 };

int main(int argc, char **argv)
{
    static const int sources[RECEIVES] = {MPI_ANY_SOURCE, 0, 0, MPI_ANY_SOURCE};
    static const int tags[RECEIVES] = {1, MPI_ANY_TAG, 2, MPI_ANY_TAG};
    /* The messages with tags 2, 1, 1, 2 and the receive each must reach. */
    static const int sent[RECEIVES] = {2, 1, 1, 2}, reached[RECEIVES] = {1, 0, 3, 2};
    int i, round, data[RECEIVES];
    MPI_Request requests[RECEIVES];
    MPI_Status statuses[RECEIVES];

    begin(&argc, &argv);
    for (round = 0; round < 50; round++) {
        if (rank == 0) {
            MPI_Recv(NULL, 0, MPI_INT, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (i = 0; i < RECEIVES; i++)
                MPI_Send(&i, 1, MPI_INT, 1, sent[i], MPI_COMM_WORLD);
            continue;
        }
        for (i = 0; i < RECEIVES; i++)
            MPI_Irecv(&data[i], 1, MPI_INT, sources[i], tags[i], MPI_COMM_WORLD, &requests[i]);
        MPI_Send(NULL, 0, MPI_INT, 0, GO, MPI_COMM_WORLD);
        MPI_Waitall(RECEIVES, requests, statuses);
        for (i = 0; i < RECEIVES; i++) {
            CHECK_INT(data[reached[i]], i);
            CHECK_INT(statuses[reached[i]].MPI_TAG, sent[i]);
        }
    }
    return end();
}
