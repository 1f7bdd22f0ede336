/* ranks: 2; transports: all; MPI 5.0 3.2 */
/* Buffers that end where memory ends, and begin at any byte. Long and short messages go both ways
 * at once, so that answers pass between the pieces of a long message. */
#define _GNU_SOURCE
#include "../check.h"
#include <sys/mman.h>

enum { TAG = 3, LARGEST = (1 << 20) + 77, SHORTS = 6 };

/* The end of LARGEST bytes, behind which nothing can be read or written. */
static char *end_of_memory(void)
{
    size_t page = 1 << 16, bytes = (LARGEST / page + 1) * page;
    char *start = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);

    CHECK(start != MAP_FAILED, "memory");
    CHECK_INT(mprotect(start + bytes, page, PROT_NONE), 0);
    return start + bytes;
}

static void exchange(char *out, char *in, int bytes)
{
    MPI_Request requests[2 + 2 * SHORTS];
    MPI_Status status;
    int i, peer = 1 - rank, shorts[2][SHORTS];

    fill(out - bytes, bytes, bytes + rank);
    MPI_Irecv(in - bytes, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out - bytes, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[1]);
    for (i = 0; i < SHORTS; i++) {
        shorts[0][i] = bytes + i + rank;
        MPI_Isend(&shorts[0][i], 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, &requests[2 + i]);
        MPI_Irecv(&shorts[1][i], 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD,
                  &requests[2 + SHORTS + i]);
    }
    MPI_Waitall(2 + 2 * SHORTS, requests, MPI_STATUSES_IGNORE);
    CHECK_FILLED(in - bytes, bytes, bytes + peer);
    for (i = 0; i < SHORTS; i++)
        CHECK_INT(shorts[1][i], bytes + i + peer);

    /* In turn, the other way round each time: what is in the buffers goes back and forth. */
    for (i = 0; i < 2; i++) {
        if ((rank + bytes) % 2 == 0) {
            MPI_Send(out - bytes, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
            MPI_Recv(in - bytes, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status);
        } else {
            MPI_Recv(in - bytes, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status);
            MPI_Send(out - bytes, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        }
        CHECK_STATUS(status, peer, TAG, bytes);
        CHECK_FILLED(in - bytes, bytes, bytes + peer);
    }
}

int main(int argc, char **argv)
{
    char *out, *in;
    int i, near;
    unsigned state = 7;

    begin(&argc, &argv);
    out = end_of_memory();
    in = end_of_memory();
    for (i = 6; i <= 20; i++)
        for (near = -1; near <= 1; near++)
            exchange(out, in, (1 << i) + near);
    for (i = 1; i <= 20; i++)
        exchange(out, in, (int)(next_random(&state) % LARGEST) + 1);
    /* So often that both ways of a long message are tried. */
    for (i = 0; i < 150; i++)
        exchange(out, in, i % 2 ? 32768 : 65535);
    return end();
}
