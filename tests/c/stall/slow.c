/* A slow program that is right: `slow NAME`, where NAME is one of the table at the end. For longer
 * than --stall-after of the test some ranks wait in MPI; another one does something else. */
#define _XOPEN_SOURCE 700
#include "../check.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Two and a half times --stall-after; other pauses are parts of it. */
#define SECONDS 1.5
#define LONG (8 << 20)

static int one[8];
static char *many;

static void pause_for(double seconds)
{
    struct timespec left;

    left.tv_sec = (time_t)seconds;
    left.tv_nsec = (long)((seconds - left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0)
        ;
}

/* With a low priority: other jobs run at the same time. */
static double end_of(double seconds)
{
    nice(10);
    return MPI_Wtime() + seconds;
}

static void compute_for(double seconds)
{
    double end_of_work = end_of(seconds);
    volatile double sum = 0;
    int i;

    while (MPI_Wtime() < end_of_work)
        for (i = 1; i < 100000; i++)
            sum += 1.0 / i;
}

static void receive(int source, int tag)
{
    MPI_Recv(one, 1, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(int dest, int tag)
{
    MPI_Send(one, 1, MPI_INT, dest, tag, MPI_COMM_WORLD);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One rank does something else, and the others wait for it. */

static void recv_from_computing(void)
{
    if (rank == 1) {
        compute_for(SECONDS);
        send(0, 1);
    } else {
        receive(1, 1);
    }
}

static void barrier_with_computing(void)
{
    if (rank == 1)
        compute_for(SECONDS);
    barrier();
}

static void allreduce_with_sleeping(void)
{
    if (rank == 1)
        pause_for(SECONDS);
    MPI_Allreduce(one, one + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void bcast_from_computing(void)
{
    if (rank == 0)
        compute_for(SECONDS);
    MPI_Bcast(one, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void gather_with_sleeping(void)
{
    int all[8];

    if (rank == 2)
        pause_for(SECONDS);
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    barrier();
}

static void split_with_sleeping(void)
{
    MPI_Comm half, copy;

    if (rank == 0)
        pause_for(SECONDS * 2 / 3);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (rank == 1)
        pause_for(SECONDS * 2 / 3);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
}

static void probe_of_sleeping(void)
{
    if (rank == 0) {
        MPI_Probe(1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        receive(1, 1);
    } else {
        pause_for(SECONDS);
        send(0, 1);
    }
}

static void waitall_of_sleeping(void)
{
    MPI_Request requests[4];
    int i;

    if (rank == 0) {
        for (i = 0; i < 4; i++)
            MPI_Irecv(one + i, 1, MPI_INT, 1, i, MPI_COMM_WORLD, requests + i);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    } else {
        for (i = 0; i < 4; i++) {
            if (i == 3)
                pause_for(SECONDS);
            send(0, i);
        }
    }
}

static void waitany_of_sleeping(void)
{
    MPI_Request requests[2];
    int place;

    if (rank == 0) {
        MPI_Irecv(one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, requests);
        MPI_Irecv(one + 1, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, requests + 1);
        MPI_Waitany(2, requests, &place, MPI_STATUS_IGNORE);
        MPI_Wait(requests + (1 - place), MPI_STATUS_IGNORE);
    } else {
        pause_for(SECONDS);
        send(0, 2);
        send(0, 1);
    }
}

static void ssend_to_sleeping(void)
{
    if (rank == 0) {
        MPI_Ssend(one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        pause_for(SECONDS);
        receive(0, 1);
    }
}

static void long_send_to_computing(void)
{
    if (rank == 0) {
        MPI_Send(many, LONG, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    } else {
        compute_for(SECONDS);
        MPI_Recv(many, LONG, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void detach_for_sleeping(void)
{
    void *buffer;
    int bytes;

    if (rank == 0) {
        MPI_Buffer_attach(malloc(LONG + MPI_BSEND_OVERHEAD), LONG + MPI_BSEND_OVERHEAD);
        MPI_Bsend(many, LONG, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
        MPI_Buffer_detach(&buffer, &bytes);
    } else {
        pause_for(SECONDS);
        MPI_Recv(many, LONG, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void sendrecv_with_sleeping(void)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    if (rank == 2)
        pause_for(SECONDS);
    MPI_Sendrecv(one, 1, MPI_INT, right, 2, one + 1, 1, MPI_INT, left, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    barrier();
}

static void persistent_started_late(void)
{
    MPI_Request request;

    if (rank == 0) {
        MPI_Recv_init(one, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
    } else {
        MPI_Send_init(one, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
        pause_for(SECONDS);
        MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

/* One rank is in MPI again and again, but waits in no call. */

static void polls_with_test(void)
{
    double end_of_polling = end_of(SECONDS);
    MPI_Request request;
    int is_done = 0;

    if (rank == 0) {
        MPI_Irecv(one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        while (MPI_Wtime() < end_of_polling)
            MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        send(1, 2);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        receive(0, 2);
        send(0, 1);
    }
}

static void polls_with_iprobe(void)
{
    double end_of_polling = end_of(SECONDS);
    int is_there = 0;

    if (rank == 0) {
        while (MPI_Wtime() < end_of_polling)
            MPI_Iprobe(1, 1, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        CHECK_INT(is_there, 0);
        send(1, 2);
    } else {
        receive(0, 2);
    }
}

static void polls_and_sleeps(void)
{
    double end_of_polling = MPI_Wtime() + SECONDS;
    MPI_Request requests[2];
    int is_done = 0;

    if (rank == 0) {
        MPI_Irecv(one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, requests);
        MPI_Irecv(one + 1, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, requests + 1);
        while (MPI_Wtime() < end_of_polling) {
            MPI_Testall(2, requests, &is_done, MPI_STATUSES_IGNORE);
            pause_for(SECONDS / 60);
        }
        send(1, 3);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
        receive(0, 3);
        send(0, 1);
        send(0, 2);
    }
}

/* Something comes again and again. */

static void message_now_and_then(void)
{
    int i;

    for (i = 0; i < 6; i++) {
        if (rank == 0) {
            pause_for(SECONDS / 6);
            send(1, i);
        }
        if (rank == 1)
            receive(0, i);
    }
    barrier();
}

/* Each of the two waits most of the time. */
static void many_messages(void)
{
    double end_of_work = end_of(SECONDS);
    int goes_on = 1;

    while (goes_on) {
        if (rank == 0) {
            goes_on = MPI_Wtime() < end_of_work;
            MPI_Ssend(&goes_on, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            pause_for(0.001);
            MPI_Recv(many, LONG / 8, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&goes_on, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Ssend(many, LONG / 8, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
        }
    }
}

static void farm_with_long_tasks(void)
{
    enum { WORK = 1, RESULT = 2, STOP = 3 };
    MPI_Status status;
    int i;

    if (rank == 0) {
        for (i = 1; i < size; i++)
            send(i, WORK);
        for (i = 1; i < size; i++) {
            MPI_Recv(one, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
            send(status.MPI_SOURCE, STOP);
        }
        return;
    }
    for (;;) {
        MPI_Recv(one, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP)
            return;
        pause_for(rank == 1 ? SECONDS : SECONDS / 6);
        send(0, RESULT);
    }
}

static void pipeline(void)
{
    int item;

    for (item = 0; item < 2; item++) {
        if (rank > 0)
            receive(rank - 1, item);
        pause_for(rank == 1 ? SECONDS * 2 / 3 : SECONDS / 6);
        if (rank + 1 < size)
            send(rank + 1, item);
    }
}

static void slow_token(void)
{
    if (rank > 0)
        receive(rank - 1, 1);
    pause_for(SECONDS / 3);
    send((rank + 1) % size, 1);
    if (rank == 0)
        receive(size - 1, 1);
}

static void slow_steps(void)
{
    int step;

    for (step = 0; step < 2; step++) {
        if (rank == step)
            compute_for(SECONDS * 2 / 3);
        barrier();
    }
}

/* Nonblocking collectives. */

static void computes_beside_ibcast(void)
{
    MPI_Request request;

    MPI_Ibcast(one, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    if (rank == 1)
        compute_for(SECONDS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    barrier();
}

static void ibarrier_begun_late(void)
{
    MPI_Request request;

    if (rank == 2)
        pause_for(SECONDS);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ibarrier_waited_for_late(void)
{
    MPI_Request request;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (rank == 2)
        pause_for(SECONDS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Threads. */

static void *waits_in_receive(void *unused)
{
    receive(1, 1);
    return unused;
}

static void thread_waits_and_main_computes(void)
{
    pthread_t other;

    if (rank == 0) {
        pthread_create(&other, NULL, waits_in_receive, NULL);
        compute_for(SECONDS);
        send(1, 2);
        pthread_join(other, NULL);
    } else {
        receive(0, 2);
        send(0, 1);
    }
}

static void *sleeps_and_sends(void *unused)
{
    pause_for(SECONDS);
    send(0, 5);
    return unused;
}

static void thread_sends_to_its_own_rank(void)
{
    pthread_t other;

    if (rank == 0) {
        pthread_create(&other, NULL, sleeps_and_sends, NULL);
        receive(0, 5);
        pthread_join(other, NULL);
    }
    barrier();
}

static void *sleeps_and_posts(void *semaphore)
{
    pause_for(SECONDS);
    sem_post(semaphore);
    return NULL;
}

static void waits_for_a_semaphore(void)
{
    pthread_t other;
    sem_t semaphore;

    if (rank == 0) {
        sem_init(&semaphore, 0, 0);
        pthread_create(&other, NULL, sleeps_and_posts, &semaphore);
        while (sem_wait(&semaphore) != 0)
            ;
        pthread_join(other, NULL);
    }
    barrier();
}

static void waits_for_a_condition(void)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct timespec until;

    if (rank == 0) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (time_t)SECONDS;
        until.tv_nsec += (long)((SECONDS - (time_t)SECONDS) * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&lock);
        while (pthread_cond_timedwait(&condition, &lock, &until) == 0)
            ;
        pthread_mutex_unlock(&lock);
    }
    barrier();
}

/* Other processes. */

static void child_works(void)
{
    pid_t child;
    int status;

    if (rank == 0) {
        child = fork();
        if (child == 0) {
            pause_for(SECONDS);
            _exit(3);
        }
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK_INT(WEXITSTATUS(status), 3);
    }
    barrier();
}

static void reads_a_slow_pipe(void)
{
    char line[16] = "";
    FILE *pipe;

    if (rank == 0) {
        pipe = popen("for i in 1 2 3; do sleep 0.5; echo $i; done", "r");
        while (fgets(line, sizeof line, pipe) != NULL)
            ;
        CHECK_INT(atoi(line), 3);
        pclose(pipe);
    }
    barrier();
}

/* Its child lets it go on. */
static void is_stopped_for_a_while(void)
{
    pid_t child;

    if (rank == 1) {
        child = fork();
        if (child == 0) {
            pause_for(SECONDS);
            _exit(kill(getppid(), SIGCONT));
        }
        raise(SIGSTOP);
        waitpid(child, NULL, 0);
    }
    barrier();
}

/* The beginning and the end. */

static void comes_late(void)
{
    const char *mine = getenv("MPILITE_RANK");

    if (mine != NULL && strcmp(mine, "1") == 0)
        pause_for(SECONDS);
}

static void finalizes_late(void)
{
    if (rank == 0)
        pause_for(SECONDS);
}

#define NAMED(function) {#function, function}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {
    NAMED(recv_from_computing), NAMED(barrier_with_computing), NAMED(allreduce_with_sleeping),
    NAMED(bcast_from_computing), NAMED(gather_with_sleeping), NAMED(split_with_sleeping),
    NAMED(probe_of_sleeping), NAMED(waitall_of_sleeping), NAMED(waitany_of_sleeping),
    NAMED(ssend_to_sleeping), NAMED(long_send_to_computing), NAMED(detach_for_sleeping),
    NAMED(sendrecv_with_sleeping), NAMED(persistent_started_late), NAMED(polls_with_test),
    NAMED(polls_with_iprobe), NAMED(polls_and_sleeps), NAMED(message_now_and_then),
    NAMED(many_messages), NAMED(farm_with_long_tasks), NAMED(pipeline), NAMED(slow_token),
    NAMED(slow_steps), NAMED(computes_beside_ibcast), NAMED(ibarrier_begun_late),
    NAMED(ibarrier_waited_for_late), NAMED(thread_waits_and_main_computes),
    NAMED(thread_sends_to_its_own_rank), NAMED(waits_for_a_semaphore), NAMED(waits_for_a_condition),
    NAMED(child_works), NAMED(reads_a_slow_pipe), NAMED(is_stopped_for_a_while),
    NAMED(finalizes_late), {"comes_late", barrier}, {"leaves_late", barrier},
};

int main(int argc, char **argv)
{
    size_t i;
    int level;

    CHECK_INT(argc, 2);
    if (strcmp(argv[1], "comes_late") == 0)
        comes_late();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    many = calloc(LONG, 1);
    for (i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (strcmp(argv[1], programs[i].name) == 0) {
            programs[i].run();
            end();
            if (strcmp(argv[1], "leaves_late") == 0)
                pause_for(SECONDS);
            return 0;
        }
    }
    CHECK(0, "the name of a program, not %s", argv[1]);
    return 1;
}
