/* One way, 16 messages in flight, in MB/s: mpirun -n 2 bandwidth BYTES... */
enum { WINDOW = 16 };
#include "window.h"

int main(int argc, char **argv)
{
    int i;

    begin(argc, argv);
    for (i = 1; i < argc; i++) {
        int bytes = atoi(argv[i]), rounds = bytes <= 8192 ? 100 : bytes <= 262144 ? 20 : 3;
        double seconds = measure(batch, bytes, rounds);

        report(bytes, (double)bytes * WINDOW * rounds / seconds / 1e6);
    }
    MPI_Finalize();
    return 0;
}
