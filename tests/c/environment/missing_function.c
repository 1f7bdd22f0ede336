/* ranks: 2; transports: one; MPI 5.0 9.3, 9.4 */
/* The first call of a function that is missing prints a line, whatever becomes of the error; the
 * calls after it print nothing, and neither do other ranks of the host. */
#define _XOPEN_SOURCE 700
#include "../check.h"
#include <unistd.h>

static int handled, nulls;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled += class_of(*code) == MPI_ERR_UNSUPPORTED_OPERATION;
}

static void call_missing_functions(void)
{
    MPI_Comm comm;
    int i;

    for (i = 0; i < 3; i++) {
        MPI_Publish_name("farm", MPI_INFO_NULL, "here");
        comm = MPI_COMM_WORLD;
        MPI_Comm_connect("here", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm);
        nulls += comm == MPI_COMM_NULL;
    }
}

/* Makes calls, and returns what they print on standard error. */
static const char *printed_by(void (*make_calls)(void))
{
    static char text[4096];
    FILE *place = tmpfile();
    int old = dup(STDERR_FILENO);
    size_t length;

    CHECK(place != NULL && old >= 0, "a file for a while");
    dup2(fileno(place), STDERR_FILENO);
    make_calls();
    fflush(stderr);
    dup2(old, STDERR_FILENO);
    close(old);
    rewind(place);
    length = fread(text, 1, sizeof text - 1, place);
    text[length] = '\0';
    fclose(place);
    return text;
}

static int count(const char *text, const char *word)
{
    int found = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        found++;
    return found;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    const char *text;

    begin(&argc, &argv);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    text = printed_by(call_missing_functions);
    CHECK_INT(handled, 6);
    CHECK_INT(nulls, 3);
    if (rank > 0) {
        CHECK(text[0] == '\0', "nothing from this rank, not %s", text);
    } else {
        CHECK(count(text, "\n") == 2, "two lines, not %s", text);
        CHECK(count(text, "in MPI_Publish_name(") == 1, "the function: %s", text);
        CHECK(count(text, "farm") == 1, "the arguments: %s", text);
        CHECK(count(text, "in MPI_Comm_connect(") == 1, "the function: %s", text);
        CHECK(count(text, "[MPI_ERR_UNSUPPORTED_OPERATION]") == 2, "the class: %s", text);
    }
    MPI_Errhandler_free(&handler);
    return end();
}
