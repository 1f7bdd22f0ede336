/* ranks: 1, 2, 3, 5, 8; transports: all; MPI 5.0 6.8 */
/* Alltoall: block j of rank i becomes block i of rank j; many lengths, IN_PLACE. */
#include "../check.h"

enum { LARGEST = 30000 };

static char *out, *in;

static unsigned seed_of(int from, int to)
{
    return (unsigned)(from * 17 + to * 3);
}

static void alltoall(int bytes, int in_place)
{
    char *from_where = in_place ? in : out;
    int r;

    memset(in, 0, (size_t)size * LARGEST);
    for (r = 0; r < size; r++)
        fill(from_where + (size_t)r * bytes, bytes, seed_of(rank, r));
    if (in_place)
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        CHECK_FILLED(in + (size_t)r * bytes, bytes, seed_of(r, rank));
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 4, 1000, 1473, LARGEST};
    unsigned i;

    begin(&argc, &argv);
    out = malloc((size_t)size * LARGEST);
    in = malloc((size_t)size * LARGEST);
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        alltoall(sizes[i], 0);
        alltoall(sizes[i], 1);
    }
    free(out);
    free(in);
    return end();
}
