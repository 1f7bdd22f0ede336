/* ranks: 1, 2, 3, 8; transports: all; MPI 5.0 3.10 */
/* Sendrecv and Sendrecv_replace round a ring and along a line that ends in MPI_PROC_NULL. */
#include "../check.h"

enum { LARGEST = 1500000 };

static void ring(char *out, char *in, int bytes)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Status status;

    fill(out, bytes, rank);
    memset(in, 0, bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, LARGEST, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                 &status);
    CHECK_STATUS(status, left, 1, bytes);
    CHECK_FILLED(in, bytes, left);
    CHECK_FILLED(out, bytes, rank);

    MPI_Sendrecv_replace(out, bytes, MPI_BYTE, left, 10 + rank, right, 10 + right,
                         MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, right, 10 + right, bytes);
    CHECK_FILLED(out, bytes, right);
}

static void line(char *out, char *in, int bytes)
{
    int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    MPI_Status status;

    fill(out, bytes, rank);
    fill(in, bytes, 77);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, 2, in, bytes, MPI_BYTE, left, 2, MPI_COMM_WORLD,
                 &status);
    if (left == MPI_PROC_NULL)
        CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK_FILLED(in, bytes, left == MPI_PROC_NULL ? 77 : left);

    MPI_Sendrecv_replace(out, bytes, MPI_BYTE, left, 3, right, 3, MPI_COMM_WORLD, &status);
    CHECK_FILLED(out, bytes, right == MPI_PROC_NULL ? rank : right);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 100, 1473, 20000, LARGEST};
    char *out = malloc(LARGEST), *in = malloc(LARGEST);
    unsigned i;

    begin(&argc, &argv);
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ring(out, in, sizes[i]);
        line(out, in, sizes[i]);
    }
    free(out);
    free(in);
    return end();
}
