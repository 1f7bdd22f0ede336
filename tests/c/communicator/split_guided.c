/* ranks: 1, 3; transports: all; MPI 5.0 7.4.2 */
/* Parting a communicator by a resource that an info object names: shared memory is known, others
 * are not, and without a name there is no part. */
#include "../check.h"

static MPI_Comm split(int type, const char *resource)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm part;

    if (resource) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_hw_resource_type", resource);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, type, -rank, info, &part);
    if (resource)
        MPI_Info_free(&info);
    return part;
}

int main(int argc, char **argv)
{
    int types[2] = {MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED}, i, place, members;
    MPI_Comm part;

    begin(&argc, &argv);
    for (i = 0; i < 2; i++) {
        part = split(types[i], "mpi_shared_memory");
        CHECK(part != MPI_COMM_NULL, "a part for type %d", types[i]);
        MPI_Comm_size(part, &members);
        MPI_Comm_rank(part, &place);
        CHECK_INT(members, size);
        CHECK_INT(place, size - 1 - rank);
        MPI_Comm_free(&part);
        CHECK(split(types[i], "no such resource") == MPI_COMM_NULL, "no part");
        CHECK(split(types[i], NULL) == MPI_COMM_NULL, "no part without a resource");
    }
    return end();
}
