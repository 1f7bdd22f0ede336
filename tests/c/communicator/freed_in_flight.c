/* ranks: 1, 2; transports: all; MPI 5.0 7.4.3 */
/* Comm_free only marks: operations under way on the communicator complete as usual. */
#include "../check.h"

enum { TAG = 1, BYTES = 200000 };

int main(int argc, char **argv)
{
    static char out[BYTES], in[BYTES];
    MPI_Request requests[2];
    MPI_Comm comm;
    MPI_Status statuses[2];

    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    fill(out, BYTES, rank);
    MPI_Irecv(in, BYTES, MPI_BYTE, (rank + size - 1) % size, TAG, comm, &requests[0]);
    MPI_Isend(out, BYTES, MPI_BYTE, (rank + 1) % size, TAG, comm, &requests[1]);
    MPI_Comm_free(&comm);
    CHECK(comm == MPI_COMM_NULL, "MPI_COMM_NULL after Comm_free");
    MPI_Waitall(2, requests, statuses);
    CHECK_STATUS(statuses[0], (rank + size - 1) % size, TAG, BYTES);
    CHECK_FILLED(in, BYTES, (rank + size - 1) % size);
    return end();
}
