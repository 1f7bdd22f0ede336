/* ranks: 1, 2; transports: one; MPI 5.0 20.1 */
/* The standard ABI: its version, its info objects, its sizes and some of its constants. */
#include "../check.h"

static void layout(void)
{
    CHECK_INT(sizeof(MPI_Status), 8 * sizeof(int));
    CHECK_INT(sizeof(MPI_Comm), sizeof(void *));
    CHECK_INT(sizeof(MPI_Aint), sizeof(void *));
    CHECK_INT(sizeof(MPI_Count), 8);
    CHECK_INT(sizeof(MPI_Offset), 8);
    CHECK_INT((size_t)MPI_COMM_NULL, 0x100);
    CHECK_INT((size_t)MPI_COMM_WORLD, 0x101);
    CHECK_INT((size_t)MPI_COMM_SELF, 0x102);
    CHECK_INT(MPI_ABI_VERSION, 1);
}

int main(int argc, char **argv)
{
    MPI_Info info = MPI_INFO_NULL;
    int major = -1, minor = -1, flag = 0, length = 32;
    char value[33] = "";

    MPI_Abi_get_version(&major, &minor);
    CHECK_INT(major, MPI_ABI_VERSION);
    CHECK_INT(minor, MPI_ABI_SUBVERSION);
    begin(&argc, &argv);
    layout();
    MPI_Abi_get_info(&info);
    CHECK(info != MPI_INFO_NULL, "an info object from Abi_get_info");
    MPI_Info_get_string(info, "mpi_aint_size", &length, value, &flag);
    CHECK_INT(flag, 1);
    CHECK_INT(atoi(value), sizeof(MPI_Aint));
    length = 32;
    MPI_Info_get_string(info, "mpi_count_size", &length, value, &flag);
    CHECK_INT(flag, 1);
    CHECK_INT(atoi(value), sizeof(MPI_Count));
    MPI_Info_free(&info);
    info = MPI_INFO_NULL;
    MPI_Abi_get_fortran_info(&info);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return end();
}
