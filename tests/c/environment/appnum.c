/* ranks: 1, 2; transports: one; MPI 5.0 11.10.3 */
/* The only program of a job that mpirun started has the number 0. */
#include "../check.h"

int main(int argc, char **argv)
{
    int *value = NULL, flag = 0;

    begin(&argc, &argv);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag);
    CHECK(flag, "MPI_APPNUM is set");
    CHECK_INT(*value, 0);
    return end();
}
