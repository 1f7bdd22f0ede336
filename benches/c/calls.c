/* The calls whose instructions are counted: one process, messages of 8 bytes to itself. A function
   for each call and situation, by the names of tests/instructions.table. Prints nothing. */
#include <mpi.h>

/* The compiler leaves the function as it is, under its name. */
#define COUNTED __attribute__((noipa))

enum { ROUNDS = 1000, WINDOW = 64, TAG = 7, BYTES = 8 };

static char out[BYTES], in[BYTES];
static MPI_Request requests[2 * WINDOW];

COUNTED static void send_standard(void)
{
    MPI_Send(out, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

COUNTED static void receive_unexpected(void)
{
    MPI_Status status;

    MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
}

COUNTED static void start_send(MPI_Request *request)
{
    MPI_Isend(out, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, request);
}

COUNTED static void start_receive(MPI_Request *request)
{
    MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, request);
}

COUNTED static void test_pending(MPI_Request *request)
{
    int flag;

    MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

COUNTED static void wait_for_message(MPI_Request *request)
{
    MPI_Status status;

    MPI_Wait(request, &status);
}

COUNTED static void wait_for_finished_send(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

COUNTED static void wait_for_window(void)
{
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
}

/* Collectives of one process: what they cost beside the messages. */
COUNTED static void barrier_alone(void)
{
    MPI_Barrier(MPI_COMM_SELF);
}

COUNTED static void bcast_alone(void)
{
    MPI_Bcast(out, BYTES, MPI_BYTE, 0, MPI_COMM_SELF);
}

COUNTED static void allreduce_alone(void)
{
    MPI_Allreduce(out, in, BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_SELF);
}

int main(int argc, char **argv)
{
    int i, j;

    MPI_Init(&argc, &argv);
    for (i = 0; i < ROUNDS; i++) {
        send_standard();
        receive_unexpected();
        start_receive(&requests[0]);
        test_pending(&requests[0]);
        start_send(&requests[1]);
        wait_for_message(&requests[0]);
        wait_for_finished_send(&requests[1]);
        barrier_alone();
        bcast_alone();
        allreduce_alone();
    }
    for (i = 0; i < ROUNDS / WINDOW; i++) {
        for (j = 0; j < WINDOW; j++)
            MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[j]);
        for (; j < 2 * WINDOW; j++)
            MPI_Isend(out, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[j]);
        wait_for_window();
    }
    MPI_Finalize();
    return 0;
}
