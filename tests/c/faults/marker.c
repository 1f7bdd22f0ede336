/* Sends a word to and fro, again and again: `marker WORD`. Prints "sent" when all have it. */
#include "../check.h"
#include <string.h>

enum { ROUNDS = 200, BYTES = 64 };

int main(int argc, char **argv)
{
    char out[BYTES] = "", in[BYTES];
    int round, right, left;

    begin(&argc, &argv);
    strncpy(out, argv[1], BYTES - 1);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (round = 0; round < ROUNDS; round++) {
        MPI_Sendrecv(out, BYTES, MPI_CHAR, right, 1, in, BYTES, MPI_CHAR, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(strcmp(in, out) == 0, "the word, not %s", in);
    }
    printf("sent to %d of %d\n", right, size);
    return end();
}
