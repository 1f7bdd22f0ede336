/* ranks: 2, 3, 5, 8; transports: all; MPI 5.0 7.4.2, 7.6 */
/* Duplicates of an inter-communicator that are made beside the program: many at a time, between
 * other nonblocking collectives of it, by sides of different sizes. */
#include "../check.h"

enum { MANY = 20 };

#define OK(call) CHECK_INT(call, MPI_SUCCESS)

/* A barrier, a sum over the other side, and a message from each process to rank 0 of it. */
static void use(MPI_Comm inter, int here, int others)
{
    int sum = -1, got;
    MPI_Request sent;

    OK(MPI_Barrier(inter));
    OK(MPI_Allreduce(&here, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK_INT(sum, others * (others - 1) / 2);
    OK(MPI_Isend(&here, 1, MPI_INT, 0, 3, inter, &sent));
    for (int from = 0; here == 0 && from < others; from++) {
        OK(MPI_Recv(&got, 1, MPI_INT, from, 3, inter, MPI_STATUS_IGNORE));
        CHECK_INT(got, from);
    }
    OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    MPI_Comm local, inter, made[MANY];
    MPI_Request requests[3 * MANY];
    int low, side, here, own, others, relation, is_inter, count, sums[MANY];

    begin(&argc, &argv);
    low = (size + 2) / 3;
    side = rank >= low;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : low, 5, &inter));
    OK(MPI_Comm_rank(inter, &here));
    OK(MPI_Comm_size(inter, &own));
    OK(MPI_Comm_remote_size(inter, &others));
    for (int at = 0; at < MANY; at++) {
        OK(MPI_Ibarrier(inter, &requests[3 * at]));
        OK(MPI_Comm_idup(inter, &made[at], &requests[3 * at + 1]));
        OK(MPI_Iallreduce(&own, &sums[at], 1, MPI_INT, MPI_SUM, inter, &requests[3 * at + 2]));
    }
    OK(MPI_Comm_free(&inter));
    OK(MPI_Waitall(3 * MANY, requests, MPI_STATUSES_IGNORE));
    for (int at = MANY - 1; at >= 0; at--) {
        CHECK_INT(sums[at], others * others);
        OK(MPI_Comm_test_inter(made[at], &is_inter));
        CHECK_INT(is_inter, 1);
        OK(MPI_Comm_remote_size(made[at], &count));
        CHECK_INT(count, others);
        OK(MPI_Comm_compare(made[at], made[0], &relation));
        CHECK_INT(relation, at ? MPI_CONGRUENT : MPI_IDENT);
        use(made[at], here, others);
    }
    for (int at = 0; at < MANY; at++)
        OK(MPI_Comm_free(&made[at]));
    OK(MPI_Comm_free(&local));
    return end();
}
