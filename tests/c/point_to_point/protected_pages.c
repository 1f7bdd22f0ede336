/* ranks: 2; transports: all; MPI 5.0 3.2.3 */
/* A program opens pages in its own handler of SIGSEGV, as garbage collectors and trackers of
 * changed pages do. Messages go from and to such pages as to others, whole and with gaps. */
#define _DEFAULT_SOURCE
#include "../check.h"
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 1 << 20, TAG = 3, BLOCK = 1000, STEP = 1500 };

static char *area;
static long page;
static volatile sig_atomic_t opened;

static void open_page(int signal_number, siginfo_t *info, void *context)
{
    char *at = (char *)((size_t)info->si_addr & ~((size_t)page - 1));

    (void)context;
    if (at < area || at >= area + ROOM || mprotect(at, (size_t)page, PROT_READ | PROT_WRITE) != 0)
        signal(signal_number, SIG_DFL);
    opened++;
}

/* Rank 0 sends `count` items, rank 1 receives them; the area of `closer` has these rights only. */
static void pass(int count, MPI_Datatype type, int closer, int rights)
{
    int bytes, i;
    MPI_Status status;

    MPI_Type_size(type, &bytes);
    bytes *= count;
    CHECK(mprotect(area, ROOM, PROT_READ | PROT_WRITE) == 0, "an open area");
    memset(area, 0, ROOM);
    if (rank == 0)
        fill(area, ROOM, (unsigned)bytes);
    opened = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == closer)
        CHECK(mprotect(area, ROOM, rights) == 0, "a closed area");
    if (rank == 0) {
        MPI_Send(area, count, type, 1, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Recv(area, count, type, 0, TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, 0, TAG, bytes);
    }
    CHECK(rank != closer || opened > 0, "the handler to have opened pages");
    if (rank == 1 && type == MPI_BYTE)
        CHECK_FILLED(area, (size_t)bytes, (unsigned)bytes);
    for (i = 0; rank == 1 && type != MPI_BYTE && i < bytes; i++) {
        size_t at = (size_t)(i / BLOCK * STEP + i % BLOCK);

        CHECK_INT((unsigned char)area[at], pattern(at, (unsigned)bytes));
    }
}

int main(int argc, char **argv)
{
    const int lengths[] = {100, 70000, 600000};
    struct sigaction action = {0};
    MPI_Datatype blocks;
    int i;

    page = sysconf(_SC_PAGESIZE);
    area = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED, "memory");
    action.sa_sigaction = open_page;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    begin(&argc, &argv);
    MPI_Type_vector(300, BLOCK, STEP, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    for (i = 0; i < 3; i++) {
        pass(lengths[i], MPI_BYTE, 1, PROT_READ);
        pass(lengths[i], MPI_BYTE, 1, PROT_NONE);
        pass(lengths[i], MPI_BYTE, 0, PROT_NONE);
    }
    pass(1, blocks, 1, PROT_READ);
    pass(1, blocks, 0, PROT_NONE);
    MPI_Type_free(&blocks);
    return end();
}
