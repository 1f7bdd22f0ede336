/* ranks: 1, 2, 4; transports: one; MPI 5.0 14.3, 14.5 */
/* What is seen of a file: displacement, etype, filetype, representation. */
#define _XOPEN_SOURCE 700
#include "file.h"

enum { ROWS = 12, COLUMNS = 8 };

static void set_view(MPI_File file, MPI_Offset at, MPI_Datatype etype, MPI_Datatype filetype)
{
    OK(MPI_File_set_view(file, at, etype, filetype, "native", MPI_INFO_NULL));
}

static void offsets_count_etypes(MPI_File file)
{
    MPI_Datatype filetype, etype, copy;
    MPI_Offset at;
    MPI_Aint extent;
    char name[MPI_MAX_DATAREP_STRING];
    int integers, addresses, types, combiner;

    MPI_Type_vector(2, 1, 3, MPI_INT, &filetype);
    MPI_Type_commit(&filetype);
    set_view(file, 8, MPI_INT, filetype);
    OK(MPI_File_get_byte_offset(file, 3, &at));
    CHECK_INT(at, 36);
    OK(MPI_File_get_position(file, &at));
    CHECK_INT(at, 0);
    OK(MPI_File_get_view(file, &at, &etype, &copy, name));
    CHECK(at == 8 && etype == MPI_INT && strcmp(name, "native") == 0, "the view as it was set");
    MPI_Type_get_envelope(copy, &integers, &addresses, &types, &combiner);
    CHECK_INT(combiner, MPI_COMBINER_DUP);
    MPI_Type_free(&copy);
    OK(MPI_File_get_type_extent(file, filetype, &extent));
    CHECK_INT(extent, 16);
    FAILS(MPI_File_write_at(file, 0, name, 3, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    MPI_Type_free(&filetype);
    /* The view keeps what it needs of a datatype that is freed. */
    OK(MPI_File_get_byte_offset(file, 2, &at));
    CHECK_INT(at, 24);
}

static void refuse(MPI_File file, MPI_Datatype filetype, int class)
{
    int code;

    MPI_Type_commit(&filetype);
    code = MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL);
    CHECK_INT(class_of(code), class);
    MPI_Type_free(&filetype);
}

static void what_is_no_view(MPI_File file)
{
    MPI_Datatype filetype;
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {8, 0}, twice[2] = {0, 2};

    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &filetype);
    refuse(file, filetype, MPI_ERR_TYPE);
    MPI_Type_create_hindexed(2, lengths, twice, MPI_INT, &filetype);
    refuse(file, filetype, MPI_ERR_TYPE);
    MPI_Type_create_resized(MPI_INT, 0, 2, &filetype);
    refuse(file, filetype, MPI_ERR_TYPE);
    MPI_Type_contiguous(3, MPI_CHAR, &filetype);
    refuse(file, filetype, MPI_ERR_ARG);
    FAILS(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "nonsense", MPI_INFO_NULL),
          MPI_ERR_UNSUPPORTED_DATAREP);
    FAILS(MPI_File_set_view(file, -3, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL),
          MPI_ERR_ARG);
    FAILS(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native",
                            MPI_INFO_NULL),
          MPI_ERR_ARG);
    if (size > 1)
        FAILS(MPI_File_set_view(file, 0, rank ? MPI_INT : MPI_CHAR, MPI_INT, "native",
                                MPI_INFO_NULL),
              MPI_ERR_NOT_SAME);
}

/* Each rank has a block of columns of a matrix. */
static void a_matrix_in_blocks(MPI_File file, int is_darray)
{
    int all[2] = {ROWS, COLUMNS * size}, own[2] = {ROWS, COLUMNS}, start[2] = {0, 0};
    int block[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
    int defaults[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {1, size};
    int data[ROWS * COLUMNS], back[ROWS * COLUMNS], *whole, i;
    MPI_Datatype filetype;
    MPI_Status status;

    start[1] = COLUMNS * rank;
    if (is_darray)
        MPI_Type_create_darray(size, rank, 2, all, block, defaults, grid, MPI_ORDER_C, MPI_INT,
                               &filetype);
    else
        MPI_Type_create_subarray(2, all, own, start, MPI_ORDER_C, MPI_INT, &filetype);
    MPI_Type_commit(&filetype);
    set_view(file, 12, MPI_INT, filetype);
    MPI_Type_free(&filetype);
    for (i = 0; i < ROWS * COLUMNS; i++)
        data[i] = is_darray * 100000 + rank * 1000 + i;
    OK(MPI_File_write_all(file, data, ROWS * COLUMNS, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), ROWS * COLUMNS);
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_all(file, back, ROWS * COLUMNS, MPI_INT, &status));
    CHECK(memcmp(data, back, sizeof data) == 0, "what was written");
    whole = malloc(12 + sizeof data * (size_t)size);
    content((unsigned char *)whole, 12 + sizeof data * (size_t)size);
    for (i = 0; i < ROWS * COLUMNS * size; i++) {
        int owner = i % (COLUMNS * size) / COLUMNS;
        int place = i / (COLUMNS * size) * COLUMNS + i % COLUMNS;

        CHECK_INT(whole[3 + i], is_darray * 100000 + owner * 1000 + place);
    }
    free(whole);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void big_endian(MPI_File file)
{
    long numbers[2] = {0x01020304, -2};
    unsigned char bytes[8];
    MPI_Aint extent;
    MPI_Status status;

    OK(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    OK(MPI_File_get_type_extent(file, MPI_LONG, &extent));
    CHECK_INT(extent, 4);
    OK(MPI_File_write_at_all(file, 0, numbers, rank == 0 ? 2 : 0, MPI_LONG, &status));
    CHECK_INT(count_of(&status, MPI_LONG), rank == 0 ? 2 : 0);
    MPI_Barrier(MPI_COMM_WORLD);
    content(bytes, 8);
    CHECK(memcmp(bytes, "\1\2\3\4\377\377\377\376", 8) == 0, "two numbers of four bytes");
    numbers[0] = numbers[1] = 0;
    OK(MPI_File_read_at(file, 1, numbers, 1, MPI_LONG, &status));
    CHECK_INT(numbers[0], -2);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int extents, conversions;

static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *state)
{
    int length;

    MPI_Type_size(datatype, &length);
    *extent = 2 * length;
    extents++;
    return *(int *)state == 42 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* In the file each int is followed by its complement. */
static int to_file(void *memory, MPI_Datatype datatype, int count, void *file,
                   MPI_Offset position, void *state)
{
    int i;

    (void)state;
    CHECK(datatype == MPI_INT, "the datatype of the call");
    for (i = 0; i < count; i++) {
        ((int *)file)[2 * i] = ((int *)memory)[position + i];
        ((int *)file)[2 * i + 1] = ~((int *)memory)[position + i];
    }
    conversions++;
    return MPI_SUCCESS;
}

static int from_file(void *memory, MPI_Datatype datatype, int count, void *file,
                     MPI_Offset position, void *state)
{
    int i;

    (void)state;
    (void)datatype;
    for (i = 0; i < count; i++) {
        CHECK(((int *)file)[2 * i + 1] == ~((int *)file)[2 * i], "a number and its complement");
        ((int *)memory)[position + i] = ((int *)file)[2 * i];
    }
    conversions++;
    return MPI_SUCCESS;
}

static void a_representation_of_our_own(MPI_File file)
{
    static int state = 42;
    int numbers[5] = {1, 2, 3, 4, 5}, back[5] = {0}, i;
    MPI_Request request;
    MPI_Status status;

    OK(MPI_Register_datarep("twice", from_file, to_file, extent_of, &state));
    FAILS(MPI_Register_datarep("twice", from_file, to_file, extent_of, &state),
          MPI_ERR_DUP_DATAREP);
    FAILS(MPI_Register_datarep("native", from_file, to_file, extent_of, &state),
          MPI_ERR_DUP_DATAREP);
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "twice", MPI_INFO_NULL));
    OK(MPI_File_write_at(file, rank * 5, numbers, 5, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), 5);
    OK(MPI_File_iread_at(file, rank * 5, back, 5, MPI_INT, &request));
    MPI_Wait(&request, &status);
    CHECK_INT(count_of(&status, MPI_INT), 5);
    for (i = 0; i < 5; i++)
        CHECK_INT(back[i], numbers[i]);
    CHECK(extents > 0 && conversions == 2, "the functions to be called");
}

int main(int argc, char **argv)
{
    MPI_File file;

    begin(&argc, &argv);
    file = open_new("views");
    offsets_count_etypes(file);
    what_is_no_view(file);
    a_matrix_in_blocks(file, 0);
    a_matrix_in_blocks(file, 1);
    big_endian(file);
    a_representation_of_our_own(file);
    OK(MPI_File_close(&file));
    remove_file();
    return end();
}
