/* The calls whose instructions are counted between two ranks of one machine: messages of 8 bytes
   through shared memory, some of 64. A function for each call and situation, by the names of
   tests/instructions.table. The argument names a file by which the ranks wait for each other
   outside of MPI, so that every message is there before a rank asks for it, and no count depends
   on chance. Prints nothing. */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The compiler leaves the function as it is, under its name. */
#define COUNTED __attribute__((noipa))

enum { ROUNDS = 500, BATCH = 8, WINDOW = 32, TAG = 7 };
enum { BYTES = 8, BODY_BYTES = 64, LONGER_BYTES = 6000 };

static char out[BYTES], in[BYTES], longer[LONGER_BYTES];
static MPI_Request requests[2 * WINDOW];
static int peer;
static long *arrivals, meetings;

COUNTED static void shm_send(void)
{
    MPI_Send(out, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
}

COUNTED static void shm_receive(void)
{
    MPI_Status status;

    MPI_Recv(in, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status);
}

/* Of a message that does not fit its slot. */
COUNTED static void shm_send_body(void)
{
    MPI_Send(longer, BODY_BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
}

COUNTED static void shm_receive_body(void)
{
    MPI_Status status;

    MPI_Recv(longer, BODY_BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status);
}

/* The message has been found by another call. */
COUNTED static void shm_receive_unexpected(void)
{
    MPI_Status status;

    MPI_Recv(in, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status);
}

/* A turn of a ping-pong. */
COUNTED static void shm_answer(void)
{
    MPI_Recv(in, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
}

COUNTED static void shm_start_send(MPI_Request *request)
{
    MPI_Isend(out, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, request);
}

COUNTED static void shm_start_receive(MPI_Request *request)
{
    MPI_Irecv(in, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, request);
}

COUNTED static void shm_test_pending(MPI_Request *request)
{
    int flag;

    MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

COUNTED static void shm_wait_for_message(MPI_Request *request)
{
    MPI_Status status;

    MPI_Wait(request, &status);
}

/* The receives have their messages, and the sends are finished. */
COUNTED static void shm_wait_for_window(void)
{
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
}

/* What the root gives; it waits for nobody. */
COUNTED static void shm_bcast_give(void)
{
    MPI_Bcast(out, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* The other rank has given it already. */
COUNTED static void shm_bcast_take(void)
{
    MPI_Bcast(in, BYTES, MPI_BYTE, 1, MPI_COMM_WORLD);
}

/* To the root, which has what the other rank gives. */
COUNTED static void shm_reduce(void)
{
    MPI_Reduce(out, in, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

/* Too long for a line of the root: messages, of which the root waits for none. */
COUNTED static void shm_bcast_send(void)
{
    MPI_Bcast(longer, LONGER_BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
}

COUNTED static void shm_bcast_receive(void)
{
    MPI_Bcast(longer, LONGER_BYTES, MPI_BYTE, 1, MPI_COMM_WORLD);
}

/* Waits until the other rank is here too. */
static void meet(void)
{
    meetings++;
    __atomic_add_fetch(arrivals, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(arrivals, __ATOMIC_SEQ_CST) < 2 * meetings)
        sched_yield();
}

static void share(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);

    if (file < 0 || ftruncate(file, sizeof *arrivals) != 0)
        abort();
    arrivals = mmap(NULL, sizeof *arrivals, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (arrivals == MAP_FAILED)
        abort();
    close(file);
}

static void exchange(void)
{
    int i, flag;

    for (i = 0; i < BATCH; i++)
        shm_send();
    meet();
    for (i = 0; i < BATCH; i++)
        shm_receive();
    for (i = 0; i < BATCH; i++)
        shm_send_body();
    meet();
    for (i = 0; i < BATCH; i++)
        shm_receive_body();
    for (i = 0; i < BATCH; i++)
        shm_send();
    meet();
    for (i = 0; i < BATCH; i++)
        MPI_Iprobe(peer, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    for (i = 0; i < BATCH; i++)
        shm_receive_unexpected();
    /* Else the other rank's next message could come while this one still probes. */
    meet();
    MPI_Send(out, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
    meet();
    shm_answer();
    meet();
    MPI_Recv(in, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    shm_start_receive(&requests[0]);
    shm_test_pending(&requests[0]);
    meet();
    MPI_Send(out, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
    meet();
    shm_wait_for_message(&requests[0]);
}

static void exchange_window(void)
{
    int i;

    for (i = 0; i < WINDOW; i++)
        shm_start_receive(&requests[i]);
    meet();
    for (; i < 2 * WINDOW; i++)
        shm_start_send(&requests[i]);
    meet();
    shm_wait_for_window();
    meet();
}

/* The rank that waits for the other one calls second. */
static void collect(int rank)
{
    void (*calls[])(void) = {shm_bcast_give, shm_bcast_take, shm_reduce,
                             shm_bcast_send, shm_bcast_receive};
    int roots_second[] = {0, 0, 1, 0, 0}, roots[] = {0, 1, 0, 0, 1}, i;

    for (i = 0; i < 5; i++) {
        meet();
        if ((rank == roots[i]) == roots_second[i])
            meet();
        calls[i]();
        if ((rank == roots[i]) != roots_second[i])
            meet();
    }
}

int main(int argc, char **argv)
{
    int i, rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    share(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < ROUNDS; i++)
        exchange();
    for (i = 0; i < ROUNDS / BATCH; i++)
        exchange_window();
    for (i = 0; i < ROUNDS; i++)
        collect(rank);
    MPI_Finalize();
    return 0;
}
