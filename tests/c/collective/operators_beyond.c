/* ranks: 1, 3; transports: all; MPI 5.0 6.9.2 */
/* Operators that the standard does not define but widely used programs rely on: those of integers
 * on MPI_CHAR, and the logical ones on MPI_AINT, MPI_COUNT and MPI_OFFSET. */
#include "../check.h"

#define CHECK_OP(T, type, op, mine, wanted)                            \
    do {                                                               \
        T mine_ = (T)(mine), got_ = 99;                                \
        MPI_Allreduce(&mine_, &got_, 1, type, op, MPI_COMM_WORLD);     \
        CHECK(got_ == (T)(wanted), "%s on %s to be %d, not %d", #op, #type, (int)(T)(wanted), \
              (int)got_);                                              \
    } while (0)

#define CHECK_LOGICAL(T, type)                                    \
    do {                                                          \
        CHECK_OP(T, type, MPI_LAND, rank + 1, 1);                 \
        CHECK_OP(T, type, MPI_LAND, rank, 0);     \
        CHECK_OP(T, type, MPI_LOR, rank, size > 1);               \
        CHECK_OP(T, type, MPI_LXOR, 1, size % 2);                 \
    } while (0)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK_OP(char, MPI_CHAR, MPI_SUM, rank + 1, size * (size + 1) / 2);
    CHECK_OP(char, MPI_CHAR, MPI_PROD, rank + 1, size == 1 ? 1 : 6);
    CHECK_OP(char, MPI_CHAR, MPI_MAX, 'a' + rank, 'a' + size - 1);
    CHECK_OP(char, MPI_CHAR, MPI_MIN, 'a' + rank, 'a');
    /* Whether C's char has a sign is the machine's business: MPI_CHAR follows it. */
    CHECK_OP(char, MPI_CHAR, MPI_MAX, rank == 0 ? (char)200 : 1,
             size == 1 || (char)200 > 1 ? (char)200 : 1);
    CHECK_OP(char, MPI_CHAR, MPI_BOR, 1 << rank, (1 << size) - 1);
    CHECK_OP(char, MPI_CHAR, MPI_BAND, 3 + 4 * rank, 3);
    CHECK_OP(char, MPI_CHAR, MPI_BXOR, 1, size % 2);
    CHECK_LOGICAL(char, MPI_CHAR);
    CHECK_LOGICAL(MPI_Aint, MPI_AINT);
    CHECK_LOGICAL(MPI_Count, MPI_COUNT);
    CHECK_LOGICAL(MPI_Offset, MPI_OFFSET);
    return end();
}
