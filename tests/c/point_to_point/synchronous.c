/* ranks: 2; transports: all; MPI 5.0 3.4 */
/* A synchronous send completes only after the receiver has begun to receive it. */
#include "../check.h"

enum { DATA = 1, GO = 2, PATIENCE = 2000 };

static void send_first(char *data, int bytes)
{
    MPI_Request request;
    int i, done;

    MPI_Issend(data, bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &request);
    for (i = 0; i < PATIENCE; i++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        CHECK(!done, "no synchronous send to complete before the matching receive starts");
    }
    MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 1000, 100000, 2000000};
    char *data = malloc(2000000);
    unsigned i;

    begin(&argc, &argv);
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (rank == 0) {
            fill(data, sizes[i], i);
            send_first(data, sizes[i]);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(data, sizes[i], MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_FILLED(data, sizes[i], i);
        }
    }
    free(data);
    return end();
}
