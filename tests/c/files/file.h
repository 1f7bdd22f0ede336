/* A file for a test: its name is new, and the same in all ranks. */
#ifndef FILE_H
#define FILE_H

#include "../returned.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char file_name[200];

/* Makes a name; the file is not there. */
static inline void name_file(const char *what)
{
    const char *folder = getenv("TMPDIR");

    snprintf(file_name, sizeof file_name, "%s/mpi-lite-%s-%ld", folder ? folder : "/tmp", what,
             (long)getpid());
    MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        unlink(file_name);
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline void remove_file(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(file_name);
}

/* What lies in the file, without MPI. Returns how many bytes there are, up to `room`. */
static inline long content(unsigned char *bytes, size_t room)
{
    int file = open(file_name, O_RDONLY);
    size_t done = 0;
    ssize_t more;

    CHECK(file >= 0, "the file to be there");
    while (done < room && (more = pread(file, bytes + done, room - done, (off_t)done)) > 0)
        done += (size_t)more;
    close(file);
    return (long)done;
}

static inline MPI_File open_new(const char *what)
{
    MPI_File file;

    name_file(what);
    OK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                     &file));
    return file;
}

static inline long count_of(const MPI_Status *status, MPI_Datatype datatype)
{
    int count;

    MPI_Get_count(status, datatype, &count);
    return count;
}

#endif
