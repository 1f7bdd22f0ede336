/* ranks: 1, 2, 3, 8; transports: all; MPI 5.0 6.9.2 */
/* Every predefined operator on every C type it is defined for. */
#include "../check.h"
#include <stdint.h>

enum { COUNT = 23 };

static const MPI_Op *ops_of_integers(void)
{
    static MPI_Op ops[10];

    ops[0] = MPI_SUM, ops[1] = MPI_PROD, ops[2] = MPI_MAX, ops[3] = MPI_MIN;
    ops[4] = MPI_LAND, ops[5] = MPI_LOR, ops[6] = MPI_LXOR;
    ops[7] = MPI_BAND, ops[8] = MPI_BOR, ops[9] = MPI_BXOR;
    return ops;
}

/* Element i of rank r: small, some zero, some negative where the type has a sign. */
static int element(int i, int r)
{
    return (i * 7 + r * 5) % 6 - 2;
}

/* `a op b` in type T for the operator with this index in ops_of_integers. */
#define COMBINE_REAL(index, a, b)                     \
    ((index) == 0 ? (a) + (b) : (index) == 1 ? (a) * (b) : \
     (index) == 2 ? ((a) > (b) ? (a) : (b)) : ((a) < (b) ? (a) : (b)))
#define COMBINE_INTEGER(index, a, b)                  \
    ((index) < 4 ? COMBINE_REAL(index, a, b) :        \
     (index) == 4 ? ((a) && (b)) : (index) == 5 ? ((a) || (b)) : \
     (index) == 6 ? (!(a) != !(b)) : (index) == 7 ? ((a) & (b)) : \
     (index) == 8 ? ((a) | (b)) : ((a) ^ (b)))

#define CHECK_TYPE(T, mpi, ops, COMBINE)                                                     \
    do {                                                                                     \
        T mine[COUNT], result[COUNT], wanted;                                                \
        int op, i, r;                                                                        \
        for (op = 0; op < (ops); op++) {                                                     \
            for (i = 0; i < COUNT; i++)                                                      \
                mine[i] = (T)element(i, rank);                                               \
            MPI_Allreduce(mine, result, COUNT, mpi, ops_of_integers()[op], MPI_COMM_WORLD);  \
            for (i = 0; i < COUNT; i++) {                                                    \
                wanted = (T)element(i, 0);                                                   \
                for (r = 1; r < size; r++)                                                   \
                    wanted = (T)COMBINE(op, wanted, (T)element(i, r));                       \
                CHECK(size > 1 && op >= 4 && op <= 6 ? !result[i] == !wanted                 \
                                                     : result[i] == wanted,                  \
                      "operator %d on %s: element %d to be %Lg, not %Lg", op, #mpi, i,       \
                      (long double)wanted, (long double)result[i]);                          \
            }                                                                                \
        }                                                                                    \
    } while (0)

static void integers(void)
{
    CHECK_TYPE(signed char, MPI_SIGNED_CHAR, 10, COMBINE_INTEGER);
    CHECK_TYPE(unsigned char, MPI_UNSIGNED_CHAR, 10, COMBINE_INTEGER);
    CHECK_TYPE(short, MPI_SHORT, 10, COMBINE_INTEGER);
    CHECK_TYPE(unsigned short, MPI_UNSIGNED_SHORT, 10, COMBINE_INTEGER);
    CHECK_TYPE(int, MPI_INT, 10, COMBINE_INTEGER);
    CHECK_TYPE(unsigned, MPI_UNSIGNED, 10, COMBINE_INTEGER);
    CHECK_TYPE(long, MPI_LONG, 10, COMBINE_INTEGER);
    CHECK_TYPE(unsigned long, MPI_UNSIGNED_LONG, 10, COMBINE_INTEGER);
    CHECK_TYPE(int64_t, MPI_LONG_LONG, 10, COMBINE_INTEGER);
    CHECK_TYPE(uint64_t, MPI_UNSIGNED_LONG_LONG, 10, COMBINE_INTEGER);
    CHECK_TYPE(int8_t, MPI_INT8_T, 10, COMBINE_INTEGER);
    CHECK_TYPE(int16_t, MPI_INT16_T, 10, COMBINE_INTEGER);
    CHECK_TYPE(int32_t, MPI_INT32_T, 10, COMBINE_INTEGER);
    CHECK_TYPE(int64_t, MPI_INT64_T, 10, COMBINE_INTEGER);
    CHECK_TYPE(uint8_t, MPI_UINT8_T, 10, COMBINE_INTEGER);
    CHECK_TYPE(uint16_t, MPI_UINT16_T, 10, COMBINE_INTEGER);
    CHECK_TYPE(uint32_t, MPI_UINT32_T, 10, COMBINE_INTEGER);
    CHECK_TYPE(uint64_t, MPI_UINT64_T, 10, COMBINE_INTEGER);
    CHECK_TYPE(MPI_Aint, MPI_AINT, 4, COMBINE_INTEGER);
    CHECK_TYPE(MPI_Offset, MPI_OFFSET, 4, COMBINE_INTEGER);
    CHECK_TYPE(MPI_Count, MPI_COUNT, 4, COMBINE_INTEGER);
}

static void reals(void)
{
    CHECK_TYPE(float, MPI_FLOAT, 4, COMBINE_REAL);
    CHECK_TYPE(double, MPI_DOUBLE, 4, COMBINE_REAL);
    CHECK_TYPE(long double, MPI_LONG_DOUBLE, 4, COMBINE_REAL);
}

/* Complex numbers: (1 + i r) summed and multiplied, checked by parts. */
static void complex_numbers(void)
{
    double mine[2], sum[2] = {0, 0}, product[2] = {0, 0}, re = 1, im = 0, next;
    float mine_f[2], sum_f[2] = {0, 0};
    int r;

    mine[0] = mine_f[0] = 1;
    mine[1] = mine_f[1] = (float)rank;
    MPI_Allreduce(mine, sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(mine, product, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    MPI_Allreduce(mine_f, sum_f, 1, MPI_C_FLOAT_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum[0] == size && sum_f[0] == size, "real part of the sum to be %d", size);
    CHECK(sum[1] == size * (size - 1) / 2.0 && sum_f[1] == sum[1], "imaginary part of the sum");
    for (r = 0; r < size; r++) {
        next = re - im * r;
        im = re * r + im;
        re = next;
    }
    CHECK(product[0] == re && product[1] == im, "the product to be %g + %gi, not %g + %gi", re, im,
          product[0], product[1]);
}

static void logical_and_bytes(void)
{
    _Bool mine[2], all[2], any[2];
    unsigned char byte = (unsigned char)(1 << rank % 8), bytes = 0;

    mine[0] = 1;
    mine[1] = rank == 0;
    MPI_Allreduce(mine, all, 2, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
    MPI_Allreduce(mine, any, 2, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
    CHECK_INT(all[0], 1);
    CHECK_INT(all[1], size == 1);
    CHECK_INT(any[1], 1);
    MPI_Allreduce(&byte, &bytes, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    CHECK_INT(bytes, size >= 8 ? 255 : (1 << size) - 1);
}

#define CHECK_LOCATION(T, mpi)                                                             \
    do {                                                                                   \
        struct { T value; int index; } mine[2], largest[2], smallest[2];                   \
        mine[0].value = (T)(rank % 3);                                                     \
        mine[1].value = (T)5; /* all the same: the lowest index wins */                    \
        mine[0].index = mine[1].index = 100 + rank;                                        \
        MPI_Allreduce(mine, largest, 2, mpi, MPI_MAXLOC, MPI_COMM_WORLD);                  \
        MPI_Allreduce(mine, smallest, 2, mpi, MPI_MINLOC, MPI_COMM_WORLD);                 \
        CHECK_INT(largest[0].value, size > 2 ? 2 : size - 1);                              \
        CHECK_INT(largest[0].index, 100 + (size > 2 ? 2 : size - 1));                      \
        CHECK_INT(smallest[0].value, 0);                                                   \
        CHECK_INT(smallest[0].index, 100);                                                 \
        CHECK_INT(largest[1].value, 5);                                                    \
        CHECK_INT(largest[1].index, 100);                                                  \
        CHECK_INT(smallest[1].index, 100);                                                 \
    } while (0)

static void locations(void)
{
    CHECK_LOCATION(int, MPI_2INT);
    CHECK_LOCATION(float, MPI_FLOAT_INT);
    CHECK_LOCATION(double, MPI_DOUBLE_INT);
    CHECK_LOCATION(long, MPI_LONG_INT);
    CHECK_LOCATION(short, MPI_SHORT_INT);
    CHECK_LOCATION(long double, MPI_LONG_DOUBLE_INT);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    integers();
    reals();
    complex_numbers();
    logical_and_bytes();
    locations();
    return end();
}
