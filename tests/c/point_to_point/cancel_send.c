/* ranks: 1, 2; transports: all; MPI 5.0 3.8.4 */
/* A send is cancelled or complete, never both, and waiting for it returns whatever the receiver
 * does: one that nothing has matched is taken back and never seen; one that is matched arrives. */
#include "../check.h"

enum { TAG = 5, LAST = 6, SYNC = 7, LARGEST = 1 << 20, MANY = 300 };

static unsigned char *data, *room;
static const int lengths[] = {0, 8, 3000, 20000, 70000, LARGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };
static int to, from;

/* Nonblocking and persistent sends of each mode but the buffered one, by number. */
static void start(int mode, int bytes, int tag, MPI_Request *request)
{
    typedef int send(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    static send *const sends[] = {MPI_Isend,     MPI_Issend,     MPI_Irsend,
                                  MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init};

    sends[mode](data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
    if (mode >= 3)
        MPI_Start(request);
}

static int is_synchronous(int mode)
{
    return mode % 3 == 1;
}

static int end_cancelled(MPI_Request *request, int mode)
{
    MPI_Status status;
    int cancelled, flag = 0;

    MPI_Cancel(request);
    if (mode % 2)
        while (!flag)
            MPI_Test(request, &flag, &status);
    else
        MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (mode >= 3) {
        CHECK(*request != MPI_REQUEST_NULL, "a persistent request to live on");
        MPI_Request_free(request);
    }
    return cancelled;
}

/* The sender tells how many of its messages are still to come: exactly that many come. */
static void unmatched(int mode, int bytes)
{
    int cancelled, there, count = 0, i, wanted;
    MPI_Request request;
    MPI_Status status;

    if (rank == 0) {
        for (i = 0; i < 3; i++) {
            fill(data, (size_t)bytes, (unsigned)mode);
            start(mode, bytes, TAG, &request);
            cancelled = end_cancelled(&request, mode);
            CHECK(cancelled || !is_synchronous(mode), "a synchronous send without match to be "
                  "cancelled: mode %d, %d bytes", mode, bytes);
            CHECK(cancelled || bytes < LARGEST, "a long send to be taken back, mode %d", mode);
            count += !cancelled;
            memset(data, 0, (size_t)bytes);
        }
        MPI_Send(&count, 1, MPI_INT, to, LAST, MPI_COMM_WORLD);
    }
    if (rank == size - 1) {
        MPI_Recv(&wanted, 1, MPI_INT, from, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = 0; i < wanted; i++) {
            MPI_Recv(room, bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &status);
            CHECK_STATUS(status, from, TAG, bytes);
            CHECK_FILLED(room, (size_t)bytes, (unsigned)mode);
        }
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
        CHECK(!there, "no message that was cancelled: mode %d, %d bytes", mode, bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A posted receive has its message: the send is not cancelled. */
static void matched(int mode, int bytes)
{
    MPI_Request request, receive = MPI_REQUEST_NULL;
    MPI_Status status;
    int word = 0;

    if (rank == size - 1) {
        MPI_Irecv(room, bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &receive);
        if (size > 1)
            MPI_Send(&word, 1, MPI_INT, 0, LAST, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        if (size > 1)
            MPI_Recv(&word, 1, MPI_INT, 1, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fill(data, (size_t)bytes, (unsigned)mode);
        start(mode, bytes, TAG, &request);
        CHECK_INT(end_cancelled(&request, mode), 0);
    }
    if (rank == size - 1) {
        MPI_Wait(&receive, &status);
        CHECK_STATUS(status, from, TAG, bytes);
        CHECK_FILLED(room, (size_t)bytes, (unsigned)mode);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Every second of many is taken back; the others come in their order. */
static void one_of_many(int bytes)
{
    static MPI_Request requests[MANY];
    static MPI_Status statuses[MANY];
    int i, cancelled, value;

    if (rank == 0) {
        for (i = 0; i < MANY; i++)
            MPI_Issend(data, i % 2 ? bytes : i, MPI_BYTE, to, SYNC, MPI_COMM_WORLD, &requests[i]);
        for (i = 1; i < MANY; i += 2)
            MPI_Cancel(&requests[i]);
        for (i = 1; i < MANY; i += 2) {
            MPI_Wait(&requests[i], &statuses[i]);
            MPI_Test_cancelled(&statuses[i], &cancelled);
            CHECK_INT(cancelled, 1);
        }
        if (size > 1)
            MPI_Send(&bytes, 1, MPI_INT, to, LAST, MPI_COMM_WORLD);
    }
    if (rank == size - 1) {
        if (size > 1)
            MPI_Recv(&value, 1, MPI_INT, from, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = 0; i < MANY; i += 2) {
            MPI_Recv(room, LARGEST, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &statuses[i]);
            CHECK_STATUS(statuses[i], from, SYNC, i);
        }
    }
    if (rank == 0)
        MPI_Waitall(MANY, requests, statuses);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A message that a matched probe has taken is matched. */
static void probed(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int word = 0;

    if (size == 1)
        return;
    if (rank == 0) {
        fill(data, 100, 9);
        MPI_Issend(data, 100, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request);
        MPI_Recv(&word, 1, MPI_INT, 1, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(end_cancelled(&request, 0), 0);
    } else {
        MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Send(&word, 1, MPI_INT, 0, LAST, MPI_COMM_WORLD);
        MPI_Mrecv(room, 100, MPI_BYTE, &message, &status);
        CHECK_FILLED(room, 100, 9);
    }
}

/* All of it is local to this process: one look is enough, and so is one test. */
static void to_oneself(int bytes, int matched)
{
    MPI_Request request, receive = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0, cancelled = -1;

    if (matched)
        MPI_Irecv(room, bytes, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &receive);
    MPI_Issend(data, bytes, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &request);
    if (!matched)
        MPI_Probe(0, TAG, MPI_COMM_SELF, &status);
    MPI_Cancel(&request);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(flag, "a cancelled send of %d bytes to oneself to be complete at once", bytes);
    MPI_Test(&request, &flag, &status);
    CHECK(flag, "the test of a cancelled send of %d bytes to find it complete", bytes);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK_INT(cancelled, !matched);
    MPI_Wait(&receive, &status);
}

int main(int argc, char **argv)
{
    int mode, i;

    begin(&argc, &argv);
    to = size - 1, from = 0;
    data = malloc(LARGEST);
    room = malloc(LARGEST);
    for (mode = 0; mode < 6; mode++)
        for (i = 0; i < LENGTHS; i++) {
            unmatched(mode, lengths[i]);
            matched(mode, lengths[i]);
        }
    for (i = 0; i < LENGTHS; i++) {
        to_oneself(lengths[i], 0);
        to_oneself(lengths[i], 1);
    }
    one_of_many(10);
    one_of_many(LARGEST);
    probed();
    free(data);
    free(room);
    return end();
}
