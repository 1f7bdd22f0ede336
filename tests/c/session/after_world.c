/* ranks: 1, 3; transports: one; MPI 5.0 11.2, 11.3 */
/* Sessions that begin after MPI_Finalize, when the ranks have left the job: they communicate, and
 * a rank without one does not keep the others. */
#include "../check.h"

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group all, pair;
    MPI_Comm comm;
    int turn, ranks[2] = {0, 1}, me, sum;
    static char out[100000], in[100000];

    begin(&argc, &argv);
    MPI_Finalize();
    if (rank > 1)
        return 0;
    for (turn = 0; turn < 2; turn++) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
        MPI_Group_incl(all, size < 2 ? 1 : 2, ranks, &pair);
        MPI_Comm_create_from_group(pair, "pair", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
        MPI_Comm_rank(comm, &me);
        CHECK_INT(me, rank);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK_INT(sum, size < 2 ? 0 : 1);
        if (size > 1) {
            fill(out, sizeof out, me);
            MPI_Sendrecv(out, sizeof out, MPI_BYTE, 1 - me, 0, in, sizeof in, MPI_BYTE, 1 - me, 0,
                         comm, MPI_STATUS_IGNORE);
            CHECK_FILLED(in, sizeof in, 1 - me);
        }
        MPI_Comm_free(&comm);
        MPI_Group_free(&all);
        MPI_Group_free(&pair);
        MPI_Session_finalize(&session);
    }
    return 0;
}
