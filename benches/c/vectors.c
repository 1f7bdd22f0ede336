/* Half of a round trip of 4 MiB in blocks with gaps as long as the blocks, in microseconds, by the
 * bytes of a block: mpirun -n 2 vectors CASE BYTES...
 *
 * CASE says which side has the gaps: "both", the "sender" alone, the "receiver" alone or "none":
 * the same bytes without gaps. */
#include "measure.h"

enum { TOTAL = 4 << 20 };

static MPI_Datatype sent, received;

static void batch(char *buffer, int bytes, int rounds)
{
    int i, count[2];

    (void)bytes;
    count[0] = sent == MPI_BYTE ? TOTAL : 1;
    count[1] = received == MPI_BYTE ? TOTAL : 1;
    for (i = 0; i < rounds; i++) {
        if (rank == 0)
            MPI_Send(buffer, count[0], sent, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(buffer, count[1], received, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, count[0], sent, 0, TAG, MPI_COMM_WORLD);
    }
}

/* Ends the job if no such case exists. */
static void check_case(const char *who)
{
    if (strcmp(who, "both") == 0 || strcmp(who, "sender") == 0 || strcmp(who, "receiver") == 0 ||
        strcmp(who, "none") == 0)
        return;
    fprintf(stderr, "CASE is both, sender, receiver or none, and not '%s'\n", who);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int has_gaps(const char *who, const char *side)
{
    return strcmp(who, "both") == 0 || strcmp(who, side) == 0;
}

int main(int argc, char **argv)
{
    const char *who = argc > 1 ? argv[1] : "";
    int i, rounds = 10;

    begin(argc, argv);
    check_case(who);
    for (i = 2; i < argc; i++) {
        int block = atoi(argv[i]);
        MPI_Datatype vector;

        MPI_Type_vector(TOTAL / block, block, 2 * block, MPI_BYTE, &vector);
        MPI_Type_commit(&vector);
        sent = has_gaps(who, "sender") ? vector : MPI_BYTE;
        received = has_gaps(who, "receiver") ? vector : MPI_BYTE;
        report(block, measure(batch, 2 * TOTAL, rounds) / rounds / 2 * 1e6);
        MPI_Type_free(&vector);
    }
    MPI_Finalize();
    return 0;
}
