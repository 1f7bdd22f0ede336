/* ranks: 2; transports: all; MPI 5.0 3.6 */
/* Buffered sends return at once, whatever the receiver does; the buffer is honest. */
#include "../check.h"

enum { TAG = 3, BYTES = 200000, MESSAGES = 4 };

/* Both send first and receive afterwards: only a buffered send may be relied on here. */
static void both_send_first(char *data)
{
    int i, other = 1 - rank;
    MPI_Status status;

    for (i = 0; i < MESSAGES; i++) {
        fill(data, BYTES, 10 * rank + i);
        MPI_Bsend(data, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        memset(data, 0, BYTES);
    }
    for (i = 0; i < MESSAGES; i++) {
        MPI_Recv(data, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, other, TAG, BYTES);
        CHECK_FILLED(data, BYTES, 10 * other + i);
    }
}

static void overflow_is_an_error(char *data)
{
    int code, detached;
    char small[64 + MPI_BSEND_OVERHEAD];
    void *address = NULL;

    MPI_Buffer_attach(small, sizeof small);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Bsend(data, BYTES, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD);
    CHECK_INT(class_of(code), MPI_ERR_BUFFER);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Buffer_detach(&address, &detached);
    CHECK(address == small, "detach to give back the address that was attached");
}

int main(int argc, char **argv)
{
    int detached = 0, room = MESSAGES * (BYTES + MPI_BSEND_OVERHEAD);
    char *data = malloc(BYTES), *attached = malloc(room);
    void *address = NULL;

    begin(&argc, &argv);
    MPI_Buffer_attach(attached, room);
    both_send_first(data);
    MPI_Buffer_detach(&address, &detached);
    MPI_Buffer_attach(attached, room);
    both_send_first(data);
    MPI_Buffer_detach(&address, &detached);
    CHECK(address == attached, "detach to give back the address that was attached");
    CHECK_INT(detached, room);
    overflow_is_an_error(data);
    free(attached);
    free(data);
    return end();
}
