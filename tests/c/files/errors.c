/* ranks: 1, 2, 4; transports: one; MPI 5.0 14.7, 14.8 */
/* Who is told of an error of a file, and what: on all ranks, where data was moved for all. */
#define _XOPEN_SOURCE 700
#include "file.h"

static int of_file, of_none, last_class;

static void handle_file(MPI_File *file, int *code, ...)
{
    last_class = class_of(*code);
    if (*file == MPI_FILE_NULL)
        of_none++;
    else
        of_file++;
}

static void handlers(void)
{
    MPI_Errhandler handler, found;
    MPI_File file;
    MPI_Request request;
    char byte = 'x';

    MPI_File_get_errhandler(MPI_FILE_NULL, &found);
    CHECK(found == MPI_ERRORS_RETURN, "errors of files to be returned at first");
    MPI_File_create_errhandler(handle_file, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    FAILS(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDWR, MPI_INFO_NULL, &file),
          MPI_ERR_NO_SUCH_FILE);
    CHECK(of_none == 1 && of_file == 0, "the handler of no file");
    OK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_WRONLY | MPI_MODE_CREATE,
                     MPI_INFO_NULL, &file));
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    FAILS(MPI_File_read(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    CHECK(of_none == 1 && of_file == 1, "the handler that the file began with");
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    FAILS(MPI_File_iread(file, &byte, 1, MPI_CHAR, &request), MPI_ERR_ACCESS);
    CHECK(of_file == 1, "no handler any more");
    OK(MPI_File_close(&file));
    MPI_Errhandler_free(&handler);
}

/* A device that is always full. */
static void a_full_disk(void)
{
    char bytes[4096] = {0};
    MPI_Errhandler handler;
    MPI_Datatype filetype;
    MPI_Request request;
    MPI_File file;

    OK(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    FAILS(MPI_File_write_at(file, 0, bytes, 10, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    FAILS(MPI_File_write_at_all(file, 0, bytes, rank ? 0 : 10, MPI_CHAR, MPI_STATUS_IGNORE),
          rank ? MPI_SUCCESS : MPI_ERR_NO_SPACE);
    /* Short runs of all ranks between each other: some write for all, and all are told. */
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(sizeof(int) * (size_t)size), &filetype);
    MPI_Type_commit(&filetype);
    OK(MPI_File_set_view(file, rank * (int)sizeof(int), MPI_INT, filetype, "native",
                         MPI_INFO_NULL));
    MPI_Type_free(&filetype);
    FAILS(MPI_File_write_at_all(file, 0, bytes, 100, MPI_INT, MPI_STATUS_IGNORE),
          MPI_ERR_NO_SPACE);
    OK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL));
    /* The request of a file has the handler of the file. */
    MPI_File_create_errhandler(handle_file, &handler);
    MPI_File_set_errhandler(file, handler);
    of_file = 0;
    OK(MPI_File_iwrite_at(file, 0, bytes, 10, MPI_CHAR, &request));
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK(of_file == 1 && last_class == MPI_ERR_NO_SPACE, "the handler of the file");
    OK(MPI_File_iwrite_at_all(file, 0, bytes, 10, MPI_CHAR, &request));
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK(of_file == 2, "the handler of the file again");
    MPI_Errhandler_free(&handler);
    OK(MPI_File_close(&file));
}

static void no_file(void)
{
    MPI_File file = MPI_FILE_NULL;
    char byte;

    FAILS(MPI_File_close(&file), MPI_ERR_FILE);
    FAILS(MPI_File_read(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_FILE);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    name_file("errors");
    handlers();
    a_full_disk();
    no_file();
    remove_file();
    return end();
}
