/* ranks: 1, 2; transports: one; arguments: first "two words" -x; MPI 5.0 11.2.1 */
/* MPI_Init(NULL, NULL) is fine, and the program's own arguments arrive untouched. */
#include "../check.h"

int main(int argc, char **argv)
{
    begin(NULL, NULL);
    CHECK_INT(argc, 4);
    CHECK(strcmp(argv[1], "first") == 0, "argument 1 to be `first`, not `%s`", argv[1]);
    CHECK(strcmp(argv[2], "two words") == 0, "argument 2 to be `two words`, not `%s`", argv[2]);
    CHECK(strcmp(argv[3], "-x") == 0, "argument 3 to be `-x`, not `%s`", argv[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    return end();
}
