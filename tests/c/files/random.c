/* ranks: 1, 2, 3, 4, 5, 8; transports: all; MPI 5.0 14.3, 14.4 */
/* Random views and accesses against a model of the file, which each rank keeps. A failure names its
 * seed; `random SEED` plays it alone. */
#define _XOPEN_SOURCE 700
#include "file.h"

enum { SEEDS = 40, STEPS = 12, MOST = 1 << 16 };

static unsigned char model[MOST], found[MOST];
static long length;
static unsigned long state;
static int seed;

static int below(int most)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (int)((state >> 33) % (unsigned long)most);
}

/* A run of `run` bytes every `step` bytes; that of rank 0 begins at `first`. */
static struct {
    int first, each, run, step, unit, common;
} view;

static long place(int owner, long byte)
{
    long first = view.first + (view.common ? 0 : (long)owner * view.each);

    return first + byte / view.run * view.step + byte % view.run;
}

static void new_view(MPI_File file)
{
    MPI_Datatype run, filetype, etype = MPI_BYTE;

    view.unit = below(2) ? 4 : 1;
    view.run = view.unit * (1 + below(below(3) ? 8 : 300));
    view.each = view.run + view.unit * below(3);
    view.step = view.each * size;
    view.first = below(20);
    view.common = below(3) == 0;
    if (view.unit == 4)
        etype = MPI_INT;
    MPI_Type_contiguous(view.run / view.unit, etype, &run);
    MPI_Type_create_resized(run, 0, view.step, &filetype);
    MPI_Type_commit(&filetype);
    OK(MPI_File_set_view(file, place(rank, 0), etype, filetype, "native", MPI_INFO_NULL));
    MPI_Type_free(&run);
    MPI_Type_free(&filetype);
}

static unsigned char byte_of(int owner, int step, long at)
{
    return (unsigned char)(seed * 7 + owner * 31 + step * 57 + at * 3 + 1);
}

/* What the step writes; `offsets` in units. */
static void put(int step, const int *counts, const long *offsets)
{
    int owner;
    long at;

    for (owner = 0; owner < size; owner++)
        for (at = 0; at < (long)counts[owner] * view.unit; at++) {
            long to = place(owner, offsets[owner] * view.unit + at);

            model[to] = byte_of(owner, step, at);
            if (to >= length)
                length = to + 1;
        }
}

static long get(int count, long offset, unsigned char *bytes)
{
    long at;

    for (at = 0; at < (long)count * view.unit; at++) {
        long from = place(rank, offset * view.unit + at);

        if (from >= length)
            break;
        bytes[at] = model[from];
    }
    return at;
}

static int access_data(MPI_File file, int writes, int way, long offset, void *data, int count,
                       MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request;

    switch (way) {
    case 0:
        return writes ? MPI_File_write_at_all(file, offset, data, count, type, status)
                      : MPI_File_read_at_all(file, offset, data, count, type, status);
    case 1:
        OK(MPI_File_seek(file, offset, MPI_SEEK_SET));
        return writes ? MPI_File_write_all(file, data, count, type, status)
                      : MPI_File_read_all(file, data, count, type, status);
    case 2:
        OK(writes ? MPI_File_iwrite_at_all(file, offset, data, count, type, &request)
                  : MPI_File_iread_at_all(file, offset, data, count, type, &request));
        return MPI_Wait(&request, status);
    case 3:
        OK(writes ? MPI_File_write_at_all_begin(file, offset, data, count, type)
                  : MPI_File_read_at_all_begin(file, offset, data, count, type));
        return writes ? MPI_File_write_at_all_end(file, data, status)
                      : MPI_File_read_at_all_end(file, data, status);
    case 4:
        OK(writes ? MPI_File_iwrite_at(file, offset, data, count, type, &request)
                  : MPI_File_iread_at(file, offset, data, count, type, &request));
        return MPI_Wait(&request, status);
    default:
        return writes ? MPI_File_write_at(file, offset, data, count, type, status)
                      : MPI_File_read_at(file, offset, data, count, type, status);
    }
}

static void step(MPI_File file, int number)
{
    static unsigned char data[MOST], back[MOST];
    int counts[64] = {0}, writes = below(5) > 1, way = below(6), actor = below(size), owner;
    long offsets[64] = {0}, at, bytes;
    MPI_Datatype type = view.unit == 4 ? MPI_INT : MPI_BYTE;
    MPI_Status status;

    for (owner = 0; owner < size; owner++) {
        counts[owner] = below(way == 4 || way == 5 ? 60 : 200);
        offsets[owner] = below(50);
        /* The bytes of a common view belong to all: one rank writes. */
        if (writes && view.common && owner != actor)
            counts[owner] = 0;
    }
    bytes = (long)counts[rank] * view.unit;
    if (writes) {
        for (at = 0; at < bytes; at++)
            data[at] = byte_of(rank, number, at);
        put(number, counts, offsets);
        OK(access_data(file, 1, way, offsets[rank], data, counts[rank], type, &status));
    } else {
        memset(back, 0, sizeof back);
        OK(access_data(file, 0, way, offsets[rank], back, counts[rank], type, &status));
        bytes = get(counts[rank], offsets[rank], data);
        CHECK(memcmp(data, back, (size_t)bytes) == 0, "seed %d step %d way %d: what was written",
              seed, number, way);
    }
    CHECK(count_of(&status, MPI_BYTE) == bytes, "seed %d step %d way %d: %ld bytes, not %ld", seed,
          number, way, bytes, count_of(&status, MPI_BYTE));
    MPI_Barrier(MPI_COMM_WORLD);
    if (writes && rank == 0) {
        CHECK_INT(content(found, MOST), length);
        for (at = 0; at < length; at++)
            CHECK(found[at] == model[at], "seed %d step %d way %d: byte %ld to be %d, not %d", seed,
                  number, way, at, model[at], found[at]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void play(void)
{
    MPI_File file;
    int number;

    state = (unsigned long)seed * 2654435761UL + 12345;
    memset(model, 0, sizeof model);
    length = 0;
    file = open_new("random");
    for (number = 0; number < STEPS; number++) {
        if (number % 4 == 0)
            new_view(file);
        if (number % 5 == 3)
            OK(MPI_File_set_atomicity(file, below(2)));
        step(file, number);
    }
    OK(MPI_File_close(&file));
    remove_file();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (argc > 1) {
        seed = atoi(argv[1]);
        play();
    } else {
        for (seed = size * 1000; seed < size * 1000 + SEEDS; seed++)
            play();
    }
    return end();
}
