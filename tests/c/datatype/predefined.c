/* ranks: 1, 2; transports: one; MPI 5.0 3.2.2, 5.1 */
/* Every predefined C datatype: size, extent, and an array of it sent and received. */
#include "../check.h"
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { TAG = 1, COUNT = 700 };

struct kind {
    const char *name;
    MPI_Datatype type;
    int bytes, extent; /* the C type's: size and, for pairs, size with padding */
};

struct float_int { float value; int index; };
struct double_int { double value; int index; };
struct long_int { long value; int index; };
struct short_int { short value; int index; };
struct long_double_int { long double value; int index; };

#define PLAIN(mpi, c) {#mpi, mpi, sizeof(c), sizeof(c)}
#define PAIR(mpi, c, value) {#mpi, mpi, sizeof(value) + sizeof(int), sizeof(struct c)}

static void check_sizes(const struct kind *kind)
{
    MPI_Aint lower = -1, extent = -1;
    int bytes = -1;

    MPI_Type_size(kind->type, &bytes);
    CHECK(bytes == kind->bytes, "size %d of %s, not %d", kind->bytes, kind->name, bytes);
    MPI_Type_get_extent(kind->type, &lower, &extent);
    CHECK(lower == 0 && extent == kind->extent, "extent %d of %s, not %ld", kind->extent,
          kind->name, (long)extent);
}

/* Padding inside a pair need not travel, so only types without it are compared byte by byte. */
static void check_transfer(const struct kind *kind)
{
    static long double out[COUNT * 2], in[COUNT * 2];
    MPI_Request request;
    MPI_Status status;
    int count;
    size_t bytes = (size_t)COUNT * kind->extent;

    fill(out, bytes, kind->bytes);
    memset(in, 0, sizeof in);
    MPI_Isend(out, COUNT, kind->type, (rank + 1) % size, TAG, MPI_COMM_WORLD, &request);
    MPI_Recv(in, COUNT, kind->type, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, kind->type, &count);
    CHECK_INT(count, COUNT);
    if (kind->bytes == kind->extent)
        CHECK(memcmp(out, in, bytes) == 0, "%d elements of %s to arrive unchanged", COUNT,
              kind->name);
}

int main(int argc, char **argv)
{
    unsigned i;

    begin(&argc, &argv);
    {
        const struct kind kinds[] = {
            PLAIN(MPI_CHAR, char), PLAIN(MPI_SIGNED_CHAR, signed char),
            PLAIN(MPI_UNSIGNED_CHAR, unsigned char), PLAIN(MPI_BYTE, char),
            PLAIN(MPI_PACKED, char), PLAIN(MPI_WCHAR, wchar_t), PLAIN(MPI_SHORT, short),
            PLAIN(MPI_UNSIGNED_SHORT, short), PLAIN(MPI_INT, int), PLAIN(MPI_UNSIGNED, int),
            PLAIN(MPI_LONG, long), PLAIN(MPI_UNSIGNED_LONG, long),
            PLAIN(MPI_LONG_LONG, int64_t), PLAIN(MPI_LONG_LONG_INT, int64_t),
            PLAIN(MPI_UNSIGNED_LONG_LONG, int64_t), PLAIN(MPI_FLOAT, float),
            PLAIN(MPI_DOUBLE, double), PLAIN(MPI_LONG_DOUBLE, long double),
            PLAIN(MPI_C_BOOL, _Bool), PLAIN(MPI_INT8_T, int8_t), PLAIN(MPI_INT16_T, int16_t),
            PLAIN(MPI_INT32_T, int32_t), PLAIN(MPI_INT64_T, int64_t),
            PLAIN(MPI_UINT8_T, int8_t), PLAIN(MPI_UINT16_T, int16_t),
            PLAIN(MPI_UINT32_T, int32_t), PLAIN(MPI_UINT64_T, int64_t),
            PLAIN(MPI_AINT, MPI_Aint), PLAIN(MPI_OFFSET, MPI_Offset),
            PLAIN(MPI_COUNT, MPI_Count), PLAIN(MPI_C_COMPLEX, float _Complex),
            PLAIN(MPI_C_FLOAT_COMPLEX, float _Complex),
            PLAIN(MPI_C_DOUBLE_COMPLEX, double _Complex),
            PLAIN(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex),
            {"MPI_2INT", MPI_2INT, 2 * sizeof(int), 2 * sizeof(int)},
            PAIR(MPI_FLOAT_INT, float_int, float), PAIR(MPI_DOUBLE_INT, double_int, double),
            PAIR(MPI_LONG_INT, long_int, long), PAIR(MPI_SHORT_INT, short_int, short),
            PAIR(MPI_LONG_DOUBLE_INT, long_double_int, long double),
        };

        for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            check_sizes(&kinds[i]);
            check_transfer(&kinds[i]);
        }
    }
    return end();
}
