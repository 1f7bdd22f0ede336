/* Rank 0 gives one integer per process where the call named by the argument takes ten; the others
 * give ten. */
#include "../check.h"

enum { MOST = 16, COUNT = 10 };

static int sends[MOST * COUNT], receives[MOST * COUNT], counts[MOST], takes[MOST], places[MOST];

int main(int argc, char **argv)
{
    int count, who;
    const char *what;
    MPI_Comm comm = MPI_COMM_WORLD;

    begin(&argc, &argv);
    what = argv[1];
    count = rank == 0 ? 1 : COUNT;
    for (who = 0; who < size; who++) {
        counts[who] = count;
        takes[who] = COUNT;
        places[who] = who * COUNT;
    }
    if (strcmp(what, "allgather") == 0)
        MPI_Allgather(sends, count, MPI_INT, receives, COUNT, MPI_INT, comm);
    else if (strcmp(what, "allgatherv") == 0)
        MPI_Allgatherv(sends, count, MPI_INT, receives, takes, places, MPI_INT, comm);
    else if (strcmp(what, "alltoall") == 0)
        MPI_Alltoall(sends, count, MPI_INT, receives, COUNT, MPI_INT, comm);
    else if (strcmp(what, "alltoallv") == 0)
        MPI_Alltoallv(sends, counts, places, MPI_INT, receives, takes, places, MPI_INT, comm);
    else if (strcmp(what, "gather") == 0)
        MPI_Gather(sends, count, MPI_INT, receives, COUNT, MPI_INT, 0, comm);
    else if (strcmp(what, "scatter") == 0)
        MPI_Scatter(sends, count, MPI_INT, receives, COUNT, MPI_INT, 0, comm);
    else
        CHECK(0, "the name of a collective, not %s", what);
    return end();
}
