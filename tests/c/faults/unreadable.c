/* Rank 0 sends 400,000 bytes of a buffer that has 100,000: the pages behind it cannot be read. */
#define _DEFAULT_SOURCE
#include "../check.h"
#include <sys/mman.h>

#define BYTES 100000

int main(int argc, char **argv)
{
    static char room[4 * BYTES];

    begin(&argc, &argv);
    if (rank == 0) {
        char *buffer = mmap(NULL, 5 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        CHECK(buffer != MAP_FAILED, "memory");
        CHECK(mprotect(buffer, BYTES, PROT_READ | PROT_WRITE) == 0, "memory to write to");
        MPI_Send(buffer, 4 * BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(room, 4 * BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
