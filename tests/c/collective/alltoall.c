/* ranks: 1, 2, 3, 5, 8, 13; transports: all; MPI 5.0 6.8 */
/* Alltoall: block j of rank i becomes block i of rank j; many lengths, IN_PLACE, blocks with gaps;
 * in the world and in parts of it whose ranks run backwards. */
#include "../check.h"

enum { LARGEST = 30000 };

static char *out, *in;

static unsigned seed_of(int from, int to)
{
    return (unsigned)(from * 17 + to * 3);
}

static void alltoall(MPI_Comm comm, int bytes, int in_place)
{
    char *from_where = in_place ? in : out;
    int here, all, r;

    MPI_Comm_rank(comm, &here);
    MPI_Comm_size(comm, &all);
    memset(in, 0, (size_t)all * LARGEST);
    for (r = 0; r < all; r++)
        fill(from_where + (size_t)r * bytes, bytes, seed_of(here, r));
    if (in_place)
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, bytes, MPI_BYTE, comm);
    else
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm);
    for (r = 0; r < all; r++)
        CHECK_FILLED(in + (size_t)r * bytes, bytes, seed_of(r, here));
}

/* Each second int is sent from a run of them; what is between stays as it is. */
static void alltoall_with_gaps(MPI_Comm comm, int ints)
{
    int *from = (int *)out, *to = (int *)in, here, all, i;
    MPI_Datatype gaps;

    MPI_Comm_rank(comm, &here);
    MPI_Comm_size(comm, &all);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    for (i = 0; i < all * ints; i++) {
        from[i] = here * 100000 + i;
        to[2 * i] = to[2 * i + 1] = -1;
    }
    MPI_Alltoall(from, ints, MPI_INT, to, ints, gaps, comm);
    for (i = 0; i < all * ints; i++) {
        CHECK_INT(to[2 * i], i / ints * 100000 + here * ints + i % ints);
        CHECK_INT(to[2 * i + 1], -1);
    }
    MPI_Type_free(&gaps);
}

static void all_sizes(MPI_Comm comm)
{
    static const int sizes[] = {0, 1, 4, 1000, 1024, 1025, 1473, LARGEST};
    unsigned i;

    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        alltoall(comm, sizes[i], 0);
        alltoall(comm, sizes[i], 1);
    }
    alltoall_with_gaps(comm, 7);
    alltoall_with_gaps(comm, 2000);
}

int main(int argc, char **argv)
{
    MPI_Comm part;

    begin(&argc, &argv);
    out = malloc((size_t)size * LARGEST);
    in = malloc((size_t)size * LARGEST);
    all_sizes(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 0, -rank, &part);
    all_sizes(part);
    MPI_Comm_free(&part);
    free(out);
    free(in);
    return end();
}
