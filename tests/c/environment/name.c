/* ranks: 1, 3; transports: one; MPI 5.0 9.1.2 */
/* The processor name is a non-empty string of the length told. */
#include "../check.h"

int main(int argc, char **argv)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = -1;

    begin(&argc, &argv);
    memset(name, '#', sizeof name);
    MPI_Get_processor_name(name, &length);
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME, "a length, not %d", length);
    CHECK(memchr(name, 0, sizeof name) == name + length, "the name to end after %d", length);
    return end();
}
