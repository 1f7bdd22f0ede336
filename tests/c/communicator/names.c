/* ranks: 1; transports: all; MPI 5.0 7.8 */
/* Names: those of null handles, those of predefined objects until the program gives others. */
#include "../check.h"

static char name[MPI_MAX_OBJECT_NAME];
static int length;

#define CHECK_NAME(call, wanted)                                              \
    do {                                                                      \
        CHECK_INT(class_of(call), MPI_SUCCESS);                               \
        CHECK(strcmp(name, wanted) == 0, "\"%s\", not \"%s\"", wanted, name); \
        CHECK_INT(length, strlen(wanted));                                    \
    } while (0)

int main(int argc, char **argv)
{
    MPI_Datatype pair;
    MPI_Comm copy;

    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_NAME(MPI_Comm_get_name(MPI_COMM_NULL, name, &length), "MPI_COMM_NULL");
    CHECK_NAME(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length), "MPI_DATATYPE_NULL");
    CHECK_INT(class_of(MPI_Comm_set_name(MPI_COMM_NULL, "x")), MPI_ERR_COMM);
    CHECK_INT(class_of(MPI_Type_set_name(MPI_DATATYPE_NULL, "x")), MPI_ERR_TYPE);

    CHECK_NAME(MPI_Type_get_name(MPI_INT, name, &length), "MPI_INT");
    CHECK_INT(MPI_Type_set_name(MPI_INT, "int"), MPI_SUCCESS);
    CHECK_NAME(MPI_Type_get_name(MPI_INT, name, &length), "int");
    CHECK_INT(MPI_Type_set_name(MPI_INT, ""), MPI_SUCCESS);
    CHECK_NAME(MPI_Type_get_name(MPI_INT, name, &length), "");
    CHECK_NAME(MPI_Type_get_name(MPI_DOUBLE, name, &length), "MPI_DOUBLE");

    CHECK_NAME(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length), "MPI_COMM_WORLD");
    MPI_Comm_set_name(MPI_COMM_WORLD, "all");
    CHECK_NAME(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length), "all");
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    CHECK_NAME(MPI_Comm_get_name(copy, name, &length), "");
    MPI_Comm_free(&copy);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    CHECK_NAME(MPI_Type_get_name(pair, name, &length), "");
    MPI_Type_set_name(pair, "pair");
    CHECK_NAME(MPI_Type_get_name(pair, name, &length), "pair");
    MPI_Type_free(&pair);
    return end();
}
