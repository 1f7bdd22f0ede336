/* ranks: 2; transports: all; MPI 5.0 3.6 */
/* Buffer_detach returns only when every buffered message has left the buffer, and the data
 * arrive whole even when the sender scribbles over the buffer at once. */
#include "../check.h"

enum { TAG = 3, BYTES = 1000000 };

int main(int argc, char **argv)
{
    int detached, room = BYTES + MPI_BSEND_OVERHEAD;
    char *data = malloc(BYTES), *attached = malloc(room);
    MPI_Request request;

    begin(&argc, &argv);
    if (rank == 0) {
        MPI_Buffer_attach(attached, room);
        fill(data, BYTES, 5);
        MPI_Ibsend(data, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Buffer_detach(&attached, &detached);
        memset(attached, 0, room);
        memset(data, 0, BYTES);
    } else {
        MPI_Recv(data, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_FILLED(data, BYTES, 5);
    }
    free(attached);
    free(data);
    return end();
}
