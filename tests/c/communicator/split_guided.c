/* ranks: 1, 3; transports: all; MPI 5.0 7.4.2 */
/* Parting a communicator by a resource that an info object names: shared memory, the parts of the
 * machine that MPI_Get_hw_resource_info names, sets of processes. Others are not known, and without
 * a name there is no part. */
#include "../check.h"

static const char *key = "mpi_hw_resource_type";

static MPI_Comm split(int type, const char *resource)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm part;

    if (resource) {
        MPI_Info_create(&info);
        MPI_Info_set(info, key, resource);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, type, -rank, info, &part);
    if (resource)
        MPI_Info_free(&info);
    return part;
}

static int members_of(MPI_Comm part)
{
    int members = 0;

    if (part != MPI_COMM_NULL) {
        MPI_Comm_size(part, &members);
        MPI_Comm_free(&part);
    }
    return members;
}

/* Ranks that are bound to a part of the machine find each other, others are in none. */
static void check_parts(void)
{
    MPI_Info info;
    char name[MPI_MAX_INFO_KEY], value[8];
    int n, keys, flag, length, members;

    MPI_Get_hw_resource_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    CHECK(keys > 0, "a part of the machine that has a name");
    for (n = 0; n < keys; n++) {
        MPI_Info_get_nthkey(info, n, name);
        length = sizeof value;
        MPI_Info_get_string(info, name, &length, value, &flag);
        CHECK(!strcmp(value, "true") || !strcmp(value, "false"), "true or false, not %s", value);
        members = members_of(split(MPI_COMM_TYPE_HW_GUIDED, name));
        CHECK((members > 0) == !strcmp(value, "true"), "%s: a part if bound, not %d", name,
              members);
        if (n == 0)
            CHECK_INT(members, size);
    }
    MPI_Info_free(&info);
    members = members_of(split(MPI_COMM_TYPE_HW_UNGUIDED, NULL));
    CHECK(members < size, "fewer than all, not %d", members);
}

static void check_sets(void)
{
    key = "mpi_pset_name";
    CHECK_INT(members_of(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi://WORLD")), size);
    CHECK_INT(members_of(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi://SELF")), 1);
    CHECK_INT(members_of(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi-lite://NODE")), size);
    CHECK_INT(members_of(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "no such set")), 0);
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
    check_parts();
    check_sets();
    return end();
}
