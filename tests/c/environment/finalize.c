/* ranks: 2, 3; transports: one; MPI 5.0 11.4.1 */
/* What was sent before Finalize arrives, though the receiver takes its time and the sender
 * has nothing more to do; what was never received does not keep anybody. */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <time.h>

enum { TAG = 1, MESSAGES = 20, BYTES = 1000, LARGE = 400000 };

static void send_and_leave(void)
{
    static char data[MESSAGES][BYTES], large[LARGE];
    static char room[LARGE + MPI_BSEND_OVERHEAD];
    int i;

    MPI_Buffer_attach(room, sizeof room);
    for (i = 0; i < MESSAGES; i++) {
        fill(data[i], BYTES, i);
        MPI_Send(data[i], BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
    fill(large, LARGE, 99);
    MPI_Bsend(large, LARGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static char data[LARGE];
    struct timespec nap = {0, 300000000};
    int i, source;

    begin(&argc, &argv);
    if (rank > 0) {
        send_and_leave();
        return end();
    }
    nanosleep(&nap, NULL);
    for (source = size - 1; source > 0; source--) {
        for (i = 0; i < MESSAGES; i++) {
            MPI_Recv(data, LARGE, MPI_BYTE, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_FILLED(data, BYTES, i);
        }
        MPI_Recv(data, LARGE, MPI_BYTE, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_FILLED(data, LARGE, 99);
    }
    return end();
}
