/* ranks: 1, 2, 3, 8; transports: all; MPI 5.0 6.4 */
/* Bcast from every root, of every length, also with different types of one signature. */
#include "../check.h"

enum { LARGEST = 300000 };

static void every_root(char *data, int bytes)
{
    int root;

    for (root = 0; root < size; root++) {
        memset(data, 0, bytes);
        if (rank == root)
            fill(data, bytes, root + bytes);
        MPI_Bcast(data, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        CHECK_FILLED(data, bytes, root + bytes);
    }
}

/* The root sends a column, the others receive a line. */
static void different_types(void)
{
    int i, matrix[100][10], line[100];
    MPI_Datatype column;

    MPI_Type_vector(100, 1, 10, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (i = 0; i < 100; i++) {
        matrix[i][4] = 3 * i;
        line[i] = -1;
    }
    if (rank == 0)
        MPI_Bcast(&matrix[0][4], 1, column, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(line, 100, MPI_INT, 0, MPI_COMM_WORLD);
    for (i = 0; i < 100; i++)
        CHECK_INT(rank == 0 ? matrix[i][4] : line[i], 3 * i);
    MPI_Type_free(&column);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 8, 1000, 1473, 20000, LARGEST};
    char *data = malloc(LARGEST);
    unsigned i;

    begin(&argc, &argv);
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        every_root(data, sizes[i]);
    different_types();
    free(data);
    return end();
}
