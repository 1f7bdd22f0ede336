/* ranks: 1, 2; transports: all; MPI 5.0 7.7.2 */
/* A key that is freed while attributes of it exist serves them until the last is gone: they can be
 * read, copied and deleted; new ones cannot be made. Then its number is free for another key. */
#include "../check.h"

enum { ROUNDS = 100000 };

static int deleted;

static int count_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static int get(MPI_Comm comm, int key)
{
    int *value = NULL, found = 0;

    if (class_of(MPI_Comm_get_attr(comm, key, &value, &found)) != MPI_SUCCESS)
        return -1;
    return found ? *value : 0;
}

static void read_copy_and_delete(void)
{
    int five = 5, key, kept;
    MPI_Comm copy;

    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count_delete, &key, NULL);
    kept = key;
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &five);
    MPI_Comm_free_keyval(&key);
    CHECK_INT(key, MPI_KEYVAL_INVALID);
    CHECK_INT(get(MPI_COMM_SELF, kept), 5);
    CHECK_INT(class_of(MPI_Comm_set_attr(MPI_COMM_WORLD, kept, &five)), MPI_ERR_KEYVAL);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    CHECK_INT(get(copy, kept), 5);
    CHECK_INT(MPI_Comm_delete_attr(MPI_COMM_SELF, kept), MPI_SUCCESS);
    CHECK_INT(deleted, 1);
    CHECK_INT(get(copy, kept), 5);
    MPI_Comm_free(&copy);
    CHECK_INT(deleted, 2);
    CHECK_INT(get(MPI_COMM_SELF, kept), -1);
}

static void of_a_datatype(void)
{
    int five = 5, key, kept, found = 0, *value = NULL;

    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    kept = key;
    MPI_Type_set_attr(MPI_INT, key, &five);
    MPI_Type_free_keyval(&key);
    CHECK_INT(MPI_Type_get_attr(MPI_INT, kept, &value, &found), MPI_SUCCESS);
    CHECK(found && *value == 5, "the attribute to be found");
    CHECK_INT(MPI_Type_delete_attr(MPI_INT, kept), MPI_SUCCESS);
    CHECK_INT(class_of(MPI_Type_get_attr(MPI_INT, kept, &value, &found)), MPI_ERR_KEYVAL);
}

/* Keys without attributes leave nothing behind: there are not more than 2^20 at a time. */
static void many(void)
{
    int i, key, kept, highest = 0;

    for (i = 0; i < ROUNDS; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
        kept = key;
        highest = key % (1 << 20) > highest ? key % (1 << 20) : highest;
        MPI_Comm_free_keyval(&key);
        CHECK_INT(get(MPI_COMM_SELF, kept), -1);
    }
    CHECK(highest < 1024 + 10, "places of keys to be used again, not %d", highest);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    read_copy_and_delete();
    of_a_datatype();
    many();
    return end();
}
