/* ranks: 1, 2, 3, 8; transports: all; MPI 5.0 7.4.2, 7.4.3 */
/* A duplicate has the same members and its own context: no message crosses over. */
#include "../check.h"

enum { TAG = 1, COPIES = 5 };

/* The same tag on every communicator, received in the reverse order of sending. */
static void contexts_are_apart(MPI_Comm *comms, int count)
{
    MPI_Request requests[2 * (COPIES + 1)];
    int i, sent[COPIES + 1], got[COPIES + 1], right = (rank + 1) % size;

    for (i = 0; i < count; i++) {
        sent[i] = 100 * rank + i;
        MPI_Isend(&sent[i], 1, MPI_INT, right, TAG, comms[i], &requests[i]);
    }
    for (i = count - 1; i >= 0; i--)
        MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i],
                  &requests[count + i]);
    MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < count; i++)
        CHECK_INT(got[i], 100 * ((rank + size - 1) % size) + i);
}

static void probes_stay_in_their_context(MPI_Comm copy)
{
    MPI_Request request;
    int found = 1, value = rank, got;

    MPI_Isend(&value, 1, MPI_INT, (rank + 1) % size, TAG, copy, &request);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    CHECK_INT(found, 0);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_INT(got, (rank + size - 1) % size);
}

int main(int argc, char **argv)
{
    MPI_Comm comms[COPIES + 1];
    int i, result, other_rank, other_size;

    begin(&argc, &argv);
    comms[0] = MPI_COMM_WORLD;
    for (i = 1; i <= COPIES; i++) {
        MPI_Comm_dup(comms[i - 1], &comms[i]);
        MPI_Comm_rank(comms[i], &other_rank);
        MPI_Comm_size(comms[i], &other_size);
        CHECK_INT(other_rank, rank);
        CHECK_INT(other_size, size);
        MPI_Comm_compare(MPI_COMM_WORLD, comms[i], &result);
        CHECK_INT(result, MPI_CONGRUENT);
        MPI_Comm_compare(comms[i], comms[i], &result);
        CHECK_INT(result, MPI_IDENT);
    }
    contexts_are_apart(comms, COPIES + 1);
    probes_stay_in_their_context(comms[2]);
    for (i = 1; i <= COPIES; i++) {
        MPI_Barrier(comms[i]);
        MPI_Comm_free(&comms[i]);
        CHECK(comms[i] == MPI_COMM_NULL, "MPI_COMM_NULL after Comm_free");
    }
    return end();
}
