/* ranks: 2, 3; transports: all; MPI 5.0 3.3.1, 4.1.11, 5.1.2 */
/* Long messages with gaps between their bytes, at the sender, at the receiver, or at both: every
 * byte comes to its place, and nothing else is written. */
#include "../check.h"

enum { TAG = 1, ROOM = 3 << 20, BLOCKS = 9 };

static unsigned char *out, *in, *wanted;
static size_t *from_where, *to_where;

/* Bytes of a block, bytes from the start of one to the start of the next, and number of blocks. */
struct layout {
    int block, step, blocks;
};

/* At the end: no gaps at all; and bytes that are sent twice, which a receive must not name. */
static const struct layout LAYOUTS[] = {
    {1, 3, 50001}, {7, 12, 30011}, {64, 128, 4001}, {1000, 1024, 301}, {4096, 8192, 100},
    {70001, 90000, 9}, {100, 100, 2500}, {300003, 300003, 1}, {5000, 2500, 60},
};

enum { COUNT = sizeof LAYOUTS / sizeof *LAYOUTS, RECEIVABLE = COUNT - 1 };

static size_t bytes_of(const struct layout *layout)
{
    return (size_t)layout->block * (size_t)layout->blocks;
}

static MPI_Datatype type_of(const struct layout *layout)
{
    MPI_Datatype type;

    MPI_Type_vector(layout->blocks, layout->block, layout->step, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Where each byte of the data is. */
static void places(const struct layout *layout, size_t *at)
{
    int block, byte;

    for (block = 0; block < layout->blocks; block++)
        for (byte = 0; byte < layout->block; byte++)
            *at++ = (size_t)block * (size_t)layout->step + (size_t)byte;
}

static void check_received(size_t bytes)
{
    size_t i;

    memset(wanted, 0xee, ROOM);
    for (i = 0; i < bytes; i++)
        wanted[to_where[i]] = pattern(from_where[i], 5);
    for (i = 0; i < ROOM; i++)
        if (in[i] != wanted[i])
            CHECK(0, "byte %lu to be %d, not %d", (unsigned long)i, wanted[i], in[i]);
}

/* What the receiver has no room for is an error, and is left out. */
static void send_and_receive(const struct layout *sent, const struct layout *received, int late)
{
    MPI_Datatype send_type = type_of(sent), receive_type = type_of(received);
    size_t bytes = bytes_of(sent), room = bytes_of(received);
    MPI_Request request;
    MPI_Status status;
    int error, token = 0;

    if (rank == 0) {
        MPI_Isend(out, 1, send_type, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Send(&token, 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        places(sent, from_where);
        places(received, to_where);
        memset(in, 0xee, ROOM);
        if (late)
            MPI_Recv(&token, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(in, 1, receive_type, 0, TAG, MPI_COMM_WORLD, &request);
        error = MPI_Wait(&request, &status);
        if (bytes > room)
            CHECK_INT(class_of(error), MPI_ERR_TRUNCATE);
        else
            CHECK_STATUS(status, 0, TAG, (int)bytes);
        check_received(bytes < room ? bytes : room);
        if (!late)
            MPI_Recv(&token, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&send_type);
    MPI_Type_free(&receive_type);
}

/* The elements of a struct: blocks of all lengths, not in the order of memory, and in a row. */
static void blocks_of_many_lengths(void)
{
    int lengths[BLOCKS], i, block;
    MPI_Aint at[BLOCKS], next = 0;
    MPI_Datatype type, two;
    size_t bytes = 0, byte;

    for (i = BLOCKS - 1; i >= 0; i--) {
        lengths[i] = 1 + i * i * i * 97;
        at[i] = next;
        next += lengths[i] + 3;
    }
    MPI_Type_create_hindexed(BLOCKS, lengths, at, MPI_BYTE, &type);
    MPI_Type_contiguous(2, type, &two);
    MPI_Type_commit(&two);
    for (i = 0; i < 2; i++)
        for (block = 0; block < BLOCKS; block++)
            for (byte = 0; byte < (size_t)lengths[block]; byte++)
                to_where[bytes++] = (size_t)(i * (next - 3) + at[block]) + byte;
    memcpy(from_where, to_where, bytes * sizeof *to_where);
    if (rank == 0) {
        MPI_Send(out, 1, two, 1, TAG, MPI_COMM_WORLD);
    } else if (rank == 1) {
        memset(in, 0xee, ROOM);
        MPI_Recv(in, 1, two, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_received(bytes);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&two);
}

int main(int argc, char **argv)
{
    int i, j;

    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    out = malloc(ROOM);
    in = malloc(ROOM);
    wanted = malloc(ROOM);
    from_where = malloc(ROOM * sizeof *from_where);
    to_where = malloc(ROOM * sizeof *to_where);
    fill(out, ROOM, 5);
    for (i = 0; i < COUNT; i++)
        for (j = 0; j < RECEIVABLE; j++)
            send_and_receive(&LAYOUTS[i], &LAYOUTS[j], (i + j) % 2);
    blocks_of_many_lengths();
    return end();
}
