/* ranks: 2, 5; transports: all; MPI 5.0 7.4.3 */
/* Making and freeing communicators all day long runs out of nothing; many live at once. */
#include "../check.h"

enum { ALIVE = 60, ROUNDS = 400 };

int main(int argc, char **argv)
{
    MPI_Comm comms[ALIVE], passing;
    int i, round, sum;

    begin(&argc, &argv);
    for (i = 0; i < ALIVE; i++)
        MPI_Comm_dup(i % 7 ? comms[i - 1] : MPI_COMM_WORLD, &comms[i]);
    for (round = 0; round < ROUNDS; round++) {
        if (round % 3)
            MPI_Comm_dup(comms[round % ALIVE], &passing);
        else
            MPI_Comm_split(comms[round % ALIVE], 0, rank, &passing);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, passing);
        CHECK_INT(sum, size * (size - 1) / 2);
        MPI_Comm_free(&passing);
    }
    for (i = 0; i < ALIVE; i++) {
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_MAX, comms[i]);
        CHECK_INT(sum, i);
        MPI_Comm_free(&comms[i]);
    }
    return end();
}
