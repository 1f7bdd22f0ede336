/* ranks: 1, 3; transports: one; MPI 5.0 11.3 */
/* A program of sessions only: one after the other, several at once, different numbers of them on
 * different ranks, their sets of processes, hints and error handlers. */
#include "../check.h"

static int handled, handled_code;
static MPI_Session handled_session;

static void note(MPI_Session *session, int *code, ...)
{
    handled++;
    handled_session = *session;
    MPI_Error_class(*code, &handled_code);
}

/* A communicator of the processes of a set; -1 members: not checked. */
static MPI_Comm of_set(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Group_from_session_pset(session, set, &group);
    CHECK(group != MPI_GROUP_NULL, "a group of %s", set);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void check_sum(MPI_Comm comm)
{
    int members, place, sum;

    MPI_Comm_size(comm, &members);
    MPI_Comm_rank(comm, &place);
    MPI_Allreduce(&place, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(sum, members * (members - 1) / 2);
}

static int number_of(MPI_Info info, const char *key)
{
    char value[20];
    int flag, length = sizeof value;

    MPI_Info_get_string(info, key, &length, value, &flag);
    CHECK(flag, "a value of %s", key);
    return atoi(value);
}

static void check_sets(MPI_Session session)
{
    static const char *known[3] = {"mpi://WORLD", "mpi://SELF", "mpi-lite://NODE"};
    char name[MPI_MAX_PSET_NAME_LEN];
    int sets, n, length, members, seen[3] = {0, 0, 0}, k;
    MPI_Group group;
    MPI_Info info;

    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    CHECK_INT(sets, 3);
    for (n = 0; n < sets; n++) {
        length = 0;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL);
        CHECK(length > 1, "the room for name %d, not %d", n, length);
        members = length;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
        CHECK_INT(length, members);
        CHECK_INT(strlen(name) + 1, length);
        for (k = 0; k < 3; k++)
            seen[k] += strcmp(name, known[k]) == 0;
        MPI_Session_get_pset_info(session, name, &info);
        MPI_Group_from_session_pset(session, name, &group);
        MPI_Group_size(group, &members);
        CHECK_INT(number_of(info, "mpi_size"), members);
        MPI_Info_free(&info);
        MPI_Group_free(&group);
        length = 4;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
        CHECK_INT(strlen(name), 3);
    }
    for (k = 0; k < 3; k++)
        CHECK(seen[k] == 1, "one set %s", known[k]);
    group = MPI_GROUP_EMPTY;
    CHECK_INT(class_of(MPI_Group_from_session_pset(session, "no such set", &group)), MPI_ERR_ARG);
    CHECK(group == MPI_GROUP_NULL, "no group of a set that does not exist");
}

static void check_handlers(MPI_Session session)
{
    MPI_Errhandler handler, first;
    MPI_Info info;
    char name[8];
    int length = 8;

    MPI_Session_get_errhandler(session, &first);
    CHECK(first == MPI_ERRORS_RETURN, "the error handler of MPI_Session_init");
    CHECK_INT(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, name)),
              MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 3, &length, name)),
              MPI_ERR_ARG);
    MPI_Session_create_errhandler(note, &handler);
    MPI_Session_set_errhandler(session, handler);
    CHECK_INT(class_of(MPI_Session_get_pset_info(session, "no such set", &info)), MPI_ERR_ARG);
    CHECK_INT(handled, 1);
    CHECK_INT(handled_code, MPI_ERR_ARG);
    CHECK(handled_session == session, "the session that the call was made on");
    CHECK_INT(MPI_Session_call_errhandler(session, MPI_ERR_OTHER), MPI_SUCCESS);
    CHECK_INT(handled, 2);
    CHECK_INT(handled_code, MPI_ERR_OTHER);
    MPI_Errhandler_free(&handler);
    MPI_Session_get_pset_info(session, "no such set", &info);
    CHECK_INT(handled, 3);
}

/* A session with these hints has all threads. */
static void check_threads(MPI_Info hints)
{
    MPI_Session session;
    MPI_Info used;
    char value[40];
    int flag, length = sizeof value;

    MPI_Session_init(hints, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_get_info(session, &used);
    MPI_Info_get_string(used, "thread_level", &length, value, &flag);
    CHECK(flag && !strcmp(value, "MPI_THREAD_MULTIPLE"), "MPI_THREAD_MULTIPLE, not %s", value);
    MPI_Info_free(&used);
    MPI_Session_finalize(&session);
}

static void check_level(void)
{
    MPI_Info hints;

    MPI_Info_create(&hints);
    MPI_Info_set(hints, "thread_level", "MPI_THREAD_MULTIPLE");
    check_threads(hints);
    MPI_Info_free(&hints);
    check_threads(MPI_INFO_NULL); /* what the process has, even if nobody asks for it */
}

int main(void)
{
    MPI_Session sessions[3], again;
    MPI_Comm comms[3], own;
    int turn, flag, i, place;

    rank = -1;
    for (turn = 0; turn < 3; turn++) {
        for (i = 0; i < 3; i++) {
            MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[i]);
            comms[i] = of_set(sessions[i], "mpi://WORLD", "all");
            MPI_Comm_rank(comms[i], &rank);
            MPI_Comm_size(comms[i], &size);
            check_sum(comms[i]);
        }
        own = of_set(sessions[0], "mpi://SELF", "own");
        check_sum(own);
        MPI_Comm_free(&own);
        check_sets(sessions[0]);
        handled = 0;
        check_handlers(sessions[0]);
        /* Each rank ends them in another order. */
        for (i = 0; i < 3; i++) {
            place = (i + rank) % 3;
            check_sum(comms[i]);
            MPI_Comm_disconnect(&comms[i]);
            if (i == 2)
                for (i = 0; i < 3; i++)
                    MPI_Session_finalize(&sessions[(i + place) % 3]);
        }
        for (i = 0; i < 3; i++)
            CHECK(sessions[i] == MPI_SESSION_NULL, "MPI_SESSION_NULL");
    }
    check_level();
    /* Some ranks begin more sessions than others. */
    for (i = 0; i < rank; i++) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &again);
        own = of_set(again, "mpi://SELF", "own");
        check_sum(own);
        MPI_Comm_free(&own);
        MPI_Session_finalize(&again);
    }
    MPI_Initialized(&flag);
    CHECK_INT(flag, 0);
    MPI_Finalized(&flag);
    CHECK_INT(flag, 0);
    return 0;
}
