/* A program that hangs: `hang NAME`, where NAME is one of the deadlocks of the table at the end. A
 * rank whose function returns goes into MPI_Finalize. */
#define _XOPEN_SOURCE 700
#include "hang.h"
#include "windows.h"

/* Receives without a send. */

static void recv_recv(void)
{
    /* The test looks for this call in the report. */
    MPI_Recv(one, 1, MPI_INT, 1 - rank, 7 + rank, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wrong_tag(void)
{
    if (rank == 1) {
        send(0, 8);
        receive(0, 9);
    } else {
        receive(1, 7);
    }
}

static void wrong_communicator(void)
{
    MPI_Comm halo = named("halo");

    if (rank == 1) {
        MPI_Send(one, 1, MPI_INT, 0, 7, halo);
        receive(0, 9);
    } else {
        receive(1, 7);
    }
}

static void many_unreceived(void)
{
    int tag;

    if (rank == 1) {
        for (tag = 100; tag < 120; tag++)
            send(0, tag);
        receive(0, 9);
    } else {
        receive(1, 7);
    }
}

static void numbered_otherwise(void)
{
    MPI_Comm half;
    int mine;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, rank % 2 ? "odd" : "even");
    MPI_Comm_rank(half, &mine);
    if (rank % 2 == 0)
        MPI_Recv(one, 1, MPI_INT, 1 - mine, 1 + mine, half, MPI_STATUS_IGNORE);
    barrier();
}

static void ring_of_receives(void)
{
    receive((rank + 1) % size, 3);
}

static void probe(void)
{
    if (rank == 0)
        MPI_Probe(1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        receive(0, 6);
}

static void mprobe(void)
{
    MPI_Message message;

    MPI_Mprobe(1 - rank, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
}

static void to_itself(void)
{
    if (rank == 0)
        receive(0, 5);
    barrier();
}

static void any_source_and_finalize(void)
{
    if (rank == 0)
        receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
}

/* The master has no more work and does not say so. */
static void master_without_work(void)
{
    enum { WORK = 1, RESULT = 2 };
    int i;

    if (rank == 0) {
        for (i = 1; i < size; i++)
            send(i, WORK);
        for (;;)
            receive(MPI_ANY_SOURCE, RESULT);
    }
    for (;;) {
        receive(0, WORK);
        send(0, RESULT);
    }
}

/* Sends without a receive. */

static void ssend_cycle(void)
{
    MPI_Ssend(one, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
}

static void ssend_wrong_tag(void)
{
    if (rank == 1)
        MPI_Ssend(one, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    else
        receive(1, 7);
}

static void ssend_wrong_communicator(void)
{
    MPI_Comm halo = named("halo");

    if (rank == 1)
        MPI_Ssend(one, 1, MPI_INT, 0, 7, halo);
    else
        receive(1, 7);
}

static void ssend_to_itself(void)
{
    if (rank == 0)
        MPI_Ssend(one, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    barrier();
}

static void send_send(void)
{
    send_long(1 - rank, 1);
    receive(1 - rank, 1);
}

static void long_send(void)
{
    if (rank == 0)
        send_long(1, 4);
    barrier();
}

static void ssend_and_receives(void)
{
    if (rank == 0)
        MPI_Ssend(one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else
        receive((rank + 1) % size, 1);
}

static void buffer_detach(void)
{
    void *buffer;
    int bytes;

    if (rank == 0) {
        MPI_Buffer_attach(malloc(LONG + MPI_BSEND_OVERHEAD), LONG + MPI_BSEND_OVERHEAD);
        MPI_Bsend(many, LONG, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
        MPI_Buffer_detach(&buffer, &bytes);
    }
    barrier();
}

/* The left neighbour of the first rank is MPI_PROC_NULL, and the program takes the last rank. */
static void wrong_border(void)
{
    int left = (rank + size - 1) % size, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

    MPI_Sendrecv(one, 1, MPI_INT, right, 2, one + 1, 1, MPI_INT, left, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    barrier();
}

/* Requests. */

static void waitall(void)
{
    MPI_Request requests[12];
    int tag;

    if (rank == 0) {
        for (tag = 0; tag < 12; tag++)
            MPI_Irecv(one + tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, requests + tag);
        MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    } else {
        for (tag = 0; tag < 12; tag++)
            if (tag != 7)
                send(0, tag);
        receive(0, 99);
    }
}

static void waitall_of_many(void)
{
    MPI_Request requests[20];
    int i;

    if (rank == 0) {
        for (i = 0; i < 20; i++)
            MPI_Irecv(one + i, 1, MPI_INT, 1, i, MPI_COMM_WORLD, requests + i);
        MPI_Waitall(20, requests, MPI_STATUSES_IGNORE);
    }
}

static void waitany(void)
{
    MPI_Request requests[3];
    int i;

    if (rank == 0) {
        for (i = 0; i < 3; i++)
            MPI_Irecv(one + i, 1, MPI_INT, 1, 1 + i, MPI_COMM_WORLD, requests + i);
        MPI_Waitany(3, requests, &i, MPI_STATUS_IGNORE);
    } else {
        receive(0, 9);
    }
}

static void waitsome(void)
{
    MPI_Request requests[2];
    int done, places[2];

    if (rank == 0) {
        MPI_Irecv(one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, requests);
        MPI_Irecv(one + 1, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, requests + 1);
        MPI_Waitsome(2, requests, &done, places, MPI_STATUSES_IGNORE);
    }
    barrier();
}

static void persistent_not_started(void)
{
    MPI_Request request;

    if (rank == 0) {
        MPI_Recv_init(one, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Send_init(one, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
    }
    barrier();
}

static void issend(void)
{
    MPI_Request request;

    if (rank == 0) {
        MPI_Issend(one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    barrier();
}

/* Partitioned messages, of 4 partitions. */
static void partitioned_send(int ready)
{
    MPI_Request request;
    int i;

    MPI_Psend_init(one, 4, 2, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (i = 0; i < ready; i++)
        MPI_Pready(i, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void partitioned_receive(void)
{
    MPI_Request request;

    MPI_Precv_init(one, 2, 4, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void partitioned_and_recv(void)
{
    if (rank == 0)
        partitioned_send(4);
    else
        receive(0, 1);
    barrier();
}

static void send_and_partitioned(void)
{
    if (rank == 0)
        send(1, 1);
    else
        partitioned_receive();
    barrier();
}

static void partitions_not_ready(void)
{
    if (rank == 0)
        partitioned_send(3);
    else
        partitioned_receive();
    barrier();
}

/* Collectives. */

static void missing_in_barrier(void)
{
    if (rank == size - 1)
        receive(0, 1);
    barrier();
}

static void missing_in_allreduce(void)
{
    if (rank == 1)
        receive(2, 6);
    MPI_Allreduce(one, one + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void missing_in_split(void)
{
    MPI_Comm half;

    if (rank == size - 1)
        receive(0, 1);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
}

static void missing_in_dup(void)
{
    if (rank == 0)
        MPI_Ssend(one, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    named("copy");
}

static void missing_in_ibarrier(void)
{
    MPI_Request request;

    if (rank == size - 1)
        receive(0, 1);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void missing_in_gather(void)
{
    if (rank == 2)
        receive(0, 1);
    MPI_Gather(&rank, 1, MPI_INT, one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    barrier();
}

static void bcast_and_ibcast(void)
{
    MPI_Request request;

    if (rank == 0) {
        MPI_Ibcast(one, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        receive(1, 2);
    }
    MPI_Bcast(one, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void barrier_and_ibarrier(void)
{
    MPI_Request request;

    if (rank == 1) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    barrier();
}

/* One rank begins a barrier twice, and waits only for the second one. */
static void ibarrier_twice(void)
{
    MPI_Request first, second;

    MPI_Ibarrier(MPI_COMM_WORLD, &first);
    if (rank == 1) {
        MPI_Ibarrier(MPI_COMM_WORLD, &second);
        MPI_Wait(&second, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&first, MPI_STATUS_IGNORE);
}

static void wrong_root(void)
{
    MPI_Gatherv(&rank, 1, MPI_INT, one, counts, places, MPI_INT, rank, MPI_COMM_WORLD);
}

static void gather_and_scatter(void)
{
    if (rank == 0)
        MPI_Gatherv(&rank, 1, MPI_INT, one, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Scatterv(NULL, counts, places, MPI_INT, one, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void other_order(void)
{
    MPI_Comm left = named("left"), right = named("right");

    MPI_Barrier(rank == 0 ? left : right);
    MPI_Barrier(rank == 0 ? right : left);
}

/* MPI_Finalize. */

static void finalize_and_barrier(void)
{
    if (rank < size - 1)
        barrier();
}

static void finalize_and_receive(void)
{
    if (rank == 0)
        receive(1, 7);
}

static void chain_to_finalize(void)
{
    if (rank < size - 1)
        receive(rank + 1, 7);
}

/* Threads. */

static void *thread(void *unused)
{
    receive(1 - rank, 1);
    return unused;
}

static void threads(void)
{
    pthread_t other;

    pthread_create(&other, NULL, thread, NULL);
    receive(1 - rank, 1);
    pthread_join(other, NULL);
}

static void many_threads(void)
{
    pthread_t others[64];
    size_t i;

    for (i = 0; i < 64; i++)
        pthread_create(&others[i], NULL, thread, NULL);
    for (i = 0; i < 64; i++)
        pthread_join(others[i], NULL);
}

/* Ranks that do not wait. */

static void stopped(void)
{
    if (rank == 1) {
        print_ready();
        raise(SIGSTOP);
    }
    barrier();
}

static void computes(void)
{
    volatile unsigned long count = 0;

    if (rank == 1) {
        /* Other jobs run at the same time. */
        nice(10);
        print_ready();
        for (;;)
            count++;
    }
    barrier();
}

/* This one runs before MPI_Init. */
static void without_init(void)
{
    const char *mine = getenv("MPILITE_RANK");

    if (mine != NULL && strcmp(mine, "1") == 0) {
        print_ready();
        for (;;)
            pause();
    }
}

#define NAMED(function) {#function, function}

/* The last rank does not come to a collective access of a file. */
static void missing_in_write_all(void)
{
    MPI_File file;

    MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    if (rank < size - 1)
        MPI_File_write_at_all(file, 0, one, 1, MPI_INT, MPI_STATUS_IGNORE);
    else
        receive(0, 1);
}

static const struct {
    const char *name;
    void (*run)(void);
} deadlocks[] = {
    NAMED(recv_recv), NAMED(wrong_tag), NAMED(wrong_communicator),
    NAMED(many_unreceived), NAMED(numbered_otherwise), NAMED(ring_of_receives),
    NAMED(probe), NAMED(mprobe), NAMED(to_itself), NAMED(any_source_and_finalize),
    NAMED(master_without_work), NAMED(ssend_cycle), NAMED(ssend_wrong_tag),
    NAMED(ssend_wrong_communicator), NAMED(ssend_to_itself), NAMED(send_send), NAMED(long_send),
    NAMED(ssend_and_receives), NAMED(buffer_detach), NAMED(wrong_border), NAMED(waitall),
    NAMED(waitall_of_many), NAMED(waitany), NAMED(waitsome), NAMED(persistent_not_started),
    NAMED(issend), NAMED(partitioned_and_recv), NAMED(send_and_partitioned),
    NAMED(partitions_not_ready), NAMED(missing_in_barrier), NAMED(missing_in_allreduce),
    NAMED(missing_in_split), NAMED(missing_in_dup), NAMED(missing_in_ibarrier),
    NAMED(missing_in_gather), NAMED(missing_in_write_all), NAMED(missing_in_fence),
    NAMED(lock_that_is_held), NAMED(missing_post), NAMED(bcast_and_ibcast),
    NAMED(barrier_and_ibarrier),
    NAMED(ibarrier_twice), NAMED(wrong_root), NAMED(gather_and_scatter), NAMED(other_order),
    NAMED(finalize_and_barrier), NAMED(finalize_and_receive), NAMED(chain_to_finalize),
    NAMED(threads), NAMED(many_threads), NAMED(stopped), NAMED(computes), {"without_init", barrier},
};

int main(int argc, char **argv)
{
    size_t i;
    int level;

    CHECK_INT(argc, 2);
    if (strcmp(argv[1], "without_init") == 0)
        without_init();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    many = calloc(LONG, 1);
    for (i = 0; i < sizeof deadlocks / sizeof *deadlocks; i++) {
        if (strcmp(argv[1], deadlocks[i].name) == 0) {
            deadlocks[i].run();
            return end();
        }
    }
    CHECK(0, "the name of a deadlock, not %s", argv[1]);
    return 1;
}
