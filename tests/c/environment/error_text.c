/* ranks: 1; transports: one; MPI 5.0 9.4, 9.5 */
/* Every class has a text and is its own class; codes returned by calls have both. */
#include "../check.h"

/* Each thread keeps the code that its call returned: the text still names the right function. */
static void a_missing_function_is_named(void)
{
    char text[MPI_MAX_ERROR_STRING], port[MPI_MAX_PORT_NAME];
    int code, other, length;

    code = MPI_Open_port(MPI_INFO_NULL, port);
    other = MPI_Unpublish_name("no", MPI_INFO_NULL, "no");
    CHECK_INT(class_of(code), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_INT(class_of(other), MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "MPI_Open_port ") != NULL, "MPI_Open_port to be named: %s", text);
    MPI_Error_string(other, text, &length);
    CHECK(strstr(text, "MPI_Unpublish_name ") != NULL, "MPI_Unpublish_name to be named: %s", text);
}

int main(int argc, char **argv)
{
    const int classes[] = {
        MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG, MPI_ERR_COMM,
        MPI_ERR_RANK, MPI_ERR_REQUEST, MPI_ERR_ROOT, MPI_ERR_GROUP, MPI_ERR_OP,
        MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG, MPI_ERR_UNKNOWN, MPI_ERR_TRUNCATE,
        MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_IN_STATUS, MPI_ERR_PENDING, MPI_ERR_KEYVAL,
        MPI_ERR_NO_MEM, MPI_ERR_BASE, MPI_ERR_INFO, MPI_ERR_UNSUPPORTED_OPERATION,
        MPI_ERR_WIN, MPI_ERR_FILE, MPI_ERR_IO, MPI_ERR_SPAWN, MPI_ERR_NAME,
    };
    char text[MPI_MAX_ERROR_STRING], other[MPI_MAX_ERROR_STRING];
    unsigned i;
    int code, class, length;

    begin(&argc, &argv);
    CHECK_INT(MPI_SUCCESS, 0);
    for (i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        class = length = -1;
        MPI_Error_class(classes[i], &class);
        CHECK_INT(class, classes[i]);
        MPI_Error_string(classes[i], text, &length);
        CHECK(length > 0 && (size_t)length == strlen(text), "a text for class %d", class);
        MPI_Error_string(classes[i > 0 ? i - 1 : 1], other, &length);
        CHECK(strcmp(text, other) != 0, "classes to have texts of their own, not `%s`", text);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Send(NULL, 0, MPI_INT, 77, 0, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    CHECK_INT(class, MPI_ERR_RANK);
    MPI_Error_string(code, text, &length);
    CHECK(length > 0, "a text for the code of a wrong rank");
    a_missing_function_is_named();
    return end();
}
