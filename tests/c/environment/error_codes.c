/* ranks: 1; transports: one; MPI 5.0 9.5 */
/* Classes and codes of the program: their numbers are used again after they were removed, removing
 * does not become slower the more there are, and what others need cannot be removed. */
#include "../check.h"

enum { MANY = 200000 };

static int codes[MANY];

static int last_used(void)
{
    int *last = NULL, found = 0;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &found);
    CHECK(found, "MPI_LASTUSEDCODE");
    return *last;
}

static void numbers_are_used_again(void)
{
    int i, class, code, first = last_used();

    for (i = 0; i < 1000; i++) {
        MPI_Add_error_class(&class);
        MPI_Add_error_code(class, &code);
        CHECK(class > first && code > first && code != class, "two numbers above %d", first);
        CHECK(code <= first + 2, "numbers to be used again, not %d", code);
        MPI_Remove_error_code(code);
        MPI_Remove_error_class(class);
        CHECK(class_of(MPI_Error_class(code, &class)) == MPI_ERR_ARG, "the code to be gone");
    }
    CHECK_INT(last_used(), first);
}

static void many(void)
{
    int i, class, other;

    MPI_Add_error_class(&class);
    for (i = 0; i < MANY; i++)
        MPI_Add_error_code(class, &codes[i]);
    CHECK_INT(last_used(), codes[MANY - 1]);
    for (i = 0; i < MANY; i += 2)
        CHECK_INT(MPI_Remove_error_code(codes[i]), MPI_SUCCESS);
    CHECK_INT(class_of(MPI_Remove_error_class(class)), MPI_ERR_ARG);
    MPI_Error_class(codes[1], &other);
    CHECK_INT(other, class);
    for (i = 1; i < MANY; i += 2)
        CHECK_INT(MPI_Remove_error_code(codes[i]), MPI_SUCCESS);
    CHECK_INT(MPI_Remove_error_class(class), MPI_SUCCESS);
}

static void what_is_needed_stays(void)
{
    int class, code, length;
    char text[MPI_MAX_ERROR_STRING];

    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(class, "a class");
    MPI_Add_error_string(code, "a code");
    CHECK_INT(class_of(MPI_Remove_error_code(code)), MPI_ERR_ARG);
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "a code") == 0, "the text of the code, not \"%s\"", text);
    MPI_Remove_error_string(code);
    CHECK_INT(MPI_Remove_error_code(code), MPI_SUCCESS);
    CHECK_INT(class_of(MPI_Remove_error_class(class)), MPI_ERR_ARG);
    MPI_Remove_error_string(class);
    CHECK_INT(MPI_Remove_error_class(class), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    numbers_are_used_again();
    many();
    what_is_needed_stays();
    return end();
}
