/* ranks: 40; transports: all; MPI 5.0 6.7, 6.8, 7.4.2 */
/* Many ranks that share few cores exchange with all others: short and long blocks, blocks of
 * lengths of their own, some longer than what ranks of a node exchange at a time; and in halves of
 * the world. */
#include "../check.h"

static MPI_Comm comm;

/* Byte `at` of what `from` sends to `to`. */
static char letter(int from, int to, int at)
{
    return (char)(from * 31 + to * 17 + at * 7);
}

static void alltoall(int bytes, int is_in_place)
{
    char *out = malloc((size_t)bytes * size + 1), *in = malloc((size_t)bytes * size + 1);
    int other, at;

    for (other = 0; other < size; other++)
        for (at = 0; at < bytes; at++)
            (is_in_place ? in : out)[other * bytes + at] = letter(rank, other, at);
    MPI_Alltoall(is_in_place ? MPI_IN_PLACE : out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, comm);
    for (other = 0; other < size; other++)
        for (at = 0; at < bytes; at++)
            CHECK(in[other * bytes + at] == letter(other, rank, at), "byte %d of rank %d", at,
                  other);
    free(in);
    free(out);
}

/* To rank r the blocks of all grow with `most`. */
static int length(int from, int to, int most)
{
    return (from * 3 + to * 5) % 7 * most / 7 + (to == size - 1 ? most : 0);
}

static void alltoallv(int most)
{
    int *counts = calloc(4 * (size_t)size, sizeof *counts), other, at;
    int *starts = counts + size, *in_counts = starts + size, *in_starts = in_counts + size;
    char *out = malloc(2 * (size_t)most * size + 1), *in = malloc(2 * (size_t)most * size + 1);

    for (other = 0; other < size; other++) {
        counts[other] = length(rank, other, most);
        in_counts[other] = length(other, rank, most);
        starts[other] = other * 2 * most;
        in_starts[other] = other * 2 * most;
        for (at = 0; at < counts[other]; at++)
            out[starts[other] + at] = letter(rank, other, at);
    }
    MPI_Alltoallv(out, counts, starts, MPI_CHAR, in, in_counts, in_starts, MPI_CHAR, comm);
    for (other = 0; other < size; other++)
        for (at = 0; at < in_counts[other]; at++)
            CHECK(in[in_starts[other] + at] == letter(other, rank, at), "byte %d of rank %d", at,
                  other);
    free(in);
    free(out);
    free(counts);
}

static void allgather(int bytes)
{
    char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes * size + 1);
    int other, at;

    for (at = 0; at < bytes; at++)
        out[at] = letter(rank, 0, at);
    MPI_Allgather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, comm);
    for (other = 0; other < size; other++)
        for (at = 0; at < bytes; at++)
            CHECK(in[other * bytes + at] == letter(other, 0, at), "byte %d of rank %d", at,
                  other);
    free(in);
    free(out);
}

static void exchange_all(void)
{
    static const int lengths[] = { 0, 1, 64, 2000, 4096, 5000 };
    size_t i;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        alltoall(lengths[i], 0);
        alltoall(lengths[i], 1);
        allgather(lengths[i]);
        alltoallv(lengths[i]);
    }
}

int main(int argc, char **argv)
{
    int me, key;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    comm = MPI_COMM_WORLD;
    exchange_all();
    for (key = -1; key <= 1; key += 2) {
        MPI_Comm_split(MPI_COMM_WORLD, me % 2, key * me, &comm);
        exchange_all();
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
