/* ranks: 1; table: yes; MPI 5.0 chapters 5, 7, 9 */
/* Communicators and datatypes: null, freed, predefined, negative, nowhere to put. */
#include "table.h"
#include <limits.h>

static MPI_Comm comm;
static MPI_Datatype type;
static int x;

static int free_comm(MPI_Comm handle)
{
    return MPI_Comm_free(&handle);
}

static int free_type(MPI_Datatype handle)
{
    return MPI_Type_free(&handle);
}

static int commit(MPI_Datatype handle)
{
    return MPI_Type_commit(&handle);
}

static int range_of_self(int first, int last, int stride)
{
    MPI_Group group, made;
    int range[1][3], code;

    range[0][0] = first;
    range[0][1] = last;
    range[0][2] = stride;
    MPI_Comm_group(MPI_COMM_SELF, &group);
    code = MPI_Group_range_incl(group, 1, range, &made);
    MPI_Group_free(&group);
    return code;
}

static int pack_two(int bytes)
{
    int numbers[2] = {1, 2}, position = 0;
    char packed[8];

    return MPI_Pack(numbers, 2, MPI_INT, packed, bytes, &position, MPI_COMM_WORLD);
}

static int unpack_two(int bytes)
{
    int numbers[2], position = 0;
    char packed[8] = {0};

    return MPI_Unpack(packed, bytes, &position, numbers, 2, MPI_INT, MPI_COMM_WORLD);
}

#define CASES(X)                                                                                \
    X(rank_of_null, MPI_Comm_rank, MPI_ERR_COMM, MPI_Comm_rank(MPI_COMM_NULL, &x))              \
    X(rank_of_garbage, MPI_Comm_rank, MPI_ERR_COMM, MPI_Comm_rank(GARBAGE_COMM, &x))            \
    X(size_of_freed, MPI_Comm_size, MPI_ERR_COMM, MPI_Comm_size(freed_comm(), &x))              \
    X(rank_nowhere, MPI_Comm_rank, MPI_ERR_ARG, MPI_Comm_rank(MPI_COMM_WORLD, NULL))            \
    X(size_nowhere, MPI_Comm_size, MPI_ERR_ARG, MPI_Comm_size(MPI_COMM_WORLD, NULL))            \
    X(dup_of_null, MPI_Comm_dup, MPI_ERR_COMM, MPI_Comm_dup(MPI_COMM_NULL, &comm))              \
    X(dup_nowhere, MPI_Comm_dup, MPI_ERR_ARG, MPI_Comm_dup(MPI_COMM_SELF, NULL))                \
    X(split_of_garbage, MPI_Comm_split, MPI_ERR_COMM, MPI_Comm_split(ODD_COMM, 0, 0, &comm))    \
    X(split_colour_minus_9, MPI_Comm_split, MPI_ERR_ARG,                                        \
      MPI_Comm_split(MPI_COMM_SELF, -9, 0, &comm))                                              \
    X(free_world, MPI_Comm_free, MPI_ERR_COMM, free_comm(MPI_COMM_WORLD))                       \
    X(free_self, MPI_Comm_free, MPI_ERR_COMM, free_comm(MPI_COMM_SELF))                         \
    X(free_null, MPI_Comm_free, MPI_ERR_COMM, free_comm(MPI_COMM_NULL))                         \
    X(free_twice, MPI_Comm_free, MPI_ERR_COMM, free_comm(freed_comm()))                         \
    X(compare_null, MPI_Comm_compare, MPI_ERR_COMM,                                             \
      MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_NULL, &x))                                      \
    X(range_to_the_end_of_int, MPI_Group_range_incl, MPI_ERR_RANK,                              \
      range_of_self(0, INT_MAX, 1))                                                             \
    X(range_that_leads_away, MPI_Group_range_incl, MPI_ERR_ARG, range_of_self(0, 1, -1))        \
    X(contiguous_minus_1, MPI_Type_contiguous, MPI_ERR_COUNT,                                   \
      MPI_Type_contiguous(-1, MPI_INT, &type))                                                  \
    X(contiguous_of_null, MPI_Type_contiguous, MPI_ERR_TYPE,                                    \
      MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type))                                         \
    X(contiguous_nowhere, MPI_Type_contiguous, MPI_ERR_ARG, MPI_Type_contiguous(1, MPI_INT, NULL)) \
    X(vector_minus_1, MPI_Type_vector, MPI_ERR_COUNT, MPI_Type_vector(-1, 1, 1, MPI_INT, &type)) \
    X(vector_block_minus_1, MPI_Type_vector, MPI_ERR_ARG,                                       \
      MPI_Type_vector(1, -1, 1, MPI_INT, &type))                                                \
    X(commit_null, MPI_Type_commit, MPI_ERR_TYPE, commit(MPI_DATATYPE_NULL))                    \
    X(commit_freed, MPI_Type_commit, MPI_ERR_TYPE, commit(freed_type()))                        \
    X(free_predefined, MPI_Type_free, MPI_ERR_TYPE, free_type(MPI_INT))                         \
    X(free_type_twice, MPI_Type_free, MPI_ERR_TYPE, free_type(freed_type()))                    \
    X(size_of_garbage_type, MPI_Type_size, MPI_ERR_TYPE, MPI_Type_size(GARBAGE_TYPE, &x))       \
    X(type_size_nowhere, MPI_Type_size, MPI_ERR_ARG, MPI_Type_size(MPI_INT, NULL))              \
    X(pack_without_room, MPI_Pack, MPI_ERR_ARG, pack_two(7))                                    \
    X(unpack_of_too_little, MPI_Unpack, MPI_ERR_ARG, unpack_two(7))                             \
    X(error_class_nowhere, MPI_Error_class, MPI_ERR_ARG, MPI_Error_class(MPI_SUCCESS, NULL))    \
    X(version_nowhere, MPI_Get_version, MPI_ERR_ARG, MPI_Get_version(NULL, &x))

CASES(BAD_CALL_BODY)
static const struct bad_call table[] = {CASES(BAD_CALL_ROW)};

int main(int argc, char **argv)
{
    return RUN_TABLE(argc, argv);
}
