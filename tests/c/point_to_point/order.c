/* ranks: 2, 4; transports: all; MPI 5.0 3.5 */
/* Messages do not overtake each other, whatever their lengths and however they are received. */
#include "../check.h"

enum { TAG = 4, MESSAGES = 300, LONGEST = 40000 };

/* Short and long in turn, so that a short one has every chance to overtake. */
static int length_of(int i)
{
    return i % 3 == 0 ? LONGEST - i : i % 3 == 1 ? 4 : 1500 + i;
}

static void send_all(void)
{
    static char data[MESSAGES][LONGEST];
    MPI_Request requests[MESSAGES];
    int i;

    for (i = 0; i < MESSAGES; i++) {
        fill(data[i], length_of(i), i);
        if (i % 2)
            MPI_Isend(data[i], length_of(i), MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Issend(data[i], length_of(i), MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

/* Half of the receives name the tag, half do not: the order must be the same. */
static void receive_all(int source)
{
    static char data[MESSAGES][LONGEST];
    MPI_Request requests[MESSAGES];
    MPI_Status statuses[MESSAGES];
    int i;

    for (i = 0; i < MESSAGES; i++)
        MPI_Irecv(data[i], LONGEST, MPI_BYTE, source, i % 2 ? TAG : MPI_ANY_TAG, MPI_COMM_WORLD,
                  &requests[i]);
    MPI_Waitall(MESSAGES, requests, statuses);
    for (i = 0; i < MESSAGES; i++) {
        CHECK_STATUS(statuses[i], source, TAG, length_of(i));
        CHECK_FILLED(data[i], length_of(i), i);
    }
}

int main(int argc, char **argv)
{
    int source;

    begin(&argc, &argv);
    if (rank == 0)
        for (source = 1; source < size; source++)
            receive_all(source);
    else
        send_all();
    return end();
}
