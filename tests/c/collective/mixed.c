/* ranks: 2, 3, 8; transports: all; MPI 5.0 6.1, 6.14 */
/* A long random sequence of collectives with point-to-point traffic under it: neither sees
 * the other, and no collective sees the one before or after it. */
#include "../check.h"

enum { ROUNDS = 250, MOST = 3000 };

static int values[MOST], results[64 * MOST], everything[64 * MOST];

static void one_to_all(int count, int root, int round)
{
    int i;

    for (i = 0; i < count; i++)
        values[i] = rank == root ? round + i : -1;
    MPI_Bcast(values, count, MPI_INT, root, MPI_COMM_WORLD);
    for (i = 0; i < count; i++)
        CHECK_INT(values[i], round + i);
}

static void all_to_one(int count, int root, int round)
{
    int i;

    for (i = 0; i < count; i++)
        values[i] = round + i + rank;
    MPI_Reduce(values, results, count, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    for (i = 0; rank == root && i < count; i++)
        CHECK_INT(results[i], round + i + size - 1);
    MPI_Gather(values, count, MPI_INT, results, count, MPI_INT, root, MPI_COMM_WORLD);
    for (i = 0; rank == root && i < count * size; i++)
        CHECK_INT(results[i], round + i % count + i / count);
}

static void all_to_all(int count, int round)
{
    int i;

    for (i = 0; i < count * size; i++)
        everything[i] = round + rank * size + i / count;
    MPI_Alltoall(everything, count, MPI_INT, results, count, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < count * size; i++)
        CHECK_INT(results[i], round + i / count * size + rank);
    MPI_Allreduce(&round, results, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(results[0], round * size);
}

int main(int argc, char **argv)
{
    MPI_Request receive, send;
    MPI_Status status;
    int round, got, right, left;
    unsigned state = 2026;

    begin(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (round = 0; round < ROUNDS; round++) {
        int kind = (int)(next_random(&state) % 4), root = (int)(next_random(&state) % size);
        int count = 1 + (int)(next_random(&state) % (next_random(&state) % 8 ? 10 : MOST - 1));

        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
        MPI_Isend(&round, 1, MPI_INT, right, round % 3, MPI_COMM_WORLD, &send);
        if (kind == 0)
            one_to_all(count, root, round);
        else if (kind == 1)
            all_to_one(count, root, round);
        else if (kind == 2)
            all_to_all(1 + count / 8, round);
        else
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&receive, &status);
        CHECK_STATUS(status, left, round % 3, (int)sizeof(int));
        CHECK_INT(got, round);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    return end();
}
