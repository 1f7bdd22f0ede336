/* A table of wrong calls, and the three ways to go through it.
 *
 *     program list          prints "case function" for each case, without MPI
 *     program return        every case under MPI_ERRORS_RETURN: the right class comes back, and
 *                           after each of them the job still sends and receives
 *     program fatal CASE    the last rank makes the call under the default handler, the others
 *                           are blocked in a receive: one clear line, and the job ends
 *
 * Those calls whose fault is that of a peer or of a collective are made in a job of two ranks, the
 * others alone.
 *
 * A program defines CASES(X) as a list of X(case, function, class, call) and includes this.
 */
#ifndef TABLE_H
#define TABLE_H

#include "../check.h"

struct bad_call {
    const char *name, *function;
    int class;
    int (*make)(void);
};

#define BAD_CALL_BODY(name, function, class, call) \
    static int name(void)                          \
    {                                              \
        return call;                               \
    }
#define BAD_CALL_ROW(name, function, class, call) {#name, #function, class, name},

/* The job is as good as before: a message there and back. */
static void still_alive(void)
{
    int value = rank, got = -1, other = size - 1 - rank;

    MPI_Sendrecv(&value, 1, MPI_INT, other, 4711, &got, 1, MPI_INT, other, 4711, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_INT(got, other);
}

static void go_through(const struct bad_call *calls, int count)
{
    int i, class;
    char text[MPI_MAX_ERROR_STRING];
    int length;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (i = 0; i < count; i++) {
        if (rank == size - 1) {
            class = class_of(calls[i].make());
            MPI_Error_string(class, text, &length);
            CHECK(class == calls[i].class, "%s: %s to return class %d, not %d (%s)",
                  calls[i].name, calls[i].function, calls[i].class, class, text);
        }
        still_alive();
    }
}

static void make_fatal(const struct bad_call *calls, int count, const char *name)
{
    int i, never;

    if (rank < size - 1)
        MPI_Recv(&never, 1, MPI_INT, size - 1, 4712, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 0; i < count; i++)
        if (strcmp(calls[i].name, name) == 0) {
            calls[i].make();
            printf("%s came back\n", calls[i].function);
            fflush(stdout);
        }
}

static int run_table(int argc, char **argv, const struct bad_call *calls, int count)
{
    int i;

    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (i = 0; i < count; i++)
            printf("%s %s\n", calls[i].name, calls[i].function);
        return 0;
    }
    begin(&argc, &argv);
    if (argc == 2 && strcmp(argv[1], "return") == 0)
        go_through(calls, count);
    else if (argc == 3 && strcmp(argv[1], "fatal") == 0)
        make_fatal(calls, count, argv[2]);
    else
        CHECK(0, "`list`, `return` or `fatal CASE` on the command line");
    return end();
}

#define RUN_TABLE(argc, argv) \
    run_table(argc, argv, table, (int)(sizeof table / sizeof table[0]))

static inline MPI_Comm freed_comm(void)
{
    MPI_Comm comm, copy;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    copy = comm;
    MPI_Comm_free(&comm);
    return copy;
}

static inline MPI_Datatype uncommitted_type(void)
{
    MPI_Datatype type;

    MPI_Type_contiguous(3, MPI_INT, &type);
    return type;
}

static inline MPI_Datatype freed_type(void)
{
    MPI_Datatype type = uncommitted_type(), copy = type;

    MPI_Type_commit(&type);
    copy = type;
    MPI_Type_free(&type);
    return copy;
}

#define GARBAGE_COMM ((MPI_Comm)0x12345678)
#define ODD_COMM ((MPI_Comm)0xdeadbeef)
#define GARBAGE_TYPE ((MPI_Datatype)0x12345679)

#endif
