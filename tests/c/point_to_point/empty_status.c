/* ranks: 1; transports: all; MPI 5.0 3.7.3, 3.7.5, 3.7.6 */
/* Null and inactive requests complete with an empty status, whose MPI_ERROR is MPI_SUCCESS; the
 * MPI_ERROR of a real operation stays as it was where a call completes one operation. */
#include "../check.h"

enum { BEFORE = 16 };

static MPI_Status status, statuses[3];

#define CHECK_EMPTY(call)                        \
    do {                                         \
        memset(&status, 0x55, sizeof status);    \
        status.MPI_ERROR = BEFORE;               \
        CHECK_INT(call, MPI_SUCCESS);            \
        CHECK_EMPTY_STATUS(status);              \
        CHECK_INT(status.MPI_ERROR, MPI_SUCCESS); \
    } while (0)

#define CHECK_ALL_EMPTY(call)                             \
    do {                                                  \
        int k_;                                           \
        memset(statuses, 0x55, sizeof statuses);          \
        CHECK_INT(call, MPI_SUCCESS);                     \
        for (k_ = 0; k_ < 2; k_++) {                      \
            CHECK_EMPTY_STATUS(statuses[k_]);             \
            CHECK_INT(statuses[k_].MPI_ERROR, MPI_SUCCESS); \
        }                                                 \
    } while (0)

int main(int argc, char **argv)
{
    int value = 1, other = 0, flag, index, turn;
    MPI_Request persistent, requests[3];

    begin(&argc, &argv);
    MPI_Send_init(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &persistent);
    for (turn = 0; turn < 2; turn++) {
        requests[0] = requests[1] = turn ? persistent : MPI_REQUEST_NULL;
        CHECK_EMPTY(MPI_Wait(&requests[0], &status));
        CHECK_EMPTY(MPI_Test(&requests[0], &flag, &status));
        CHECK_EMPTY(MPI_Waitany(2, requests, &index, &status));
        CHECK_EMPTY(MPI_Testany(2, requests, &index, &flag, &status));
        CHECK_EMPTY(MPI_Request_get_status(requests[0], &flag, &status));
        CHECK_EMPTY(MPI_Request_get_status_any(2, requests, &index, &flag, &status));
        CHECK_ALL_EMPTY(MPI_Waitall(2, requests, statuses));
        CHECK_ALL_EMPTY(MPI_Testall(2, requests, &flag, statuses));
        CHECK_ALL_EMPTY(MPI_Request_get_status_all(2, requests, &flag, statuses));
    }
    MPI_Irecv(&other, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Start(&persistent);
    status.MPI_ERROR = BEFORE;
    MPI_Wait(&persistent, &status);
    CHECK_INT(status.MPI_ERROR, BEFORE);
    MPI_Wait(&requests[0], &status);
    CHECK_INT(status.MPI_ERROR, BEFORE);
    CHECK_INT(other, 1);
    MPI_Request_free(&persistent);
    return end();
}
