/* ranks: 2, 3; transports: all; MPI 5.0 3.6.1 */
/* The attached buffer has room for one round of messages. Each round is received before a barrier,
 * so the next one finds the buffer empty, whichever call sends it and however long it is. */
#include "../check.h"

enum { MESSAGES = 8, ROUNDS = 100, MOST = 40000, LENGTHS = 3 };

static char data[MOST];

static void send_one(int round, int bytes)
{
    MPI_Request request;

    switch (round % 3) {
    case 0:
        MPI_Bsend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        return;
    case 1:
        MPI_Ibsend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        break;
    default:
        MPI_Bsend_init(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (round % 3 == 2)
        MPI_Request_free(&request);
}

static void rounds(int bytes)
{
    int round, i, room = MESSAGES * (bytes + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)room), *address;

    if (rank == 0)
        MPI_Buffer_attach(buffer, room);
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < MESSAGES; i++)
            if (rank == 0)
                send_one(round, bytes);
            else if (rank == 1)
                MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) {
        MPI_Buffer_detach(&address, &room);
        CHECK(address == buffer, "the attached buffer");
    }
    free(buffer);
}

/* A message for which the buffer is too short fails, though others leave it. */
static void no_room(void)
{
    static char room[100 + MPI_BSEND_OVERHEAD];
    void *address;
    int bytes, code;

    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(data, 10, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Bsend(data, sizeof room, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK_INT(class_of(code), MPI_ERR_BUFFER);
    MPI_Buffer_detach(&address, &bytes);
}

int main(int argc, char **argv)
{
    static const int bytes[LENGTHS] = {64, 4000, MOST};
    int i;

    begin(&argc, &argv);
    for (i = 0; i < LENGTHS; i++)
        rounds(bytes[i]);
    if (rank == 0)
        no_room();
    if (rank == 1)
        MPI_Recv(data, MOST, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}
