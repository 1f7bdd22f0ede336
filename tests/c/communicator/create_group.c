/* ranks: 1, 4, 5; transports: all; MPI 5.0 7.4.2 */
/* Groups that make communicators among themselves: without the others, several at once, by threads
 * that come in different orders, and without a parent. Messages stay within each of them. */
#include "../check.h"
#include <pthread.h>

#define THREADS 4
#define TURNS 20

static MPI_Comm made[THREADS][TURNS];

/* The processes of MPI_COMM_WORLD from first on, each step'th. */
static MPI_Group every(int first, int step)
{
    MPI_Group all, part;
    int ranges[1][3] = {{first, size - 1, step}};

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, ranges, &part);
    MPI_Group_free(&all);
    return part;
}

/* Checks that a communicator has the processes of a group, and that its messages arrive. */
static void check_works(MPI_Comm comm, MPI_Group group, int seed)
{
    MPI_Group its;
    int members, place, result, sum;

    MPI_Comm_group(comm, &its);
    MPI_Group_compare(its, group, &result);
    CHECK_INT(result, MPI_IDENT);
    MPI_Group_free(&its);
    MPI_Comm_size(comm, &members);
    MPI_Comm_rank(comm, &place);
    place += seed;
    MPI_Allreduce(&place, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(sum, members * (members - 1) / 2 + members * seed);
}

/* Thread t makes communicators with tag t; processes start their threads in different orders. */
static void *make_many(void *argument)
{
    int thread = *(int *)argument, turn;
    MPI_Group all = every(0, 1);

    for (turn = 0; turn < TURNS; turn++) {
        MPI_Comm_create_group(MPI_COMM_WORLD, all, thread, &made[thread][turn]);
        check_works(made[thread][turn], all, 10 * thread + turn);
    }
    MPI_Group_free(&all);
    return NULL;
}

/* Each communicator that threads have made at once has messages of its own. */
static void check_threads(void)
{
    pthread_t threads[THREADS];
    int names[THREADS], t, turn, next = (rank + 1) % size, from = (rank + size - 1) % size, got;
    MPI_Status status;
    MPI_Request sent[THREADS][TURNS];
    int value[THREADS][TURNS];

    for (t = 0; t < THREADS; t++) {
        names[t] = (t + rank) % THREADS;
        CHECK_INT(pthread_create(&threads[t], NULL, make_many, &names[t]), 0);
    }
    for (t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (t = 0; t < THREADS; t++)
        for (turn = 0; turn < TURNS; turn++) {
            value[t][turn] = 1000 * rank + 100 * t + turn;
            MPI_Isend(&value[t][turn], 1, MPI_INT, next, 0, made[t][turn], &sent[t][turn]);
        }
    for (t = THREADS - 1; t >= 0; t--)
        for (turn = TURNS - 1; turn >= 0; turn--) {
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, made[t][turn], &status);
            CHECK_INT(got, 1000 * from + 100 * t + turn);
            MPI_Wait(&sent[t][turn], MPI_STATUS_IGNORE);
            MPI_Comm_free(&made[t][turn]);
        }
}

/* A process may make a communicator with some processes while others make one with others. */
static void check_parts(void)
{
    MPI_Group part = every(rank % 2, 2), stranger;
    MPI_Comm comm, inner, none;
    int other[1] = {size - 1};

    MPI_Comm_create_group(MPI_COMM_WORLD, part, 7, &comm);
    check_works(comm, part, 1);
    CHECK_INT(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, 7, &none), MPI_SUCCESS);
    CHECK(none == MPI_COMM_NULL, "no communicator of nobody");
    MPI_Comm_create_group(comm, part, 7, &inner);
    check_works(inner, part, 2);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Comm_create_group(comm, part, -1, &none)), MPI_ERR_TAG);
    if (size > 1) {
        MPI_Group all = every(0, 1);

        if (rank % 2 == size % 2)
            MPI_Group_incl(all, 1, other, &stranger);
        else
            stranger = every((rank + 1) % 2, 2);
        CHECK_INT(class_of(MPI_Comm_create_group(comm, stranger, 7, &none)), MPI_ERR_GROUP);
        MPI_Group_free(&stranger);
        MPI_Group_free(&all);
    }
    MPI_Comm_free(&inner);
    MPI_Comm_free(&comm);
    MPI_Group_free(&part);
}

/* Two calls with different names, in different orders, need no parent. */
static void check_names(void)
{
    MPI_Group all = every(0, 1), part = every(rank % 2, 2);
    MPI_Comm one, other, none;
    MPI_Errhandler handler;

    MPI_Comm_create_from_group(part, "lite://part", MPI_INFO_NULL, MPI_ERRORS_RETURN, &one);
    MPI_Comm_create_from_group(all, "lite://all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
    check_works(one, part, 3);
    check_works(other, all, 4);
    MPI_Comm_get_errhandler(one, &handler);
    CHECK(handler == MPI_ERRORS_RETURN, "the error handler that was given");
    MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none);
    CHECK(none == MPI_COMM_NULL, "no communicator of nobody");
    if (size > 1) {
        MPI_Group others = every((rank + 1) % 2, 2);
        int code = MPI_Comm_create_from_group(others, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none);

        CHECK_INT(class_of(code), MPI_ERR_GROUP);
        MPI_Group_free(&others);
    }
    MPI_Comm_free(&one);
    MPI_Comm_free(&other);
    MPI_Group_free(&all);
    MPI_Group_free(&part);
}

int main(int argc, char **argv)
{
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK_INT(level, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check_parts();
    check_names();
    check_threads();
    return end();
}
