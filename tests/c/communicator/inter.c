/* ranks: 2, 3, 5, 8; transports: all; MPI 5.0 7.6 */
/* Inter-communicators of two sides, one about half as large as the other: what they are, messages
 * between the sides, and all that is made of them. */
#include "../check.h"

#define OK(call) CHECK_INT(call, MPI_SUCCESS)
#define FAILS(call, class) CHECK_INT(class_of(call), class)

enum { MOST = 16 };

/* This process's side (0 or 1), its rank there, and the sizes of this side and the other one. */
static int side, here, own, others;
static MPI_Comm local;

/* The ranks of side 0 in MPI_COMM_WORLD are the lower ones. */
static int world_rank(int of_side, int its_rank)
{
    int low = (size + 2) / 3;
    return of_side == 0 ? its_rank : low + its_rank;
}

static MPI_Comm make(int tag)
{
    MPI_Comm inter;
    /* The last process of side 0 and the first one of side 1 are the leaders. */
    int leader = side == 0 ? own - 1 : 0;
    int remote = side == 0 ? world_rank(1, 0) : world_rank(0, others - 1);
    MPI_Comm peer = here == leader ? MPI_COMM_WORLD : MPI_COMM_NULL;
    OK(MPI_Intercomm_create(local, leader, peer, remote, tag, &inter));
    return inter;
}

/* Each process sends to each of the other side; all receive from any source, then by rank. */
static void exchange(MPI_Comm inter, int wanted_others)
{
    int count, me, tag = 7;
    OK(MPI_Comm_remote_size(inter, &count));
    OK(MPI_Comm_rank(inter, &me));
    CHECK_INT(count, wanted_others);
    for (int round = 0; round < 2; round++) {
        MPI_Request requests[MOST];
        int given[MOST], seen[MOST] = {0};
        for (int to = 0; to < count; to++) {
            given[to] = me * 100 + to;
            OK(MPI_Isend(&given[to], 1, MPI_INT, to, tag, inter, &requests[to]));
        }
        for (int from = 0; from < count; from++) {
            MPI_Status status;
            int got = -1;
            OK(MPI_Probe(round ? from : MPI_ANY_SOURCE, tag, inter, &status));
            OK(MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, tag, inter, &status));
            CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < count, "a rank of the other side");
            CHECK_INT(got, status.MPI_SOURCE * 100 + me);
            CHECK_INT(seen[status.MPI_SOURCE]++, 0);
        }
        OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        OK(MPI_Barrier(inter));
    }
}

static void check_shape(MPI_Comm inter)
{
    int flag, number, ranks[MOST], wanted[MOST];
    MPI_Group group, world;
    OK(MPI_Comm_test_inter(inter, &flag));
    CHECK_INT(flag, 1);
    OK(MPI_Comm_test_inter(local, &flag));
    CHECK_INT(flag, 0);
    OK(MPI_Comm_size(inter, &number));
    CHECK_INT(number, own);
    OK(MPI_Comm_rank(inter, &number));
    CHECK_INT(number, here);
    OK(MPI_Comm_remote_size(inter, &number));
    CHECK_INT(number, others);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int which = 0; which < 2; which++) {
        int of_side = which == 0 ? side : 1 - side;
        OK(which == 0 ? MPI_Comm_group(inter, &group) : MPI_Comm_remote_group(inter, &group));
        OK(MPI_Group_size(group, &number));
        CHECK_INT(number, which == 0 ? own : others);
        for (int i = 0; i < number; i++) wanted[i] = i;
        OK(MPI_Group_translate_ranks(group, number, wanted, world, ranks));
        for (int i = 0; i < number; i++) CHECK_INT(ranks[i], world_rank(of_side, i));
        OK(MPI_Group_free(&group));
    }
    OK(MPI_Group_free(&world));
}

static void check_messages(MPI_Comm inter)
{
    int given = here + 500, got = -1, count;
    MPI_Status status;
    MPI_Request requests[2];
    exchange(inter, others);
    /* Pairs of the same rank on both sides; a process without one has no partner. */
    int partner = here < others ? here : MPI_PROC_NULL;
    OK(MPI_Sendrecv(&given, 1, MPI_INT, partner, 3, &got, 1, MPI_INT, partner, 3, inter, &status));
    CHECK_INT(got, partner == MPI_PROC_NULL ? -1 : given);
    CHECK_INT(status.MPI_SOURCE, partner);
    OK(MPI_Send_init(&given, 1, MPI_INT, partner, 4, inter, &requests[0]));
    OK(MPI_Recv_init(&got, 1, MPI_INT, partner, 4, inter, &requests[1]));
    for (int round = 0; round < 3; round++) {
        given = here + round;
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        if (partner != MPI_PROC_NULL) CHECK_INT(got, here + round);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Psend_init(&given, 1, 1, MPI_INT, partner, 5, inter, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(&got, 1, 1, MPI_INT, partner, 5, inter, MPI_INFO_NULL, &requests[1]));
    given = here + 77;
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready(0, requests[0]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    if (partner != MPI_PROC_NULL) CHECK_INT(got, here + 77);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    /* A message of the smaller side to itself is impossible: ranks are those of the other side. */
    FAILS(MPI_Send(&given, 1, MPI_INT, others, 1, inter), MPI_ERR_RANK);
    FAILS(MPI_Recv(&got, 1, MPI_INT, others, 1, inter, &status), MPI_ERR_RANK);
    FAILS(MPI_Iprobe(others, 1, inter, &count, &status), MPI_ERR_RANK);
}

/* All of both sides come together: `first` is the side whose processes have the lower ranks. */
static void check_merged(MPI_Comm inter, int high, int first)
{
    MPI_Comm merged;
    int number, flag, sum = -1, wanted = side == first ? here : others + here;
    OK(MPI_Intercomm_merge(inter, high, &merged));
    OK(MPI_Comm_size(merged, &number));
    CHECK_INT(number, size);
    OK(MPI_Comm_rank(merged, &number));
    CHECK_INT(number, wanted);
    OK(MPI_Comm_test_inter(merged, &flag));
    CHECK_INT(flag, 0);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK_INT(sum, size * (size - 1) / 2);
    OK(MPI_Comm_free(&merged));
}

static void check_compared(MPI_Comm inter)
{
    MPI_Comm again, merged, back;
    MPI_Group group, reversed;
    int result, ranks[MOST];
    OK(MPI_Comm_compare(inter, inter, &result));
    CHECK_INT(result, MPI_IDENT);
    OK(MPI_Comm_compare(inter, local, &result));
    CHECK_INT(result, MPI_UNEQUAL);
    OK(MPI_Comm_dup(inter, &again));
    OK(MPI_Comm_compare(inter, again, &result));
    CHECK_INT(result, MPI_CONGRUENT);
    OK(MPI_Comm_free(&again));
    OK(MPI_Intercomm_merge(inter, side, &merged));
    OK(MPI_Comm_compare(inter, merged, &result));
    CHECK_INT(result, MPI_UNEQUAL);
    OK(MPI_Comm_free(&merged));
    /* The same processes, in reverse order on side 0. */
    OK(MPI_Comm_group(inter, &group));
    for (int i = 0; i < own; i++) ranks[i] = side == 0 ? own - 1 - i : i;
    OK(MPI_Group_incl(group, own, ranks, &reversed));
    OK(MPI_Comm_create(inter, reversed, &back));
    OK(MPI_Comm_rank(back, &result));
    CHECK_INT(result, side == 0 ? own - 1 - here : here);
    OK(MPI_Comm_compare(inter, back, &result));
    CHECK_INT(result, (side == 0 ? own : others) > 1 ? MPI_SIMILAR : MPI_CONGRUENT);
    exchange(back, others);
    OK(MPI_Comm_free(&back));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&reversed));
}

static void check_derived(MPI_Comm inter)
{
    MPI_Comm made, part;
    MPI_Group group, first;
    int zero = 0, number, wanted = 0;
    OK(MPI_Comm_dup_with_info(inter, MPI_INFO_NULL, &made));
    check_shape(made);
    exchange(made, others);
    /* Parts of even and odd ranks, in reverse order. */
    OK(MPI_Comm_split(made, here % 2, -here, &part));
    for (int i = here % 2; i < others; i += 2) wanted++;
    if (wanted == 0) {
        CHECK(part == MPI_COMM_NULL, "no part without a process of the other side");
    } else {
        OK(MPI_Comm_rank(part, &number));
        CHECK_INT(number, (own - 1 - here) / 2);
        exchange(part, wanted);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Comm_split(made, side == 0 ? MPI_UNDEFINED : 1, 0, &part));
    CHECK(part == MPI_COMM_NULL, "no part without a process of side 0");
    /* The first ones of both sides. */
    OK(MPI_Comm_group(made, &group));
    OK(MPI_Group_incl(group, 1, &zero, &first));
    OK(MPI_Comm_create(made, first, &part));
    CHECK((part != MPI_COMM_NULL) == (here == 0), "only the first ones in the part");
    if (part != MPI_COMM_NULL) {
        exchange(part, 1);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Comm_create(made, side == 0 ? first : MPI_GROUP_EMPTY, &part));
    CHECK(part == MPI_COMM_NULL, "nothing that has one side only");
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&first));
    OK(MPI_Comm_free(&made));
}

/* Two of the same sides at a time, another one made through the first, and one of groups. */
static void check_made_otherwise(MPI_Comm inter)
{
    MPI_Comm one = make(1), two = make(2), through;
    MPI_Group group, remote;
    exchange(two, others);
    exchange(one, others);
    OK(MPI_Intercomm_create(local, 0, inter, 0, 9, &through));
    exchange(through, others);
    check_shape(through);
    OK(MPI_Comm_free(&through));
    OK(MPI_Comm_free(&one));
    OK(MPI_Comm_free(&two));
    OK(MPI_Comm_group(inter, &group));
    OK(MPI_Comm_remote_group(inter, &remote));
    OK(MPI_Intercomm_create_from_groups(group, own - 1, here == own - 1 ? remote : MPI_GROUP_NULL,
                                        others - 1, "of groups", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                        &through));
    check_shape(through);
    exchange(through, others);
    OK(MPI_Comm_free(&through));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&remote));
}

static void check_errors(MPI_Comm inter)
{
    MPI_Comm made;
    MPI_Group group;
    int one = 1, zero = 0, out;
    FAILS(MPI_Comm_remote_size(local, &out), MPI_ERR_COMM);
    FAILS(MPI_Comm_remote_group(local, &group), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_merge(local, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Cart_create(inter, 1, &one, &zero, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Dist_graph_create(inter, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                &made), MPI_ERR_COMM);
    FAILS(MPI_Cart_map(inter, 1, &one, &zero, &out), MPI_ERR_COMM);
    FAILS(MPI_Scan(&one, &out, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    FAILS(MPI_Exscan(&one, &out, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 1, &made), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_create(local, own, MPI_COMM_WORLD, 0, 1, &made), MPI_ERR_RANK);
    OK(MPI_Comm_group(inter, &group));
    FAILS(MPI_Comm_create_group(inter, group, 1, &made), MPI_ERR_COMM);
    OK(MPI_Group_free(&group));
    /* The leaders alone give these; the others hear that it failed. */
    FAILS(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, size, 1, &made),
          here == 0 ? MPI_ERR_RANK : MPI_ERR_ARG);
    FAILS(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 0, -1, &made),
          here == 0 ? MPI_ERR_TAG : MPI_ERR_ARG);
    FAILS(MPI_Intercomm_create(local, 0, MPI_COMM_NULL, 0, 1, &made),
          here == 0 ? MPI_ERR_COMM : MPI_ERR_ARG);
    /* Both sides are the same processes. */
    FAILS(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_WORLD, 0, 1, &made), MPI_ERR_COMM);
    if (own > 1) FAILS(MPI_Intercomm_merge(inter, here == 0, &made), MPI_ERR_ARG);
    else FAILS(MPI_Intercomm_merge(inter, 0, &made), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    side = rank >= (size + 2) / 3;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local));
    OK(MPI_Comm_rank(local, &here));
    OK(MPI_Comm_size(local, &own));
    others = size - own;

    MPI_Comm inter = make(0), copy;
    check_shape(inter);
    check_messages(inter);
    check_merged(inter, side == 0, 1);
    check_merged(inter, side == 1, 0);
    check_merged(inter, 0, 0);
    check_merged(inter, 1, 0);
    check_compared(inter);
    check_derived(inter);
    check_made_otherwise(inter);
    if (size > 2) check_errors(inter);
    OK(MPI_Comm_dup(inter, &copy));
    OK(MPI_Comm_free(&inter));
    exchange(copy, others);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&local));
    return end();
}
