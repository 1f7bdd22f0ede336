/* ranks: 1, 2; transports: one; MPI 5.0 15.3.4 */
/* A tool's thread reads counters while the program is in MPI: none ever decreases. */
#include "../check.h"
#include <pthread.h>

#define ROUNDS 2000
#define SAMPLES 50

typedef unsigned long long number;

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[400];
static int count;

static void *sample(void *unused)
{
    static number last[400];
    int i, round;
    number value = 0;

    for (round = 0; round < SAMPLES; round++)
        for (i = 0; i < count; i++) {
            CHECK_INT(MPI_T_pvar_read(session, handles[i], &value), MPI_SUCCESS);
            CHECK(value >= last[i], "counter %d not to fall from %d to %d", i, (int)last[i],
                  (int)value);
            last[i] = value;
        }
    return unused;
}

static void start_counters(void)
{
    int i, one;

    CHECK_INT(MPI_T_pvar_get_num(&count), MPI_SUCCESS);
    CHECK(count <= 400, "room for %d handles", count);
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    for (i = 0; i < count; i++)
        CHECK_INT(MPI_T_pvar_handle_alloc(session, i, NULL, &handles[i], &one), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
}

static void ping_pong(void)
{
    int i, other = (rank + 1) % size, value = 0, got;

    for (i = 0; i < ROUNDS; i++)
        MPI_Sendrecv(&value, 1, MPI_INT, other, 1, &got, 1, MPI_INT, other, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    pthread_t reader;
    int provided, word = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    start_counters();

    pthread_create(&reader, NULL, sample, NULL);
    ping_pong();
    pthread_join(reader, NULL);

    /* Rank 1 is blocked in its receive until the thread of rank 0 has read all. */
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_create(&reader, NULL, sample, NULL);
    if (rank == 1) {
        MPI_Recv(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pthread_join(reader, NULL);
    } else {
        pthread_join(reader, NULL);
        if (size > 1)
            MPI_Send(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return end();
}
