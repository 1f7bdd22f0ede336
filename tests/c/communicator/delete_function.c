/* ranks: 1, 2; transports: all; MPI 5.0 7.7.2 */
/* A delete function may ask for attributes and free keys, also while its communicator is freed. */
#include "../check.h"

static int calls;

static int delete_function(MPI_Comm comm, int key, void *value, void *extra)
{
    int *found, flag, scratch = MPI_KEYVAL_INVALID;

    MPI_Comm_get_attr(comm, key, &found, &flag);
    CHECK_INT(flag, 1);
    CHECK(found == value, "the value under the key that is being deleted");
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &scratch, NULL);
    MPI_Comm_free_keyval(&scratch);
    *(int *)extra += 1;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int first_key, second_key, value = 7;

    begin(&argc, &argv);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_function, &first_key, &calls);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_function, &second_key, &calls);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, first_key, &value);
    MPI_Comm_set_attr(comm, second_key, &value);
    MPI_Comm_delete_attr(comm, first_key);
    CHECK_INT(calls, 1);
    MPI_Comm_free(&comm);
    CHECK_INT(calls, 2);
    MPI_Comm_free_keyval(&first_key);
    MPI_Comm_free_keyval(&second_key);
    return end();
}
