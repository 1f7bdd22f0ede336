/* Rank 1 receives 400,000 bytes in a buffer of 100,000: what is behind cannot be written. */
#define _DEFAULT_SOURCE
#include "../check.h"
#include <sys/mman.h>

#define BYTES 100000

int main(int argc, char **argv)
{
    static char data[4 * BYTES];

    begin(&argc, &argv);
    if (rank == 0) {
        MPI_Send(data, 4 * BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else {
        char *buffer = mmap(NULL, 5 * BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        CHECK(buffer != MAP_FAILED, "memory");
        CHECK(mprotect(buffer, BYTES, PROT_READ | PROT_WRITE) == 0, "memory to write to");
        MPI_Recv(buffer, 4 * BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
