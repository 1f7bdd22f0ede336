/* ranks: 1, 2, 8; transports: one; MPI 5.0 11.2.1, 11.4 */
/* Before, between and after Init and Finalize: what may be asked answers right. */
#include "../check.h"

static void expect(int started, int finished)
{
    int flag = -1;

    MPI_Initialized(&flag);
    CHECK_INT(flag, started);
    MPI_Finalized(&flag);
    CHECK_INT(flag, finished);
}

static void always_allowed(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = -1, version = 0, subversion = -1;

    MPI_Get_version(&version, &subversion);
    CHECK_INT(version, MPI_VERSION);
    CHECK_INT(subversion, MPI_SUBVERSION);
    MPI_Get_library_version(text, &length);
    CHECK(length > 0 && (size_t)length == strlen(text), "a library version, not `%s`", text);
}

int main(int argc, char **argv)
{
    int provided = -1, is_main = 0, world, self, self_rank;

    expect(0, 0);
    always_allowed();
    begin(&argc, &argv);
    expect(1, 0);
    always_allowed();
    CHECK(rank >= 0 && rank < size, "a rank within 0..%d, not %d", size - 1, rank);
    MPI_Query_thread(&provided);
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE, "a thread level");
    MPI_Is_thread_main(&is_main);
    CHECK_INT(is_main, 1);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_SELF, &self);
    MPI_Comm_rank(MPI_COMM_SELF, &self_rank);
    CHECK_INT(world, size);
    CHECK_INT(self, 1);
    CHECK_INT(self_rank, 0);
    MPI_Finalize();
    expect(1, 1);
    always_allowed();
    return 0;
}
