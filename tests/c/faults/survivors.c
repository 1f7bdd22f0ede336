/* Rank 2 of three stops; ranks 0 and 1, whose calls return their errors, go on with each other.
 * Calls that only rank 2 could have answered fail, and wildcard receives on communicators with it;
 * nothing else fails. At the end both finalize without rank 2, which is an error that is
 * returned. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <signal.h>

enum { ROUNDS = 500, BYTES = 40000 };

static char out[BYTES], in[BYTES];
static int other;
static MPI_Comm world, pair;

#define CHECK_LOST(call) CHECK_INT(class_of(call), MPI_ERR_PROC_ABORTED)
#define CHECK_RIGHT(call) CHECK_INT(call, MPI_SUCCESS)

/* By name on the communicator with the lost rank, by wildcard on the one without. */
static void exchange(int round)
{
    int bytes = round * 79 % BYTES, from = round % 2 ? other : MPI_ANY_SOURCE;
    MPI_Comm comm = round % 2 ? world : pair;
    MPI_Status status;

    fill(out, bytes, rank + round);
    CHECK_RIGHT(MPI_Sendrecv(out, bytes, MPI_BYTE, other, round, in, BYTES, MPI_BYTE, from, round,
                             comm, &status));
    CHECK_STATUS(status, other, round, bytes);
    CHECK_FILLED(in, bytes, other + round);
}

/* What is posted now, or probed for, fails by the same rule as what was posted before. */
static void check_after_loss(void)
{
    int flag, sum, one = 1;
    char byte;
    MPI_Message message;

    CHECK_LOST(MPI_Recv(&byte, 1, MPI_BYTE, 2, 0, world, MPI_STATUS_IGNORE));
    CHECK_LOST(MPI_Recv(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE));
    CHECK_LOST(MPI_Send(&byte, 1, MPI_BYTE, 2, 0, world));
    CHECK_LOST(MPI_Probe(2, 0, world, MPI_STATUS_IGNORE));
    CHECK_LOST(MPI_Mprobe(MPI_ANY_SOURCE, 0, world, &message, MPI_STATUS_IGNORE));
    CHECK_RIGHT(MPI_Iprobe(other, 0, world, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(flag, 0);
    CHECK_LOST(MPI_Barrier(world));
    CHECK_RIGHT(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, pair));
    CHECK_INT(sum, 2);
}

static void survive(void)
{
    int flag, round, one = 1;
    char bytes[4];
    MPI_Request named, there, lost, any, at_once;

    MPI_Irecv(&bytes[0], 1, MPI_BYTE, other, 1000, world, &named);
    MPI_Irecv(&bytes[1], 1, MPI_BYTE, MPI_ANY_SOURCE, 1000, pair, &there);
    MPI_Irecv(&bytes[2], 1, MPI_BYTE, 2, 1000, world, &lost);
    MPI_Irecv(&bytes[3], 1, MPI_BYTE, MPI_ANY_SOURCE, 1000, world, &any);
    MPI_Ibarrier(world, &at_once);
    CHECK_LOST(MPI_Ssend(&one, 1, MPI_INT, 2, 0, world));
    CHECK_LOST(MPI_Wait(&lost, MPI_STATUS_IGNORE));
    CHECK_LOST(MPI_Wait(&any, MPI_STATUS_IGNORE));
    CHECK_LOST(MPI_Wait(&at_once, MPI_STATUS_IGNORE));
    check_after_loss();
    for (round = 0; round < ROUNDS; round++)
        exchange(round);
    CHECK_RIGHT(MPI_Test(&named, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(flag, 0);
    CHECK_RIGHT(MPI_Test(&there, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(flag, 0);
    CHECK_RIGHT(MPI_Barrier(pair));
    CHECK_RIGHT(MPI_Send(out, 1, MPI_BYTE, other, 1000, world));
    CHECK_RIGHT(MPI_Send(out, 1, MPI_BYTE, other, 1000, pair));
    CHECK_RIGHT(MPI_Wait(&named, MPI_STATUS_IGNORE));
    CHECK_RIGHT(MPI_Wait(&there, MPI_STATUS_IGNORE));
    CHECK_RIGHT(MPI_Barrier(pair));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK_INT(size, 3);
    other = 1 - rank;
    world = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_split(world, rank == 2, 0, &pair);
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    MPI_Barrier(world);
    if (rank == 2)
        raise(SIGSTOP);
    survive();
    CHECK_LOST(MPI_Finalize());
    printf("survivor %d: all right\n", rank);
    return 0;
}
