/* ranks: 1, 2, 3, 8; transports: all; MPI 5.0 7.4.2 */
/* Communicators that are made beside the program: many at a time, of a parent that is freed
 * meanwhile, with attributes that are copied at once, waited for in another order. */
#include "../check.h"

enum { MANY = 50 };

#define OK(call) CHECK_INT(call, MPI_SUCCESS)

static int copied;

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    copied++;
    *(void **)out = value;
    *flag = 1;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Comm parent, made[MANY];
    MPI_Request requests[MANY + 1];
    int key, at, value = 7, flag, sum, *found, relation;

    begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    OK(MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(parent, key, &value));
    for (at = 0; at < MANY; at++) {
        if (at % 2 == 0)
            OK(MPI_Comm_idup(parent, &made[at], &requests[at]));
        else
            OK(MPI_Comm_idup_with_info(parent, MPI_INFO_NULL, &made[at], &requests[at]));
    }
    CHECK_INT(copied, MANY);
    OK(MPI_Ibarrier(parent, &requests[MANY]));
    OK(MPI_Comm_free(&parent));
    OK(MPI_Wait(&requests[MANY - 1], MPI_STATUS_IGNORE));
    OK(MPI_Waitall(MANY + 1, requests, MPI_STATUSES_IGNORE));
    for (at = MANY - 1; at >= 0; at--) {
        OK(MPI_Allreduce(&at, &sum, 1, MPI_INT, MPI_SUM, made[at]));
        CHECK_INT(sum, at * size);
        OK(MPI_Comm_get_attr(made[at], key, &found, &flag));
        CHECK(flag && found == &value, "communicator %d to have the attribute of its parent", at);
        OK(MPI_Comm_compare(made[at], MPI_COMM_WORLD, &relation));
        CHECK_INT(relation, MPI_CONGRUENT);
        if (at > 0) {
            OK(MPI_Comm_compare(made[at], made[at - 1], &relation));
            CHECK_INT(relation, MPI_CONGRUENT);
        }
    }
    for (at = 0; at < MANY; at++)
        OK(MPI_Comm_free(&made[at]));
    OK(MPI_Comm_free_keyval(&key));
    return end();
}
