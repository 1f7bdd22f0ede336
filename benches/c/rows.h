/* What programs share that measure several things, a row each, and say why one has no figure. */
#ifndef ROWS_H
#define ROWS_H

#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* Rank 0 says so if any rank had this error; answers whether one had. Without `name` the error is
 * about all rows. */
static inline int is_refused(const char *name, int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int class = MPI_SUCCESS, worst, length, rank;

    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &class);
    MPI_Allreduce(&class, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (worst == MPI_SUCCESS)
        return 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Error_string(worst, text, &length);
        text[strcspn(text, "\n")] = '\0';
        printf("%s%srefused: %s\n", name == NULL ? "" : name, name == NULL ? "" : ": ", text);
        fflush(stdout);
    }
    return 1;
}

/* Whether this row is named behind the first word, or none is. */
static inline int is_wanted(const char *name, int argc, char **argv)
{
    int i;

    for (i = 2; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc < 3;
}

#endif
