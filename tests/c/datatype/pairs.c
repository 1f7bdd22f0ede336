/* ranks: 1, 2; transports: one; MPI 5.0 6.9.4 */
/* Value and index of a pair type both arrive; what lies between them is nobody's business. */
#include "../check.h"

enum { COUNT = 100, TAG = 1 };

struct short_int { short value; int index; };
struct double_int { double value; int index; };

int main(int argc, char **argv)
{
    static struct short_int small[COUNT], small_in[COUNT];
    static struct double_int large[COUNT], large_in[COUNT];
    MPI_Request requests[2];
    int i, to, from;

    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    for (i = 0; i < COUNT; i++) {
        small[i].value = (short)(i - 50 * rank);
        small[i].index = large[i].index = 1000 * rank + i;
        large[i].value = i / 4.0 + rank;
    }
    MPI_Isend(small, COUNT, MPI_SHORT_INT, to, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(large, COUNT, MPI_DOUBLE_INT, to, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv(small_in, COUNT, MPI_SHORT_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(large_in, COUNT, MPI_DOUBLE_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < COUNT; i++) {
        CHECK_INT(small_in[i].value, i - 50 * from);
        CHECK_INT(small_in[i].index, 1000 * from + i);
        CHECK_INT(large_in[i].index, 1000 * from + i);
        CHECK(large_in[i].value == i / 4.0 + from, "value %d to be %g", i, i / 4.0 + from);
    }
    return end();
}
