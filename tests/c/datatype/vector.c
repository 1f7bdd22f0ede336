/* ranks: 1, 2; transports: all; MPI 5.0 5.1.2, 5.1.7 */
/* Columns of a matrix: vector types sent and received, against a plain copy by hand. */
#include "../check.h"

enum { TAG = 1, ROWS = 90, COLUMNS = 40, LARGE = 60000 };

static int out[ROWS][COLUMNS], in[ROWS][COLUMNS];

static void clear(void)
{
    int row, column;

    for (row = 0; row < ROWS; row++)
        for (column = 0; column < COLUMNS; column++) {
            out[row][column] = 100000 * rank + 1000 * row + column;
            in[row][column] = -1;
        }
}

static void transfer(const void *from_where, int sent_count, MPI_Datatype sent, void *to_where,
                     int room, MPI_Datatype received)
{
    MPI_Request request;

    MPI_Isend(from_where, sent_count, sent, (rank + 1) % size, TAG, MPI_COMM_WORLD, &request);
    MPI_Recv(to_where, room, received, (rank + size - 1) % size, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void column_to_line(MPI_Datatype column)
{
    int row, from = (rank + size - 1) % size, line[ROWS];

    clear();
    transfer(&out[0][7], 1, column, line, ROWS, MPI_INT);
    for (row = 0; row < ROWS; row++)
        CHECK_INT(line[row], 100000 * from + 1000 * row + 7);
}

static void line_to_column(MPI_Datatype column)
{
    int row, other, line[ROWS];

    clear();
    for (row = 0; row < ROWS; row++)
        line[row] = 50 * row;
    transfer(line, ROWS, MPI_INT, &in[0][3], 1, column);
    for (row = 0; row < ROWS; row++)
        for (other = 0; other < COLUMNS; other++)
            CHECK_INT(in[row][other], other == 3 ? 50 * row : -1);
}

/* Blocks of 3 in steps of 8, several vectors one behind the other. */
static void blocks(void)
{
    MPI_Datatype type;
    MPI_Aint lower, extent;
    int i, bytes, from = (rank + size - 1) % size;
    int *sent = &out[0][0], *got = &in[0][0];

    MPI_Type_vector(5, 3, 8, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &bytes);
    CHECK_INT(bytes, 15 * sizeof(int));
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK_INT(lower, 0);
    CHECK_INT(extent, (4 * 8 + 3) * sizeof(int));
    clear();
    transfer(sent, 20, type, got, 20, type);
    for (i = 0; i < 20 * 35; i++) {
        int inside = i % 35, wanted = sent[i] + 100000 * (from - rank);

        CHECK_INT(got[i], inside % 8 < 3 ? wanted : -1);
    }
    MPI_Type_free(&type);
}

/* A negative stride walks backwards from the address given. */
static void backwards(void)
{
    MPI_Datatype type;
    MPI_Aint lower, extent;
    int i, line[10], from = (rank + size - 1) % size;

    MPI_Type_vector(10, 1, -2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK_INT(lower, -18 * (int)sizeof(int));
    CHECK_INT(extent, 19 * sizeof(int));
    clear();
    transfer(&out[1][20], 1, type, line, 10, MPI_INT);
    for (i = 0; i < 10; i++)
        CHECK_INT(line[i], 100000 * from + 1000 + 20 - 2 * i);
    MPI_Type_free(&type);
}

/* Long enough to travel in many packets, every second integer, a contiguous of vectors. */
static void large(void)
{
    MPI_Datatype half, twice;
    int i, from = (rank + size - 1) % size;
    int *sent = malloc(4 * LARGE * sizeof *sent), *got = malloc(4 * LARGE * sizeof *got);

    for (i = 0; i < 4 * LARGE; i++) {
        sent[i] = 7 * i + rank;
        got[i] = -1;
    }
    MPI_Type_vector(LARGE, 1, 2, MPI_INT, &half);
    MPI_Type_contiguous(2, half, &twice);
    MPI_Type_commit(&twice);
    transfer(sent, 1, twice, got, 1, twice);
    for (i = 0; i < 2 * LARGE; i++) {
        int start = i < LARGE ? 0 : 2 * LARGE - 1, at = start + 2 * (i % LARGE);

        CHECK_INT(got[at], 7 * at + from);
    }
    memset(got, 0, 4 * LARGE * sizeof *got);
    transfer(sent, 1, twice, got, 2 * LARGE, MPI_INT);
    for (i = 0; i < 2 * LARGE; i++)
        CHECK_INT(got[i], 7 * ((i < LARGE ? 0 : 2 * LARGE - 1) + 2 * (i % LARGE)) + from);
    MPI_Type_free(&half);
    MPI_Type_free(&twice);
    free(sent);
    free(got);
}

int main(int argc, char **argv)
{
    MPI_Datatype column;

    begin(&argc, &argv);
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
    MPI_Type_commit(&column);
    column_to_line(column);
    line_to_column(column);
    MPI_Type_free(&column);
    blocks();
    backwards();
    large();
    return end();
}
