/* ranks: 1, 2, 4; MPI 5.0 12.2, 7.7.3, 7.8, 9.3.2 */
/* Windows of each kind: what they say of themselves, what is attached to them, their end. */
#include "window.h"

static int deleted[3], deletions, copies, handled;

static int delete_it(MPI_Win win, int key, void *value, void *extra)
{
    (void)win;
    (void)key;
    (void)extra;
    if (*(int *)value < 0)
        return MPI_ERR_OTHER;
    deleted[deletions++] = *(int *)value;
    return MPI_SUCCESS;
}

static int copy_it(MPI_Win win, int key, void *extra, void *in, void *out, int *flag)
{
    (void)win;
    (void)key;
    (void)extra;
    (void)in;
    (void)out;
    copies++;
    *flag = 0;
    return MPI_SUCCESS;
}

static void handle_it(MPI_Win *win, int *code, ...)
{
    (void)win;
    handled += class_of(*code) == MPI_ERR_RANK;
}

static void own_attributes(MPI_Win win, void *base, MPI_Aint bytes, int unit, int flavor)
{
    void *value;
    int flag;

    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
    CHECK(flag && value == base, "the base of the window");
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
    CHECK_INT(flag, 1);
    CHECK_INT(*(MPI_Aint *)value, bytes);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag));
    CHECK_INT(*(int *)value, unit);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
    CHECK_INT(*(int *)value, flavor);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag));
    CHECK_INT(*(int *)value, MPI_WIN_UNIFIED);
    FAILS(MPI_Win_set_attr(win, MPI_WIN_BASE, base), MPI_ERR_KEYVAL);
    FAILS(MPI_Win_delete_attr(win, MPI_WIN_SIZE), MPI_ERR_KEYVAL);
}

static void name(MPI_Win win)
{
    char text[MPI_MAX_OBJECT_NAME], longer[2 * MPI_MAX_OBJECT_NAME];
    int length = -1;

    OK(MPI_Win_get_name(win, text, &length));
    CHECK(length == 0 && text[0] == '\0', "no name at first, not %s", text);
    OK(MPI_Win_set_name(win, "halo"));
    OK(MPI_Win_get_name(win, text, &length));
    CHECK(length == 4 && strcmp(text, "halo") == 0, "halo, not %s", text);
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    OK(MPI_Win_set_name(win, longer));
    OK(MPI_Win_get_name(win, text, &length));
    CHECK_INT(length, MPI_MAX_OBJECT_NAME - 1);
    OK(MPI_Win_get_name(MPI_WIN_NULL, text, &length));
    CHECK(strcmp(text, "MPI_WIN_NULL") == 0, "a name of its own, not %s", text);
    FAILS(MPI_Win_set_name(MPI_WIN_NULL, "x"), MPI_ERR_WIN);
}

static void group(MPI_Win win)
{
    MPI_Group members, world;
    int result;

    OK(MPI_Win_get_group(win, &members));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(members, world, &result);
    CHECK_INT(result, MPI_IDENT);
    MPI_Group_free(&members);
    MPI_Group_free(&world);
}

static void hints(MPI_Win win)
{
    MPI_Info info, used;
    char value[MPI_MAX_INFO_VAL + 1];
    int flag;

    MPI_Info_create(&info);
    MPI_Info_set(info, "no such hint", "yes");
    MPI_Info_set(info, "accumulate_ordering", "nonsense");
    OK(MPI_Win_set_info(win, info));
    MPI_Info_free(&info);
    OK(MPI_Win_get_info(win, &used));
    MPI_Info_get(used, "no_locks", MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && strcmp(value, "false") == 0, "no_locks to be false");
    MPI_Info_free(&used);
    OK(MPI_Win_set_info(win, MPI_INFO_NULL));
}

static void attributes(MPI_Win win, int key[3], int value[3])
{
    void *found;
    int i, flag;

    for (i = 0; i < 3; i++) {
        MPI_Win_create_keyval(copy_it, delete_it, &key[i], NULL);
        OK(MPI_Win_get_attr(win, key[i], &found, &flag));
        CHECK_INT(flag, 0);
        OK(MPI_Win_set_attr(win, key[i], &value[i]));
        OK(MPI_Win_get_attr(win, key[i], &found, &flag));
        CHECK(flag && found == &value[i], "the value that was set");
    }
    OK(MPI_Win_delete_attr(win, key[1]));
    CHECK(deletions == 1 && deleted[0] == value[1], "the delete function to be called");
    deletions = 0;
    FAILS(MPI_Win_delete_attr(win, key[1]), MPI_ERR_KEYVAL);
    OK(MPI_Win_set_attr(win, key[1], &value[1]));
}

static void handlers(MPI_Win win)
{
    MPI_Errhandler handler, found;

    OK(MPI_Win_get_errhandler(win, &found));
    CHECK(found == MPI_ERRORS_RETURN, "the handler that was set");
    MPI_Win_create_errhandler(handle_it, &handler);
    OK(MPI_Win_set_errhandler(win, handler));
    handled = 0;
    CHECK_INT(class_of(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win)), MPI_ERR_RANK);
    OK(MPI_Win_call_errhandler(win, MPI_ERR_RANK));
    CHECK_INT(handled, 2);
    OK(MPI_Win_get_errhandler(win, &found));
    CHECK(found == handler, "the program's handler");
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)handle_it, &handler);
    FAILS(MPI_Win_set_errhandler(win, handler), MPI_ERR_ERRHANDLER);
    MPI_Errhandler_free(&handler);
}

static void look_at(MPI_Win *win, void *base, MPI_Aint bytes, int unit, int flavor)
{
    int key[3], value[3] = {10, 11, 12}, i;

    own_attributes(*win, base, bytes, unit, flavor);
    name(*win);
    group(*win);
    hints(*win);
    handlers(*win);
    attributes(*win, key, value);
    /* A delete function that fails keeps the window. */
    value[0] = -1;
    CHECK(MPI_Win_free(win) != MPI_SUCCESS, "a delete function to fail");
    CHECK(*win != MPI_WIN_NULL, "the window to stay");
    CHECK(deletions == 2 && deleted[0] == 11 && deleted[1] == 12, "the last one first");
    deletions = 0;
    value[0] = 10;
    OK(MPI_Win_free(win));
    CHECK(deletions == 1 && deleted[0] == 10, "the first one at last");
    CHECK(*win == MPI_WIN_NULL, "the handle to be null");
    deletions = 0;
    for (i = 0; i < 3; i++)
        MPI_Win_free_keyval(&key[i]);
    CHECK_INT(copies, 0);
}

static void each_kind(void)
{
    MPI_Win win;
    void *base;
    long memory[10];

    OK(MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD,
                      &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    look_at(&win, memory, sizeof memory, sizeof memory[0], MPI_WIN_FLAVOR_CREATE);
    OK(MPI_Win_allocate(100 + rank, 1 + rank, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    look_at(&win, base, 100 + rank, 1 + rank, MPI_WIN_FLAVOR_ALLOCATE);
    if (all_share_memory()) {
        OK(MPI_Win_allocate_shared(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        look_at(&win, base, 64, 8, MPI_WIN_FLAVOR_SHARED);
    }
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    look_at(&win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
}

/* A window is handed to its process whose memory is empty, with no address at all. */
static void nothing(void)
{
    MPI_Win win;
    void *base;

    OK(MPI_Win_create(MPI_BOTTOM, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_free(&win));
}

static void large_twins(void)
{
    MPI_Win win;
    void *base;
    int memory[4];

    OK(MPI_Win_create_c(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate_c(16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_free(&win));
}

/* Windows never mix, however many there are and in whatever order they go. */
static void many(void)
{
    enum { WINDOWS = 20 };
    MPI_Win win[WINDOWS];
    int *memory[WINDOWS], i, to = (rank + 1) % size;
    MPI_Comm dup;

    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    for (i = 0; i < WINDOWS; i++) {
        OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, i % 2 ? dup : MPI_COMM_WORLD,
                            &memory[i], &win[i]));
        *memory[i] = -1;
        OK(MPI_Win_fence(0, win[i]));
    }
    for (i = WINDOWS - 1; i >= 0; i--) {
        OK(MPI_Put(&i, 1, MPI_INT, to, 0, 1, MPI_INT, win[i]));
        OK(MPI_Win_fence(0, win[i]));
    }
    for (i = 0; i < WINDOWS; i++)
        CHECK_INT(*memory[i], i);
    for (i = 0; i < WINDOWS; i++)
        OK(MPI_Win_free(&win[(i * 7) % WINDOWS]));
    MPI_Comm_free(&dup);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    each_kind();
    nothing();
    large_twins();
    many();
    return end();
}
