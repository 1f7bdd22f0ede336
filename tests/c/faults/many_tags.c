/* Rank 0 sends 200 messages to rank 1, each with a tag of its own. */
#include "../check.h"

int main(int argc, char **argv)
{
    int tag, value;

    begin(&argc, &argv);
    for (tag = 0; tag < 200; tag++) {
        value = tag;
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_INT(value, tag);
        }
    }
    return end();
}
