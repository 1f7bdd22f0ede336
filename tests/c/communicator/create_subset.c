/* ranks: 4; transports: all; MPI 5.0 7.4.2 */
/* The group of a new communicator is a part of the old one's; another group is an error for the
 * ranks that give it, and nobody waits for them. */
#include "../check.h"

int main(int argc, char **argv)
{
    int first[1] = {0}, members;
    MPI_Comm half, made = MPI_COMM_WORLD;
    MPI_Group all, own, one;

    begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(half, &own);
    MPI_Group_incl(own, 1, first, &one);
    CHECK_INT(class_of(MPI_Comm_create(half, all, &made)), MPI_ERR_GROUP);
    /* Each gives another group: the second one a wrong one. */
    if (rank % 2 == 0) {
        CHECK_INT(MPI_Comm_create(half, one, &made), MPI_SUCCESS);
        MPI_Comm_size(made, &members);
        CHECK_INT(members, 1);
        MPI_Comm_free(&made);
    } else {
        CHECK_INT(class_of(MPI_Comm_create(half, all, &made)), MPI_ERR_GROUP);
    }
    CHECK_INT(MPI_Comm_create(half, own, &made), MPI_SUCCESS);
    MPI_Comm_size(made, &members);
    CHECK_INT(members, 2);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
    MPI_Comm_free(&half);
    return end();
}
