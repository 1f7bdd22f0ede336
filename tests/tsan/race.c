/* Two threads pack into the same buffer at once, which is wrong: ThreadSanitizer must say so, or it
 * does not see what the library does. */
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>

enum { BYTES = 4096, ROUNDS = 1000 };

static char packed[BYTES];

static void *pack(void *from)
{
    int round, place;

    for (round = 0; round < ROUNDS; round++) {
        place = 0;
        MPI_Pack(from, BYTES, MPI_BYTE, packed, BYTES, &place, MPI_COMM_WORLD);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static char first[BYTES], second[BYTES];
    pthread_t other;
    int given;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    pthread_create(&other, NULL, pack, first);
    pack(second);
    pthread_join(other, NULL);
    MPI_Finalize();
    return 0;
}
