/* ranks: 1; table: no; MPI 5.0 11.2.1, 11.4 */
/* Calls at the wrong time: before Init, after Finalize, Init or Finalize twice. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *stage = argc > 1 ? argv[1] : "";
    int x = 0, provided;

    if (strcmp(stage, "send_before_init") == 0)
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (strcmp(stage, "rank_before_init") == 0)
        MPI_Comm_rank(MPI_COMM_WORLD, &x);
    if (strcmp(stage, "finalize_before_init") == 0)
        MPI_Finalize();
    MPI_Init(&argc, &argv);
    if (strcmp(stage, "init_twice") == 0)
        MPI_Init(&argc, &argv);
    if (strcmp(stage, "init_thread_after_init") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Finalize();
    if (strcmp(stage, "barrier_after_finalize") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(stage, "send_after_finalize") == 0)
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (strcmp(stage, "finalize_twice") == 0)
        MPI_Finalize();
    if (strcmp(stage, "init_after_finalize") == 0)
        MPI_Init(&argc, &argv);
    printf("%s came back\n", stage);
    return 0;
}
