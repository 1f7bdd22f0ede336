/* ranks: 1, 2, 3, 5, 8; transports: all; MPI 5.0 6.5, 6.6, 6.7 */
/* Gather, Scatter and Allgather: every root, many lengths, IN_PLACE. */
#include "../check.h"

enum { LARGEST = 30000 };

static char *mine, *all;

static void check_all(int bytes, unsigned seed)
{
    int r;

    for (r = 0; r < size; r++)
        CHECK_FILLED(all + (size_t)r * bytes, bytes, r + seed);
}

static void gather(int bytes, int root, int in_place)
{
    memset(all, 0, (size_t)size * LARGEST);
    fill(mine, bytes, rank + root);
    if (rank == root && in_place) {
        fill(all + (size_t)rank * bytes, bytes, rank + root);
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, bytes, MPI_BYTE, root,
                   MPI_COMM_WORLD);
    } else if (rank == root) {
        MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    } else { /* the receive side means nothing here */
        MPI_Gather(mine, bytes, MPI_BYTE, NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    }
    if (rank == root)
        check_all(bytes, root);
}

static void scatter(int bytes, int root, int in_place)
{
    int r;

    memset(mine, 0, bytes);
    for (r = 0; rank == root && r < size; r++)
        fill(all + (size_t)r * bytes, bytes, r + root);
    if (rank == root && in_place) {
        MPI_Scatter(all, bytes, MPI_BYTE, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root,
                    MPI_COMM_WORLD);
        CHECK_FILLED(all + (size_t)rank * bytes, bytes, rank + root);
        return;
    }
    if (rank == root)
        MPI_Scatter(all, bytes, MPI_BYTE, mine, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    else
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, mine, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    CHECK_FILLED(mine, bytes, rank + root);
}

static void allgather(int bytes, int in_place)
{
    memset(all, 0, (size_t)size * LARGEST);
    fill(in_place ? all + (size_t)rank * bytes : mine, bytes, rank + 5);
    if (in_place)
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else
        MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    check_all(bytes, 5);
}

/* Each rank sends a column; the root receives lines. */
static void columns(void)
{
    int i, r, matrix[20][6], *lines = malloc(20 * size * sizeof *lines);
    MPI_Datatype column;

    MPI_Type_vector(20, 1, 6, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (i = 0; i < 20; i++)
        matrix[i][2] = 100 * rank + i;
    MPI_Allgather(&matrix[0][2], 1, column, lines, 20, MPI_INT, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        for (i = 0; i < 20; i++)
            CHECK_INT(lines[20 * r + i], 100 * r + i);
    MPI_Type_free(&column);
    free(lines);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 12, 1000, LARGEST};
    unsigned i;
    int root, in_place;

    begin(&argc, &argv);
    mine = malloc(LARGEST);
    all = malloc((size_t)size * LARGEST);
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (in_place = 0; in_place < 2; in_place++) {
            for (root = 0; root < size; root++) {
                gather(sizes[i], root, in_place);
                scatter(sizes[i], root, in_place);
            }
            allgather(sizes[i], in_place);
        }
    columns();
    free(mine);
    free(all);
    return end();
}
