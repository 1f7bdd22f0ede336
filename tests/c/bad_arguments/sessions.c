/* ranks: 2; table: yes; MPI 5.0 chapter 11.3 */
/* Sessions: none, finalized, sets of processes that do not exist, nowhere to put. */
#include "table.h"

static int x;
static MPI_Session session = MPI_SESSION_NULL;
static MPI_Group group;
static MPI_Info info;
static MPI_Comm comm;
static MPI_Errhandler handler;

/* The error handler of MPI_COMM_SELF, which is a predefined one. */
static MPI_Errhandler as_of_self(void)
{
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler);
    return handler;
}

static void close_last(void)
{
    if (session != MPI_SESSION_NULL)
        MPI_Session_finalize(&session);
}

static MPI_Session opened(void)
{
    close_last();
    MPI_Session_init(MPI_INFO_NULL, as_of_self(), &session);
    return session;
}

static int with_level(const char *level)
{
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", level);
    return MPI_Session_init(info, as_of_self(), &session);
}

static MPI_Session finalized(void)
{
    MPI_Session copy = opened();

    MPI_Session_finalize(&session);
    return copy;
}

static int finalize(MPI_Session of)
{
    return MPI_Session_finalize(&of);
}

static int nth_set(MPI_Session of, int n, int length)
{
    char name[MPI_MAX_PSET_NAME_LEN];

    return MPI_Session_get_nth_pset(of, MPI_INFO_NULL, n, &length, name);
}

static MPI_Errhandler of_communicators(void)
{
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)abort, &handler);
    return handler;
}

static int from_group(MPI_Group members, const char *tag)
{
    return MPI_Comm_create_from_group(members, tag, MPI_INFO_NULL, as_of_self(), &comm);
}

static MPI_Group of_rank_0(void)
{
    MPI_Group world;
    int zero = 0;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &zero, &group);
    MPI_Group_free(&world);
    return group;
}

#define CASES(X)                                                                                \
    X(init_nowhere, MPI_Session_init, MPI_ERR_ARG,                                              \
      MPI_Session_init(MPI_INFO_NULL, as_of_self(), NULL))                                      \
    X(init_garbage_info, MPI_Session_init, MPI_ERR_INFO,                                        \
      MPI_Session_init((MPI_Info)0x1234567, as_of_self(), &session))                            \
    X(init_null_handler, MPI_Session_init, MPI_ERR_ERRHANDLER,                                  \
      MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &session))                           \
    X(init_unknown_level, MPI_Session_init, MPI_ERR_INFO_VALUE, with_level("MPI_THREAD_MANY"))  \
    X(finalize_null, MPI_Session_finalize, MPI_ERR_SESSION, finalize(MPI_SESSION_NULL))         \
    X(finalize_twice, MPI_Session_finalize, MPI_ERR_SESSION, finalize(finalized()))             \
    X(finalize_nowhere, MPI_Session_finalize, MPI_ERR_ARG, MPI_Session_finalize(NULL))          \
    X(finalize_a_comm, MPI_Session_finalize, MPI_ERR_SESSION,                                   \
      finalize((MPI_Session)MPI_COMM_WORLD))                                                    \
    X(info_of_null, MPI_Session_get_info, MPI_ERR_SESSION,                                      \
      MPI_Session_get_info(MPI_SESSION_NULL, &info))                                            \
    X(info_nowhere, MPI_Session_get_info, MPI_ERR_ARG, MPI_Session_get_info(opened(), NULL))    \
    X(sets_of_finalized, MPI_Session_get_num_psets, MPI_ERR_SESSION,                            \
      MPI_Session_get_num_psets(finalized(), MPI_INFO_NULL, &x))                                \
    X(sets_nowhere, MPI_Session_get_num_psets, MPI_ERR_ARG,                                     \
      MPI_Session_get_num_psets(opened(), MPI_INFO_NULL, NULL))                                 \
    X(set_99, MPI_Session_get_nth_pset, MPI_ERR_ARG, nth_set(opened(), 99, 1))                  \
    X(set_minus_1, MPI_Session_get_nth_pset, MPI_ERR_ARG, nth_set(opened(), -1, 1))             \
    X(set_of_null, MPI_Session_get_nth_pset, MPI_ERR_SESSION, nth_set(MPI_SESSION_NULL, 0, 1))  \
    X(set_length_minus_1, MPI_Session_get_nth_pset, MPI_ERR_ARG, nth_set(opened(), 0, -1))      \
    X(set_name_nowhere, MPI_Session_get_nth_pset, MPI_ERR_ARG,                                  \
      MPI_Session_get_nth_pset(opened(), MPI_INFO_NULL, 0, &size, NULL))                        \
    X(unknown_set, MPI_Session_get_pset_info, MPI_ERR_ARG,                                      \
      MPI_Session_get_pset_info(opened(), "mpi://NOBODY", &info))                               \
    X(set_without_name, MPI_Session_get_pset_info, MPI_ERR_ARG,                                 \
      MPI_Session_get_pset_info(opened(), NULL, &info))                                         \
    X(group_of_finalized, MPI_Group_from_session_pset, MPI_ERR_SESSION,                         \
      MPI_Group_from_session_pset(finalized(), "mpi://WORLD", &group))                          \
    X(group_nowhere, MPI_Group_from_session_pset, MPI_ERR_ARG,                                  \
      MPI_Group_from_session_pset(opened(), "mpi://WORLD", NULL))                               \
    X(group_of_unknown_set, MPI_Group_from_session_pset, MPI_ERR_ARG,                           \
      MPI_Group_from_session_pset(opened(), "mpi://NOBODY", &group))                            \
    X(handler_of_comm, MPI_Session_set_errhandler, MPI_ERR_ERRHANDLER,                          \
      MPI_Session_set_errhandler(opened(), of_communicators()))                                 \
    X(handler_of_null, MPI_Session_get_errhandler, MPI_ERR_SESSION,                             \
      MPI_Session_get_errhandler(MPI_SESSION_NULL, &handler))                                   \
    X(call_handler_of_null, MPI_Session_call_errhandler, MPI_ERR_SESSION,                       \
      MPI_Session_call_errhandler(MPI_SESSION_NULL, MPI_ERR_OTHER))                             \
    X(comm_of_null_group, MPI_Comm_create_from_group, MPI_ERR_GROUP,                            \
      from_group(MPI_GROUP_NULL, "a"))                                                          \
    X(comm_of_others, MPI_Comm_create_from_group, MPI_ERR_GROUP, from_group(of_rank_0(), "a"))  \
    X(comm_without_tag, MPI_Comm_create_from_group, MPI_ERR_ARG, from_group(of_rank_0(), NULL))

CASES(BAD_CALL_BODY)
static const struct bad_call table[] = {CASES(BAD_CALL_ROW)};

int main(int argc, char **argv)
{
    int code = RUN_TABLE(argc, argv);

    close_last();
    return code;
}
