/* ranks: 1; transports: one; MPI 5.0 5.1.2, 5.1.7 */
/* The _c twins of the type functions, with sizes beyond 2 GiB that are described, not sent. */
#include "../check.h"

int main(int argc, char **argv)
{
    const MPI_Count huge = (MPI_Count)5 * 1024 * 1024 * 1024;
    MPI_Count bytes = 0, lower = -1, extent = 0;
    MPI_Datatype many, strided;
    int small = 0;

    begin(&argc, &argv);
    MPI_Type_contiguous_c(huge, MPI_INT, &many);
    MPI_Type_commit(&many);
    MPI_Type_size_c(many, &bytes);
    CHECK_INT(bytes, huge * 4);
    MPI_Type_get_extent_c(many, &lower, &extent);
    CHECK_INT(lower, 0);
    CHECK_INT(extent, huge * 4);
    MPI_Type_size(many, &small);
    CHECK_INT(small, MPI_UNDEFINED); /* what does not fit an int is undefined */

    MPI_Type_vector_c(1000, 2, huge, MPI_CHAR, &strided);
    MPI_Type_commit(&strided);
    MPI_Type_size_c(strided, &bytes);
    CHECK_INT(bytes, 2000);
    MPI_Type_get_extent_c(strided, &lower, &extent);
    CHECK_INT(extent, 999 * huge + 2);
    MPI_Type_free(&many);
    MPI_Type_free(&strided);
    return end();
}
