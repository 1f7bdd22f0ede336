/* Messages per second, one way, 64 in flight: mpirun -n 2 rate BYTES... */
enum { WINDOW = 64, ROUNDS = 100 };
#include "window.h"

int main(int argc, char **argv)
{
    int i;

    begin(argc, argv);
    for (i = 1; i < argc; i++) {
        int bytes = atoi(argv[i]);

        report(bytes, WINDOW * (double)ROUNDS / measure(batch, bytes, ROUNDS));
    }
    MPI_Finalize();
    return 0;
}
