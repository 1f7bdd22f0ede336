/* What MPI allows before MPI_Init: versions, info objects, error codes, handles as integers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
    do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); exit(1); } } while (0)

static void versions(void)
{
    int major, minor, len, flag;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    CHECK(MPI_Get_version(&major, &minor) == MPI_SUCCESS && major == 5 && minor == 0);
    CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS && major == 1 && minor == 0);
    CHECK(MPI_Get_library_version(text, &len) == MPI_SUCCESS);
    CHECK(len == (int)strlen(text) && strncmp(text, "mpi-lite ", 9) == 0);
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && !flag);
}

static void infos(void)
{
    MPI_Info info, copy;
    char value[MPI_MAX_INFO_VAL], key[MPI_MAX_INFO_KEY];
    int len, flag, n;
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS && info != MPI_INFO_NULL);
    CHECK(MPI_Info_set(info, "first", "one") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "second", "a longer value") == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(info, &n) == MPI_SUCCESS && n == 2);
    CHECK(MPI_Info_get_nthkey(info, 1, key) == MPI_SUCCESS && !strcmp(key, "second"));
    len = 0;
    CHECK(MPI_Info_get_string(info, "second", &len, NULL, &flag) == MPI_SUCCESS);
    CHECK(flag && len == 15);
    len = 5;
    CHECK(MPI_Info_get_string(info, "second", &len, value, &flag) == MPI_SUCCESS);
    CHECK(flag && len == 15 && !strcmp(value, "a lo"));
    CHECK(MPI_Info_get(info, "first", 2, value, &flag) == MPI_SUCCESS && !strcmp(value, "on"));
    CHECK(MPI_Info_get_string(info, "third", &len, value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Info_dup(info, &copy) == MPI_SUCCESS && copy != info);
    CHECK(MPI_Info_delete(info, "first") == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(copy, &n) == MPI_SUCCESS && n == 2);
    CHECK(MPI_Info_fromint(MPI_Info_toint(copy)) == copy);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL);
    CHECK(MPI_Info_free(&copy) == MPI_SUCCESS && copy == MPI_INFO_NULL);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Abi_get_info(&info) == MPI_SUCCESS);
    len = sizeof value;
    CHECK(MPI_Info_get_string(info, "mpi_aint_size", &len, value, &flag) == MPI_SUCCESS && flag);
    CHECK(!strcmp(value, "8"));
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
}

static void codes(void)
{
    int class, code, found, len;
    char text[MPI_MAX_ERROR_STRING];
    CHECK(MPI_Error_class(MPI_ERR_RANK, &class) == MPI_SUCCESS && class == MPI_ERR_RANK);
    CHECK(MPI_Error_string(MPI_ERR_RANK, text, &len) == MPI_SUCCESS && len == (int)strlen(text));
    CHECK(strstr(text, "MPI_ERR_RANK"));
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && class > MPI_ERR_LASTCODE);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, "too hot") == MPI_SUCCESS);
    CHECK(MPI_Error_class(code, &found) == MPI_SUCCESS && found == class);
    CHECK(MPI_Error_string(code, text, &len) == MPI_SUCCESS && !strcmp(text, "too hot"));
}

static void statuses(void)
{
    MPI_Status status = {1, 2, 3, {0, 0, 0, 0, 0}};
    int value;
    CHECK(MPI_Status_set_source(&status, 7) == MPI_SUCCESS && status.MPI_SOURCE == 7);
    CHECK(MPI_Status_get_tag(&status, &value) == MPI_SUCCESS && value == 2);
    CHECK(MPI_Status_get_error(&status, &value) == MPI_SUCCESS && value == 3);
}

int main(int argc, char **argv)
{
    int rank;
    versions();
    infos();
    codes();
    statuses();
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
    CHECK(PMPI_Aint_add(5, 6) == 11 && MPI_Aint_diff(5, 6) == -1 && MPI_Wtick() > 0);
    printf("fine\n");
    fflush(stdout);
    if (argc > 1 && !strcmp(argv[1], "rank")) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && !strcmp(argv[1], "null")) MPI_Get_version(NULL, NULL);
    return 0;
}
