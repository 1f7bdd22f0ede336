/* ranks: 3, 5; transports: all; MPI 5.0 6.12, 3.7.4 */
/* A nonblocking collective goes on while a process computes and does not call MPI: the others do
 * not wait for it. But an operator of the program runs only inside of a call. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <pthread.h>
#include <unistd.h>

enum { TAG = 8 };

static pthread_t thread;
static volatile int is_computing;

static void add(void *left, void *right, int *len, MPI_Datatype *type)
{
    int i;

    (void)type;
    CHECK(!is_computing, "no call of the program's operator while it computes");
    CHECK(pthread_equal(pthread_self(), thread), "the operator to run in the program's thread");
    for (i = 0; i < *len; i++)
        ((int *)right)[i] += ((int *)left)[i];
}

/* Computes until the file is gone. */
static void compute(const char *path)
{
    volatile double x = 1.0;
    int i;

    is_computing = 1;
    while (access(path, F_OK) == 0)
        for (i = 0; i < 10000; i++)
            x = x * 1.0000001;
    is_computing = 0;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/mpi-lite-computing-XXXXXX";
    MPI_Request barrier, sum;
    MPI_Op op;
    int one = 1, file;

    begin(&argc, &argv);
    thread = pthread_self();
    if (rank == 0) {
        file = mkstemp(path);
        CHECK(file >= 0, "a file");
        close(file);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce_init(MPI_IN_PLACE, &one, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &sum);
    MPI_Start(&sum);
    if (rank == size - 1) {
        /* It comes last; rank 0 passes on what it has to say, or nobody gets through. */
        MPI_Recv(NULL, 0, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
        unlink(path);
    } else {
        MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
        if (rank == 0) {
            MPI_Send(NULL, 0, MPI_INT, size - 1, TAG, MPI_COMM_WORLD);
            compute(path);
        }
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&sum, MPI_STATUS_IGNORE);
    CHECK_INT(one, size);
    MPI_Request_free(&sum);
    MPI_Op_free(&op);
    return end();
}
