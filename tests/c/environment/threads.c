/* ranks: 1, 2, 3; transports: all; MPI 5.0 11.6 */
/* MPI_THREAD_SERIALIZED: any thread may call, one at a time; requests wander between them. */
#include "../check.h"
#include <pthread.h>

enum { ROUNDS = 200, THREADS = 3, TAG = 1 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *exchange(void *name)
{
    int i, is_main = 1, out, in, got = -1;
    int right = (rank + 1) % size, left = (rank + size - 1) % size, tag = *(int *)name;
    MPI_Request request;

    for (i = 0; i < ROUNDS; i++) {
        out = 1000 * tag + i;
        pthread_mutex_lock(&turn);
        MPI_Is_thread_main(&is_main);
        MPI_Isend(&out, 1, MPI_INT, right, tag, MPI_COMM_WORLD, &request);
        pthread_mutex_unlock(&turn);
        CHECK_INT(is_main, 0);
        for (in = 0; !in;) {
            pthread_mutex_lock(&turn);
            MPI_Iprobe(left, tag, MPI_COMM_WORLD, &in, MPI_STATUS_IGNORE);
            if (in)
                MPI_Recv(&got, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            pthread_mutex_unlock(&turn);
        }
        CHECK_INT(got, 1000 * tag + i);
        pthread_mutex_lock(&turn);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int i, names[THREADS], provided = -1, asked;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided >= MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED, not level %d", provided);
    MPI_Query_thread(&asked);
    CHECK_INT(asked, provided);
    for (i = 0; i < THREADS; i++) {
        names[i] = i + 1;
        pthread_create(&threads[i], NULL, exchange, &names[i]);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return end();
}
