/* ranks: 2; transports: all; MPI 5.0 3.4, 3.6, 3.7.2, 3.9 */
/* Four send modes, each blocking, nonblocking and persistent, over many sizes. */
#include "../check.h"

enum { TAG = 7, GO = 8, LARGEST = 300000 };
enum mode { STANDARD, SYNCHRONOUS, BUFFERED, READY, MODES };
enum kind { BLOCKING, NONBLOCKING, PERSISTENT, KINDS };

static const int sizes[] = {0, 1, 8, 64, 1000, 1472, 1473, 8192, 65536, LARGEST};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

typedef int blocking_send(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int starting_send(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static blocking_send *const blocking[MODES] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static starting_send *const nonblocking[MODES] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static starting_send *const persistent[MODES] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init,
                                                 MPI_Rsend_init};

static void send(enum mode mode, enum kind kind, const void *data, int bytes)
{
    MPI_Request request;

    if (kind == BLOCKING) {
        blocking[mode](data, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        return;
    }
    (kind == PERSISTENT ? persistent : nonblocking)[mode](data, bytes, MPI_BYTE, 1, TAG,
                                                          MPI_COMM_WORLD, &request);
    if (kind == PERSISTENT)
        MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (kind == PERSISTENT)
        MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL, "the request to be MPI_REQUEST_NULL after completion");
}

/* The receive is posted before GO, so that ready mode is legal. */
static void receive(void *data, int bytes, unsigned seed)
{
    MPI_Request request;
    MPI_Status status;

    memset(data, 0, LARGEST);
    MPI_Irecv(data, LARGEST, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    CHECK_STATUS(status, 0, TAG, bytes);
    CHECK_FILLED(data, bytes, seed);
}

int main(int argc, char **argv)
{
    char *data = malloc(LARGEST), *attached = malloc(LARGEST + MPI_BSEND_OVERHEAD);
    int mode, kind, i, detached;
    unsigned seed = 0;

    begin(&argc, &argv);
    MPI_Buffer_attach(attached, LARGEST + MPI_BSEND_OVERHEAD);
    for (mode = 0; mode < MODES; mode++)
        for (kind = 0; kind < KINDS; kind++)
            for (i = 0; i < SIZES; i++) {
                seed++;
                if (rank == 1) {
                    receive(data, sizes[i], seed);
                    continue;
                }
                fill(data, sizes[i], seed);
                MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                send(mode, kind, data, sizes[i]);
                if (mode == BUFFERED) { /* room for the next one: wait until this has gone */
                    MPI_Buffer_detach(&attached, &detached);
                    MPI_Buffer_attach(attached, detached);
                }
            }
    MPI_Buffer_detach(&attached, &detached);
    free(attached);
    free(data);
    return end();
}
