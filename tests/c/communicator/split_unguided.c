/* ranks: 1, 2, 4; transports: all; MPI 5.0 7.4.2 */
/* MPI_COMM_TYPE_HW_UNGUIDED: a communicator stands for a part of the machine, whose name is in the
 * info object, and has fewer processes than those that take part. */
#define _GNU_SOURCE
#include "../check.h"
#include <sched.h>

static const char *key = "mpi_hw_resource_type";

/* Binds this process to one of the processors that it may use. */
static void bind_to(int number)
{
    static cpu_set_t allowed;
    static int known;
    cpu_set_t one;
    int cpu;

    if (!known++)
        sched_getaffinity(0, sizeof allowed, &allowed);
    number %= CPU_COUNT(&allowed);
    for (cpu = 0; !CPU_ISSET(cpu, &allowed) || number-- > 0;)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK_INT(sched_setaffinity(0, sizeof one, &one), 0);
}

/* The members of the part in which this process is, 0 if it is in none. */
static int members_of(int type, MPI_Info info)
{
    MPI_Comm part;
    int members = 0;

    MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &part);
    if (part != MPI_COMM_NULL) {
        MPI_Comm_size(part, &members);
        MPI_Comm_free(&part);
    }
    return members;
}

/* The members of the first of the named parts that do not hold all processes, 0 if all do. */
static int members_of_smaller_part(void)
{
    MPI_Info names, info;
    char name[MPI_MAX_INFO_KEY];
    int n, keys, members = size;

    MPI_Get_hw_resource_info(&names);
    MPI_Info_get_nkeys(names, &keys);
    for (n = 0; n < keys && members == size; n++) {
        MPI_Info_get_nthkey(names, n, name);
        MPI_Info_create(&info);
        MPI_Info_set(info, key, name);
        members = members_of(MPI_COMM_TYPE_HW_GUIDED, info);
        MPI_Info_free(&info);
    }
    MPI_Info_free(&names);
    return members == size ? 0 : members;
}

static void check_bound(void)
{
    MPI_Info info;
    char name[MPI_MAX_INFO_VAL];
    int length = sizeof name, wanted = members_of_smaller_part(), members, flag;

    MPI_Info_create(&info);
    members = members_of(MPI_COMM_TYPE_HW_UNGUIDED, info);
    CHECK_INT(members, wanted);
    MPI_Info_get_string(info, key, &length, name, &flag);
    CHECK_INT(flag, members > 0);
    if (members > 0)
        CHECK_INT(members_of(MPI_COMM_TYPE_HW_GUIDED, info), members);
    MPI_Info_free(&info);
    CHECK_INT(members_of(MPI_COMM_TYPE_HW_UNGUIDED, MPI_INFO_NULL), members);
}

int main(int argc, char **argv)
{
    int last;

    begin(&argc, &argv);
    last = rank == size - 1;
    bind_to(rank);
    check_bound();
    /* All use one processor: no part of the machine has some of them. That one process takes no
     * part does not make the others a part of anything. */
    bind_to(0);
    check_bound();
    CHECK_INT(members_of(MPI_COMM_TYPE_HW_UNGUIDED, MPI_INFO_NULL), 0);
    CHECK_INT(members_of(last ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED, MPI_INFO_NULL), 0);
    return end();
}
