/* ranks: 1, 4; transports: one; MPI 5.0 11.2, 11.3 */
/* Sessions before, across and after the world model, which keep apart from it. */
#include "../check.h"

static MPI_Session begin_session(void)
{
    MPI_Session session;

    CHECK_INT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
    return session;
}

static MPI_Comm all_of(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* Short and long messages arrive, and are those of this communicator. */
static void check_works(MPI_Comm comm, unsigned seed)
{
    static unsigned char out[200000], in[200000];
    int me, members, sum;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(sum, members * (members - 1) / 2);
    fill(out, sizeof out, seed + me);
    MPI_Sendrecv(out, sizeof out, MPI_BYTE, (me + 1) % members, 0, in, sizeof in, MPI_BYTE,
                 (me + members - 1) % members, 0, comm, MPI_STATUS_IGNORE);
    CHECK_FILLED(in, sizeof in, seed + (me + members - 1) % members);
}

static void check_world(int initialized, int finalized)
{
    int flag;

    MPI_Initialized(&flag);
    CHECK_INT(flag, initialized);
    MPI_Finalized(&flag);
    CHECK_INT(flag, finalized);
}

int main(int argc, char **argv)
{
    MPI_Session before = begin_session(), across, after;
    MPI_Comm comm = all_of(before), other;

    check_works(comm, 1);
    check_world(0, 0);
    if (argc > 1 && !strcmp(argv[1], "early"))
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&before);
    across = begin_session();
    comm = all_of(across);
    begin(&argc, &argv);
    check_world(1, 0);
    check_works(comm, 2);
    check_works(MPI_COMM_WORLD, 3);
    MPI_Finalize();
    check_world(1, 1);
    check_works(comm, 4);
    after = begin_session();
    other = all_of(after);
    check_works(other, 5);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&across);
    check_works(other, 6);
    MPI_Comm_free(&other);
    MPI_Session_finalize(&after);
    check_world(1, 1);
    return 0;
}
