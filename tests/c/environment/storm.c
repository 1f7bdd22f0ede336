/* ranks: 1, 2, 3; arguments: 1 6; transports: all; MPI 5.0 11.6, 3.8.4, 7.4.2 */
/* Random programs: threads, each with a communicator of its own, make random calls, while other
 * threads cancel what they wait for, signals interrupt them, and buffers fault.
 *
 *     storm FIRST COUNT    runs the programs of the seeds FIRST to FIRST + COUNT - 1
 *
 * A seed tells what each thread calls, the same at all ranks; each rank rests, faults and is
 * interrupted as it likes.
 */
#define _GNU_SOURCE
#include "../check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, STEPS = 12, LONGEST = 300000, PAGE = 4096, NEVER_SENT = 30000, NEVER_RECEIVED };

/* What a thread has: its communicator, what all ranks draw alike, what this rank draws. */
typedef struct {
    int number;
    MPI_Comm comm;
    unsigned common, own;
    unsigned char *in, *out;
} Thread;

static volatile sig_atomic_t interruptions, faults;

static void count_interruption(int signal)
{
    (void)signal;
    interruptions++;
}

/* Opens the page on which the program has faulted, as a garbage collector does. */
static void open_page(int signal, siginfo_t *info, void *context)
{
    char *page = (char *)((size_t)info->si_addr & ~(size_t)(PAGE - 1));

    (void)context;
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0)
        _exit(100 + signal);
    faults++;
}

static void rest(Thread *it)
{
    unsigned kind = next_random(&it->own) % 8;

    if (kind == 0)
        usleep(next_random(&it->own) % 3000);
    else if (kind == 1)
        sched_yield();
}

/* Lets the next use of some buffers fault. */
static void close_pages(Thread *it, unsigned char *buffer)
{
    if (next_random(&it->own) % 4 == 0)
        mprotect(buffer, LONGEST / PAGE * PAGE, PROT_NONE);
}

static int length(Thread *it)
{
    static const int lengths[] = {0, 8, 1000, 5000, 20000, 70000, LONGEST};
    int longest = lengths[next_random(&it->common) % 7];

    return longest ? (int)(next_random(&it->common) % longest) + 1 : 0;
}

static void shift(Thread *it)
{
    int bytes = length(it), tag = (int)(next_random(&it->common) % 5);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int is_synchronous = next_random(&it->own) % 2;
    MPI_Request requests[2];
    MPI_Status statuses[2];

    fill(it->out, bytes, rank + tag);
    close_pages(it, it->in);
    MPI_Irecv(it->in, bytes, MPI_BYTE, left, tag, it->comm, &requests[0]);
    rest(it);
    if (is_synchronous)
        MPI_Issend(it->out, bytes, MPI_BYTE, right, tag, it->comm, &requests[1]);
    else
        MPI_Isend(it->out, bytes, MPI_BYTE, right, tag, it->comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK_STATUS(statuses[0], left, tag, bytes);
    CHECK_FILLED(it->in, bytes, left + tag);
}

static void *cancel(void *request)
{
    usleep(500);
    MPI_Cancel(request);
    return NULL;
}

/* Another thread cancels the receive for which this one waits. */
static void cancel_receive(Thread *it)
{
    MPI_Request request, copy;
    MPI_Status status;
    pthread_t other;
    int is_cancelled = 0;

    MPI_Irecv(it->in, 8, MPI_BYTE, MPI_ANY_SOURCE, NEVER_SENT, it->comm, &request);
    copy = request;
    CHECK_INT(pthread_create(&other, NULL, cancel, &request), 0);
    switch (next_random(&it->own) % 3) {
    case 0:
        MPI_Wait(&copy, &status);
        break;
    case 1:
        MPI_Waitall(1, &copy, &status);
        break;
    default:
        MPI_Waitany(1, &copy, &is_cancelled, &status);
    }
    MPI_Test_cancelled(&status, &is_cancelled);
    CHECK_INT(is_cancelled, 1);
    pthread_join(other, NULL);
}

static void cancel_send(Thread *it)
{
    MPI_Request request;
    MPI_Status status;
    int is_cancelled = 0, bytes = length(it);

    fill(it->out, bytes, 1);
    MPI_Issend(it->out, bytes, MPI_BYTE, (rank + 1) % size, NEVER_RECEIVED, it->comm, &request);
    rest(it);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    CHECK_INT(is_cancelled, 1);
}

/* Communicators are made beside other collectives, from one that is freed meanwhile. */
static void make_communicators(Thread *it)
{
    MPI_Comm first, second, third;
    MPI_Request making, others[2];
    MPI_Group group;
    int one = 1, sum = 0, done = 0, is_tested = next_random(&it->own) % 2;
    int colour = (int)(next_random(&it->common) >> (rank % 8)) & 1;

    MPI_Comm_dup(it->comm, &first);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, first, &others[0]);
    MPI_Ibarrier(it->comm, &others[1]);
    MPI_Comm_idup(first, &second, &making);
    MPI_Comm_free(&first);
    rest(it);
    while (is_tested && !done)
        MPI_Test(&making, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&making, MPI_STATUS_IGNORE);
    MPI_Comm_split(second, colour, -rank, &third);
    MPI_Barrier(third);
    MPI_Comm_free(&third);
    MPI_Comm_group(second, &group);
    MPI_Comm_create(second, group, &third);
    MPI_Comm_free(&second);
    MPI_Comm_free(&third);
    MPI_Group_free(&group);
    MPI_Waitall(2, others, MPI_STATUSES_IGNORE);
    CHECK_INT(sum, size);
}

static void broadcast(Thread *it)
{
    int bytes = length(it), root = (int)(next_random(&it->common) % size);
    MPI_Request request;

    if (rank == root)
        fill(it->in, bytes, root);
    else
        close_pages(it, it->in);
    if (next_random(&it->common) % 2) {
        MPI_Bcast(it->in, bytes, MPI_BYTE, root, it->comm);
    } else {
        MPI_Ibcast(it->in, bytes, MPI_BYTE, root, it->comm, &request);
        rest(it);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK_FILLED(it->in, bytes, root);
}

static void reduce(Thread *it)
{
    int i, count = length(it) / (int)sizeof(int), *out = (int *)it->out, *in = (int *)it->in;

    for (i = 0; i < count; i++)
        out[i] = rank + i;
    MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, it->comm);
    for (i = 0; i < count; i++)
        CHECK_INT(in[i], size * i + size * (size - 1) / 2);
}

/* All send to one rank, which takes what comes first, by a receive or by a matched probe. */
static void gather_by_arrival(Thread *it)
{
    int root = (int)(next_random(&it->common) % size), tag = 7, from, bytes;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;

    MPI_Isend(&rank, 1, MPI_INT, root, tag, it->comm, &request);
    for (from = 0; rank == root && from < size; from++) {
        int got = -1;

        if (next_random(&it->own) % 2) {
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, tag, it->comm, &status);
        } else {
            MPI_Mprobe(MPI_ANY_SOURCE, tag, it->comm, &message, &status);
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            CHECK_INT(bytes, sizeof(int));
            MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
        }
        CHECK_INT(got, status.MPI_SOURCE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void send_in_parts(Thread *it)
{
    enum { PARTS = 4 };
    int each = length(it) / PARTS + 1, part, tag = 3;
    MPI_Request requests[2];

    fill(it->out, (size_t)each * PARTS, rank);
    MPI_Psend_init(it->out, PARTS, each, MPI_BYTE, (rank + 1) % size, tag, it->comm,
                   MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(it->in, PARTS, each, MPI_BYTE, (rank + size - 1) % size, tag, it->comm,
                   MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    for (part = PARTS; part-- > 0;) {
        rest(it);
        MPI_Pready(part, requests[0]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_FILLED(it->in, (size_t)each * PARTS, (rank + size - 1) % size);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void *run_thread(void *argument)
{
    static void (*const kinds[])(Thread *) = {
        shift,  cancel_receive, cancel_send,       make_communicators,
        reduce, broadcast,      gather_by_arrival, send_in_parts,
    };
    Thread *it = argument;
    int step;

    for (step = 0; step < STEPS; step++) {
        kinds[next_random(&it->common) % (sizeof kinds / sizeof *kinds)](it);
        rest(it);
    }
    return NULL;
}

static unsigned char *new_buffer(void)
{
    void *buffer = mmap(NULL, LONGEST + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);

    CHECK(buffer != MAP_FAILED, "memory for a buffer");
    return buffer;
}

static void run_seed(unsigned seed, Thread *threads, unsigned own)
{
    int i, count = 1 + (int)(seed % THREADS);
    pthread_t handles[THREADS];

    for (i = 0; i < count; i++) {
        threads[i].common = seed * 64 + (unsigned)i;
        threads[i].own = own + seed * 977 + (unsigned)i * 31;
        CHECK_INT(pthread_create(&handles[i], NULL, run_thread, &threads[i]), 0);
    }
    for (i = 0; i < count; i++)
        pthread_join(handles[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void handle_signals(void)
{
    const struct itimerval often = {{0, 1700}, {0, 1700}};
    struct sigaction action;

    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = count_interruption;
    sigaction(SIGALRM, &action, NULL);
    action.sa_sigaction = open_page;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv)
{
    static Thread threads[THREADS];
    unsigned seed, first = 1, count = 6;
    int i, provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    if (argc == 3) {
        first = (unsigned)atoi(argv[1]);
        count = (unsigned)atoi(argv[2]);
    }
    handle_signals();
    for (i = 0; i < THREADS; i++) {
        threads[i].number = i;
        threads[i].in = new_buffer();
        threads[i].out = new_buffer();
        MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].comm);
    }
    for (seed = first; seed < first + count; seed++) {
        run_seed(seed, threads, (unsigned)getpid() + (unsigned)time(NULL));
        if (rank == 0 && argc == 3 && seed % 50 == 0)
            printf("storm: seed %u is over\n", seed);
    }
    for (i = 0; i < THREADS; i++)
        MPI_Comm_free(&threads[i].comm);
    return end();
}
