/* What a peer costs: mpirun -n 8 connections
 *
 * Each rank exchanges a message of 64 bytes with each other, twice. Prints of rank 0
 * "resident: KIB" at the end, "grown: KIB per peer" since MPI_Init, and "descriptors: N" that are
 * open. What the kernel keeps for its sockets is not in it.
 */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG = 1, TURNS = 2, BYTES = 64 };

/* Resident memory of this process in KiB. */
static double resident_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return (double)kib;
}

/* Descriptors that are open, without the one that looks. */
static int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    int count = -1;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        count += entry->d_name[0] != '.';
    if (folder != NULL)
        closedir(folder);
    return count;
}

static void exchange(int rank, int size)
{
    char out[BYTES] = {0}, in[BYTES];
    int step;

    for (step = 1; step < size; step++)
        MPI_Sendrecv(out, BYTES, MPI_BYTE, (rank + step) % size, TAG, in, BYTES, MPI_BYTE,
                     (rank + size - step) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size, turn;
    double before, after;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    before = resident_kib();
    for (turn = 0; turn < TURNS; turn++)
        exchange(rank, size);
    after = resident_kib();
    if (rank == 0)
        printf("resident: %.0f\ngrown: %.2f\ndescriptors: %d\n", after,
               size > 1 ? (after - before) / (size - 1) : 0, descriptors());
    MPI_Finalize();
    return 0;
}
