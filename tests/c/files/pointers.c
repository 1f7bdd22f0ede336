/* ranks: 1, 2, 3, 4; transports: all; MPI 5.0 14.4 */
/* File pointers: individual and shared ones; what is blocking, beside the program, and split. */
#define _XOPEN_SOURCE 700
#include "file.h"
#include <time.h>

enum { EACH = 5, ROUNDS = 20 };

static long position(MPI_File file)
{
    MPI_Offset at;

    OK(MPI_File_get_position(file, &at));
    return (long)at;
}

static long shared_position(MPI_File file)
{
    MPI_Offset at;

    OK(MPI_File_get_position_shared(file, &at));
    return (long)at;
}

static void individual(MPI_File file)
{
    int numbers[EACH], back[EACH], i;
    MPI_Request request;
    MPI_Status status;

    OK(MPI_File_set_view(file, rank * 1000, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (i = 0; i < EACH; i++)
        numbers[i] = rank * 100 + i;
    OK(MPI_File_write(file, numbers, EACH, MPI_INT, &status));
    CHECK_INT(position(file), EACH);
    OK(MPI_File_iwrite(file, numbers, EACH, MPI_INT, &request));
    CHECK_INT(position(file), 2 * EACH);
    MPI_Wait(&request, &status);
    CHECK_INT(count_of(&status, MPI_INT), EACH);
    OK(MPI_File_seek(file, -EACH, MPI_SEEK_CUR));
    CHECK_INT(position(file), EACH);
    OK(MPI_File_read(file, back, EACH, MPI_INT, &status));
    CHECK(memcmp(numbers, back, sizeof back) == 0, "what was written");
    OK(MPI_File_iwrite_at(file, 3, numbers, 1, MPI_INT, &request));
    MPI_Wait(&request, &status);
    OK(MPI_File_iread_at(file, 3, back, 1, MPI_INT, &request));
    MPI_Wait(&request, &status);
    CHECK(back[0] == numbers[0] && count_of(&status, MPI_INT) == 1, "one number at offset 3");
    CHECK_INT(position(file), 2 * EACH);
    FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    FAILS(MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void at_the_end(MPI_File file)
{
    char bytes[40];
    MPI_Status status;
    long end;

    OK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL));
    OK(MPI_File_set_size(file, 100));
    OK(MPI_File_seek(file, -30, MPI_SEEK_END));
    CHECK_INT(position(file), 70);
    OK(MPI_File_read(file, bytes, 40, MPI_CHAR, &status));
    CHECK_INT(count_of(&status, MPI_CHAR), 30);
    end = position(file);
    CHECK_INT(end, 100);
    OK(MPI_File_read_all(file, bytes, 40, MPI_CHAR, &status));
    CHECK_INT(count_of(&status, MPI_CHAR), 0);
    CHECK_INT(position(file), 100);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each record is written once, whoever comes when. */
static void shared(MPI_File file)
{
    int record[4], i, k, *all, *seen;
    MPI_Status status;
    MPI_Request request;

    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_set_size(file, 0));
    for (i = 0; i < ROUNDS; i++) {
        for (k = 0; k < 4; k++)
            record[k] = rank * 1000 + i;
        if (i % 2) {
            OK(MPI_File_write_shared(file, record, 4, MPI_INT, &status));
        } else {
            OK(MPI_File_iwrite_shared(file, record, 4, MPI_INT, &request));
            MPI_Wait(&request, &status);
        }
        CHECK_INT(count_of(&status, MPI_INT), 4);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(shared_position(file), 4 * ROUNDS * size);
    all = calloc((size_t)(4 * ROUNDS * size), sizeof *all);
    seen = calloc((size_t)size, sizeof *seen);
    content((unsigned char *)all, sizeof *all * (size_t)(4 * ROUNDS * size));
    for (i = 0; i < ROUNDS * size; i++) {
        int owner = all[4 * i] / 1000;

        for (k = 1; k < 4; k++)
            CHECK_INT(all[4 * i + k], all[4 * i]);
        CHECK(owner < size && all[4 * i] == owner * 1000 + seen[owner]++, "records in order");
    }
    free(all);
    free(seen);
    OK(MPI_File_seek_shared(file, 4, MPI_SEEK_SET));
    CHECK_INT(shared_position(file), 4);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_seek_shared(file, -4, MPI_SEEK_END));
    CHECK_INT(shared_position(file), 4 * ROUNDS * size - 4);
    if (size > 1)
        FAILS(MPI_File_seek_shared(file, rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void in_the_order_of_ranks(MPI_File file)
{
    int numbers[8], back[8], i, k, first;
    MPI_Status status;

    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    for (i = 0; i < ROUNDS; i++) {
        for (k = 0; k <= rank; k++)
            numbers[k] = i * 1000 + rank * 10 + k;
        if (i % 2) {
            OK(MPI_File_write_ordered(file, numbers, rank + 1, MPI_INT, &status));
        } else {
            OK(MPI_File_write_ordered_begin(file, numbers, rank + 1, MPI_INT));
            OK(MPI_File_write_ordered_end(file, numbers, &status));
        }
        CHECK_INT(count_of(&status, MPI_INT), rank + 1);
        /* The pointer is behind all of them for whoever goes on. */
        first = (i + 1) * size * (size + 1) / 2;
        CHECK(shared_position(file) >= first, "the pointer at %d or behind it", first);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    for (i = 0; i < ROUNDS; i++) {
        OK(MPI_File_read_ordered(file, back, rank + 1, MPI_INT, &status));
        for (k = 0; k <= rank; k++)
            CHECK_INT(back[k], i * 1000 + rank * 10 + k);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void wait_a_while(long nanoseconds)
{
    struct timespec time = {0, nanoseconds};

    nanosleep(&time, NULL);
}

/* What a rank writes before it comes to an ordered write lies before that, or behind it. */
static void shared_before_ordered(MPI_File file)
{
    int record[2], i, *all, total = ROUNDS * size * 2, zeros = 0;
    MPI_Offset at;

    OK(MPI_File_set_size(file, 0));
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    for (i = 0; i < ROUNDS; i++) {
        record[0] = record[1] = 1 + rank;
        wait_a_while(rank * 200000);
        OK(MPI_File_write_shared(file, record, 1, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_File_write_ordered(file, record + 1, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, total);
    all = calloc((size_t)total, sizeof *all);
    CHECK_INT(content((unsigned char *)all, sizeof *all * (size_t)total),
              (long)sizeof *all * total);
    for (i = 0; i < total; i++)
        zeros += all[i] == 0;
    CHECK_INT(zeros, 0);
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void split(MPI_File file)
{
    int number = 4711 + rank, back = 0;
    MPI_Status status;

    OK(MPI_File_write_at_all_begin(file, rank, &number, 1, MPI_INT));
    FAILS(MPI_File_write_all_begin(file, &number, 1, MPI_INT), MPI_ERR_IO);
    FAILS(MPI_File_read_all(file, &back, 1, MPI_INT, &status), MPI_ERR_IO);
    FAILS(MPI_File_read_at_all_end(file, &back, &status), MPI_ERR_IO);
    OK(MPI_File_write_at_all_end(file, &number, &status));
    CHECK_INT(count_of(&status, MPI_INT), 1);
    FAILS(MPI_File_write_at_all_end(file, &number, &status), MPI_ERR_IO);
    OK(MPI_File_seek(file, rank, MPI_SEEK_SET));
    OK(MPI_File_read_all_begin(file, &back, 1, MPI_INT));
    OK(MPI_File_read_all_end(file, &back, &status));
    CHECK_INT(back, number);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_File file;

    begin(&argc, &argv);
    file = open_new("pointers");
    individual(file);
    at_the_end(file);
    shared(file);
    in_the_order_of_ranks(file);
    shared_before_ordered(file);
    split(file);
    OK(MPI_File_close(&file));
    remove_file();
    return end();
}
