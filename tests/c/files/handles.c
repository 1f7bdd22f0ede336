/* ranks: 2, 4; transports: one; MPI 5.0 14.6 */
/* Each rank opens the file by itself. Some see it with gaps, so that they sieve; no byte is written
 * twice, and none is lost. */
#define _XOPEN_SOURCE 700
#include "file.h"

enum { BLOCK = 64, BLOCKS = 1000, ROUNDS = 5 };

int main(int argc, char **argv)
{
    static unsigned char data[BLOCK * BLOCKS], found[4 * BLOCK * BLOCKS];
    MPI_Datatype block, filetype;
    MPI_Request request;
    MPI_File file;
    int round, i;

    begin(&argc, &argv);
    name_file("handles");
    OK(MPI_File_open(MPI_COMM_SELF, file_name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                     &file));
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, BLOCK * size, &filetype);
    MPI_Type_commit(&filetype);
    if (rank % 2)
        OK(MPI_File_set_view(file, BLOCK * rank, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    for (round = 1; round <= ROUNDS; round++) {
        memset(data, round * 10 + rank, sizeof data);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank % 2) {
            OK(MPI_File_iwrite_at(file, 0, data, sizeof data, MPI_BYTE, &request));
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            for (i = 0; i < BLOCKS; i++)
                OK(MPI_File_write_at(file, (MPI_Offset)BLOCK * (i * size + rank), data, BLOCK,
                                     MPI_BYTE, MPI_STATUS_IGNORE));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            CHECK_INT(content(found, sizeof found), (long)BLOCK * BLOCKS * size);
            for (i = 0; i < BLOCK * BLOCKS * size; i++)
                CHECK_INT(found[i], round * 10 + i / BLOCK % size);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* A request may be given up: the write goes on. */
    OK(MPI_File_iwrite_at(file, 0, data, BLOCK, MPI_BYTE, &request));
    MPI_Request_free(&request);
    MPI_Type_free(&block);
    MPI_Type_free(&filetype);
    OK(MPI_File_close(&file));
    remove_file();
    return end();
}
