/* ranks: 1; transports: one; MPI 5.0 7.7.3, 7.8, 9.3 */
/* What programs do with windows and files before there is one: keys of windows, the name of
 * MPI_WIN_NULL, and the error handler of MPI_FILE_NULL. */
#include "../check.h"

static int handled, handled_code;
static MPI_File handled_file = (MPI_File)1;

static void note(MPI_File *file, int *code, ...)
{
    handled++;
    handled_file = *file;
    MPI_Error_class(*code, &handled_code);
}

static void check_keys(void)
{
    int key = MPI_KEYVAL_INVALID, comm_key, copy;

    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    CHECK(key != MPI_KEYVAL_INVALID, "a key");
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    CHECK(key != comm_key, "another key");
    copy = key;
    CHECK_INT(class_of(MPI_Comm_free_keyval(&copy)), MPI_ERR_KEYVAL);
    CHECK_INT(class_of(MPI_Win_free_keyval(&comm_key)), MPI_ERR_KEYVAL);
    CHECK_INT(MPI_Win_free_keyval(&key), MPI_SUCCESS);
    CHECK_INT(key, MPI_KEYVAL_INVALID);
    CHECK_INT(class_of(MPI_Win_free_keyval(&copy)), MPI_ERR_KEYVAL);
    MPI_Comm_free_keyval(&comm_key);
}

static void check_name(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;

    CHECK_INT(MPI_Win_get_name(MPI_WIN_NULL, name, &length), MPI_SUCCESS);
    CHECK(!strcmp(name, "MPI_WIN_NULL"), "the name MPI_WIN_NULL, not %s", name);
    CHECK_INT(length, strlen("MPI_WIN_NULL"));
    CHECK_INT(class_of(MPI_Win_get_name((MPI_Win)MPI_COMM_WORLD, name, &length)), MPI_ERR_WIN);
}

static void check_handler(void)
{
    MPI_File wrong = (MPI_File)MPI_COMM_WORLD;
    MPI_Errhandler handler, got, of_comms;

    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    CHECK(got == MPI_ERRORS_RETURN, "MPI_ERRORS_RETURN at first");
    CHECK_INT(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO), MPI_SUCCESS);
    CHECK_INT(class_of(MPI_File_get_errhandler(wrong, &got)), MPI_ERR_FILE);
    MPI_File_create_errhandler(note, &handler);
    CHECK_INT(class_of(MPI_File_set_errhandler(wrong, handler)), MPI_ERR_FILE);
    CHECK_INT(MPI_File_set_errhandler(MPI_FILE_NULL, handler), MPI_SUCCESS);
    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    CHECK(got == handler, "the handler that was set");
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler); /* it stays in charge */
    CHECK_INT(handled, 0);
    CHECK_INT(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO), MPI_SUCCESS);
    CHECK_INT(handled, 1);
    CHECK_INT(handled_code, MPI_ERR_IO);
    CHECK(handled_file == MPI_FILE_NULL, "MPI_FILE_NULL");
    /* It is called for errors of calls without a file, too. */
    CHECK_INT(class_of(MPI_File_call_errhandler(wrong, MPI_ERR_IO)), MPI_ERR_FILE);
    CHECK_INT(handled, 2);
    CHECK_INT(handled_code, MPI_ERR_FILE);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    CHECK(got == MPI_ERRORS_RETURN, "the handler of MPI_COMM_WORLD as it was");
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)note, &of_comms);
    CHECK_INT(class_of(MPI_File_set_errhandler(MPI_FILE_NULL, of_comms)), MPI_ERR_ERRHANDLER);
    CHECK_INT(handled, 2);
    MPI_Errhandler_free(&of_comms);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_keys();
    check_name();
    check_handler();
    return end();
}
