/* ranks: 3, 8; transports: all; MPI 5.0 7.4, 3.2.2 */
/* Ranks in calls and statuses are those of the communicator, not of MPI_COMM_WORLD. */
#include "../check.h"

enum { TAG = 4 };

int main(int argc, char **argv)
{
    MPI_Comm half;
    MPI_Status status;
    int me, members, got = -1, world_of_left;

    begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half); /* reversed */
    MPI_Comm_rank(half, &me);
    MPI_Comm_size(half, &members);
    MPI_Sendrecv(&rank, 1, MPI_INT, (me + 1) % members, TAG, &got, 1, MPI_INT, MPI_ANY_SOURCE,
                 MPI_ANY_TAG, half, &status);
    CHECK_STATUS(status, (me + members - 1) % members, TAG, (int)sizeof(int));
    world_of_left = me == 0 ? rank % 2 : rank + 2; /* the last member has the lowest world rank */
    CHECK_INT(got, world_of_left);
    MPI_Bcast(&got, 1, MPI_INT, members - 1, half);
    CHECK_INT(got, rank % 2 + (members > 1 ? 2 : 0));
    MPI_Comm_free(&half);
    return end();
}
