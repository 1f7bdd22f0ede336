/* ranks: 1, 2; transports: all; MPI 5.0 5.1.9 */
/* A type freed while messages of it are on the way finishes its work first. */
#include "../check.h"

enum { TAG = 1, COUNT = 30000 };

int main(int argc, char **argv)
{
    int i, from, *out = malloc(2 * COUNT * sizeof *out), *in = malloc(2 * COUNT * sizeof *in);
    MPI_Datatype half;
    MPI_Request requests[2];

    begin(&argc, &argv);
    from = (rank + size - 1) % size;
    for (i = 0; i < 2 * COUNT; i++) {
        out[i] = i + rank;
        in[i] = -1;
    }
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &half);
    MPI_Type_commit(&half);
    MPI_Irecv(in, 1, half, from, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, 1, half, (rank + 1) % size, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&half);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < 2 * COUNT - 1; i++)
        CHECK_INT(in[i], i % 2 ? -1 : i + from);
    free(out);
    free(in);
    return end();
}
