/* ranks: 1, 2, 3, 4; transports: all; MPI 5.0 11.6 and 7.4 */
/* MPI_THREAD_MULTIPLE: each thread makes communicators of a parent of its own, in another order in
 * each rank, and calls collectives on them, while the others do the same. Had two of them the same
 * context, the messages of one would come to the other. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <pthread.h>

enum { ROUNDS = 12, THREADS = 6, BLOCK = 700 };

static MPI_Comm parents[THREADS];
/* All threads have made theirs: only then are messages exchanged, so that equal contexts show. */
static pthread_barrier_t made;

static void exchange(MPI_Comm comm, int name, int round)
{
    int out = 1000 * name + round, in = -1, me, all, left, right, i;
    int *blocks;
    MPI_Request request;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    left = (me + all - 1) % all;
    right = (me + 1) % all;
    MPI_Isend(&out, 1, MPI_INT, right, 0, comm, &request);
    MPI_Recv(&in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE);
    CHECK_INT(in, out);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(in, all * out);
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    in = me == all - 1 ? out : -1;
    MPI_Bcast(&in, 1, MPI_INT, all - 1, comm);
    CHECK_INT(in, out);
    blocks = malloc(sizeof *blocks * (size_t)(all + 1) * BLOCK);
    for (i = 0; i < BLOCK; i++)
        blocks[all * BLOCK + i] = out + me + i;
    MPI_Allgather(&blocks[all * BLOCK], BLOCK, MPI_INT, blocks, BLOCK, MPI_INT, comm);
    for (i = 0; i < all * BLOCK; i++)
        CHECK_INT(blocks[i], out + i / BLOCK + i % BLOCK);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, BLOCK, MPI_INT, comm);
    for (i = 0; i < all * BLOCK; i++)
        CHECK_INT(blocks[i], out + me + i % BLOCK);
    free(blocks);
}

static void *run(void *argument)
{
    int name = *(int *)argument, round;
    MPI_Comm comm, part;

    for (round = 0; round < ROUNDS; round++) {
        MPI_Comm_dup(parents[name], &comm);
        MPI_Comm_split(comm, rank % 2, rank, &part);
        pthread_barrier_wait(&made);
        exchange(comm, name, round);
        exchange(part, name, round);
        pthread_barrier_wait(&made);
        MPI_Comm_free(&part);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

/* A thread makes one while another one's call waits for a rank that comes to it later. */
static void *dup_one(void *argument)
{
    MPI_Comm comm;
    int name = *(int *)argument;

    MPI_Comm_dup(parents[name], &comm);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    return NULL;
}

static void cross(int *names)
{
    pthread_t other;

    if (rank % 2 == 0) {
        pthread_create(&other, NULL, dup_one, &names[0]);
        dup_one(&names[1]);
        pthread_join(other, NULL);
    } else {
        /* One after the other; the threads of the others come to them in any order. */
        dup_one(&names[0]);
        dup_one(&names[1]);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int i, names[THREADS], provided = -1;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    pthread_barrier_init(&made, NULL, THREADS);
    for (i = 0; i < THREADS; i++) {
        names[i] = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
    }
    for (i = 0; i < ROUNDS; i++)
        cross(names);
    for (i = 0; i < THREADS; i++) {
        int name = (i * (rank % 2 ? 1 : THREADS - 1) + rank) % THREADS;
        pthread_create(&threads[name], NULL, run, &names[name]);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (i = 0; i < THREADS; i++)
        MPI_Comm_free(&parents[i]);
    return end();
}
