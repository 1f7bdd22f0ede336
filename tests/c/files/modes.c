/* ranks: 1, 2, 4; transports: one; MPI 5.0 14.2 */
/* Opening, closing and deleting; sizes; modes that do not go together. */
#define _XOPEN_SOURCE 700
#include "file.h"

enum { EACH = 10 };

static const int RW = MPI_MODE_RDWR, WO = MPI_MODE_WRONLY, RO = MPI_MODE_RDONLY;

static int try_open(const char *name, int mode, MPI_File *file)
{
    return MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, file);
}

static void what_cannot_be_opened(void)
{
    MPI_File file = MPI_FILE_NULL;
    int others = rank == size - 1 && size > 1 ? RO : RW;

    FAILS(try_open(file_name, RO, &file), MPI_ERR_NO_SUCH_FILE);
    CHECK(file == MPI_FILE_NULL, "no file");
    FAILS(try_open("/no/such/folder/x", RW | MPI_MODE_CREATE, &file), MPI_ERR_NO_SUCH_FILE);
    FAILS(try_open("/tmp", RW, &file), MPI_ERR_BAD_FILE);
    FAILS(try_open("/tmp", RO, &file), MPI_ERR_BAD_FILE);
    FAILS(try_open(file_name, RO | MPI_MODE_CREATE, &file), MPI_ERR_AMODE);
    FAILS(try_open(file_name, RO | MPI_MODE_EXCL, &file), MPI_ERR_AMODE);
    FAILS(try_open(file_name, MPI_MODE_CREATE, &file), MPI_ERR_AMODE);
    FAILS(try_open(file_name, RO | RW, &file), MPI_ERR_AMODE);
    FAILS(try_open(file_name, RW | MPI_MODE_SEQUENTIAL, &file), MPI_ERR_AMODE);
    FAILS(try_open(file_name, 1 << 20, &file), MPI_ERR_AMODE);
    if (size > 1)
        FAILS(try_open(file_name, others | (others == RW ? MPI_MODE_CREATE : 0), &file),
              MPI_ERR_NOT_SAME);
    FAILS(MPI_File_delete(file_name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
}

static void ranks_that_open_different_files(void)
{
    char other[250];
    MPI_File file;

    if (size == 1)
        return;
    snprintf(other, sizeof other, "%s%s", file_name, rank == 1 ? "-other" : "");
    /* Only rank 0 makes a file: rank 1 finds none under its name. A call that fails leaves none. */
    FAILS(try_open(other, RW | MPI_MODE_CREATE, &file), MPI_ERR_NO_SUCH_FILE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(access(other, F_OK) != 0, "no file");
        close(creat(file_name, 0600));
    } else if (rank == 1) {
        close(creat(other, 0600));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    FAILS(try_open(other, RW, &file), MPI_ERR_NOT_SAME);
    if (rank < 2)
        unlink(other);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void sizes(void)
{
    MPI_File file;
    MPI_Offset found;
    char bytes[EACH];
    MPI_Status status;
    int amode;

    memset(bytes, 'a' + rank, sizeof bytes);
    OK(try_open(file_name, RW | MPI_MODE_CREATE | MPI_MODE_EXCL, &file));
    OK(MPI_File_get_amode(file, &amode));
    CHECK_INT(amode, RW | MPI_MODE_CREATE | MPI_MODE_EXCL);
    OK(MPI_File_write_at(file, rank * EACH, bytes, EACH, MPI_CHAR, &status));
    CHECK_INT(count_of(&status, MPI_CHAR), EACH);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_size(file, &found));
    CHECK_INT(found, size * EACH);
    OK(MPI_File_read_at(file, size * EACH - 4, bytes, EACH, MPI_CHAR, &status));
    CHECK_INT(count_of(&status, MPI_CHAR), 4);
    CHECK(bytes[3] == 'a' + size - 1 && bytes[4] == 'a' + rank, "four bytes of the last rank");
    OK(MPI_File_read_at(file, 10000, bytes, EACH, MPI_CHAR, &status));
    CHECK_INT(count_of(&status, MPI_CHAR), 0);
    OK(MPI_File_preallocate(file, 100000));
    OK(MPI_File_get_size(file, &found));
    CHECK_INT(found, 100000);
    OK(MPI_File_preallocate(file, 10));
    OK(MPI_File_get_size(file, &found));
    CHECK_INT(found, 100000);
    OK(MPI_File_set_size(file, size * EACH));
    OK(MPI_File_get_size(file, &found));
    CHECK_INT(found, size * EACH);
    if (size > 1)
        FAILS(MPI_File_set_size(file, rank), MPI_ERR_NOT_SAME);
    OK(MPI_File_sync(file));
    OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL, "the null handle after close");
    FAILS(try_open(file_name, RW | MPI_MODE_CREATE | MPI_MODE_EXCL, &file),
          MPI_ERR_FILE_EXISTS);
}

static void what_a_mode_forbids(void)
{
    MPI_File file;
    MPI_Offset found;
    char byte = 'x';

    OK(try_open(file_name, RO, &file));
    FAILS(MPI_File_write_at(file, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    FAILS(MPI_File_write_at_all(file, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE),
          MPI_ERR_READ_ONLY);
    FAILS(MPI_File_set_size(file, 3), MPI_ERR_READ_ONLY);
    OK(MPI_File_close(&file));

    OK(try_open(file_name, WO | MPI_MODE_APPEND, &file));
    OK(MPI_File_get_position(file, &found));
    CHECK_INT(found, size * EACH);
    OK(MPI_File_get_position_shared(file, &found));
    CHECK_INT(found, size * EACH);
    FAILS(MPI_File_read_at(file, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    OK(MPI_File_close(&file));

    OK(try_open(file_name, WO | MPI_MODE_SEQUENTIAL, &file));
    FAILS(MPI_File_write_at(file, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE),
          MPI_ERR_UNSUPPORTED_OPERATION);
    FAILS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    FAILS(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native",
                         MPI_INFO_NULL));
    OK(MPI_File_write_shared(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
}

static void hints_and_groups(void)
{
    MPI_File file;
    MPI_Info info, used;
    MPI_Group group, world;
    char value[100];
    int found, relation;

    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "no such hint", "7");
    OK(MPI_File_open(MPI_COMM_WORLD, file_name, RW | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    OK(MPI_File_get_info(file, &used));
    MPI_Info_get(used, "cb_buffer_size", 99, value, &found);
    CHECK(found && strcmp(value, "65536") == 0, "the hint in use, not %s", value);
    MPI_Info_get(used, "no such hint", 99, value, &found);
    CHECK(!found, "no hint that is not known");
    MPI_Info_free(&used);
    MPI_Info_set(info, "cb_buffer_size", "131072");
    OK(MPI_File_set_info(file, info));
    OK(MPI_File_get_info(file, &used));
    MPI_Info_get(used, "cb_buffer_size", 99, value, &found);
    CHECK(found && strcmp(value, "131072") == 0, "the new hint in use, not %s", value);
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    OK(MPI_File_get_group(file, &group));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &relation);
    CHECK_INT(relation, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    OK(MPI_File_close(&file));
    CHECK(access(file_name, F_OK) != 0, "the file to be gone");
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    name_file("modes");
    what_cannot_be_opened();
    ranks_that_open_different_files();
    sizes();
    what_a_mode_forbids();
    hints_and_groups();
    remove_file();
    return end();
}
