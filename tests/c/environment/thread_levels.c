/* ranks: 1, 2; transports: one; arguments: 0; MPI 5.0 11.6 */
/* Init_thread gives a level and says which; Query_thread agrees. */
#include "../check.h"

int main(int argc, char **argv)
{
    int provided = -1, asked = -1, is_main = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE,
          "one of the four levels, not %d", provided);
    CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED &&
              MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE,
          "the levels to be ordered");
    MPI_Query_thread(&asked);
    CHECK_INT(asked, provided);
    MPI_Is_thread_main(&is_main);
    CHECK_INT(is_main, 1);
    return end();
}
