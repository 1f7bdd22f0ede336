/* ranks: 1; transports: one; MPI 5.0 5.1.13 */
/* The contents of a datatype are the arguments of its constructor, in the order of the standard's
 * tables, for functions of both widths. */
#include "../check.h"

enum { MOST = 40 };

static int integers[MOST];
static MPI_Aint addresses[MOST];
static MPI_Count counts[MOST];
static MPI_Datatype types[MOST];
static MPI_Count lengths[4];

static int decode(MPI_Datatype type)
{
    int combiner;

    MPI_Type_get_envelope_c(type, &lengths[0], &lengths[1], &lengths[2], &lengths[3], &combiner);
    MPI_Type_get_contents_c(type, MOST, MOST, MOST, MOST, integers, addresses, counts, types);
    return combiner;
}

static void check_lengths(int a, int b, int c, int d)
{
    CHECK_INT(lengths[0], a);
    CHECK_INT(lengths[1], b);
    CHECK_INT(lengths[2], c);
    CHECK_INT(lengths[3], d);
}

/* A type made by a function without suffix: the functions of both widths return the same. */
static void check_small(MPI_Datatype *type, int combiner, int ints, const int *want, int aints,
                        const MPI_Aint *places, MPI_Datatype old)
{
    int got[4], i;

    MPI_Type_get_envelope(*type, &got[0], &got[1], &got[2], &got[3]);
    CHECK_INT(got[0], ints);
    CHECK_INT(got[1], aints);
    CHECK_INT(got[2], 1);
    CHECK_INT(got[3], combiner);
    MPI_Type_get_contents(*type, ints, aints, 1, integers, addresses, types);
    CHECK(types[0] == old, "the old type of combiner %d", combiner);
    for (i = 0; i < ints; i++)
        CHECK(integers[i] == want[i], "integer %d of combiner %d to be %d, not %d", i, combiner,
              want[i], integers[i]);
    for (i = 0; i < aints; i++)
        CHECK_INT(addresses[i], places[i]);
    CHECK_INT(decode(*type), combiner);
    check_lengths(ints, aints, 0, 1);
    for (i = 0; i < ints; i++)
        CHECK_INT(integers[i], want[i]);
    MPI_Type_free(type);
}

static void small(void)
{
    int lens[] = { 2, 1 }, at[] = { 0, 5 };
    int sizes[] = { 4, 5 }, sub[] = { 2, 3 }, start[] = { 1, 2 };
    int distribs[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK };
    int dargs[] = { 2, MPI_DISTRIBUTE_DFLT_DARG }, grid[] = { 3, 2 };
    MPI_Aint bytes[] = { 8, 64 }, bounds[] = { -4, 48 };
    MPI_Datatype type;

    MPI_Type_dup(MPI_INT, &type);
    check_small(&type, MPI_COMBINER_DUP, 0, NULL, 0, NULL, MPI_INT);
    MPI_Type_contiguous(3, MPI_SHORT, &type);
    check_small(&type, MPI_COMBINER_CONTIGUOUS, 1, (int[]){ 3 }, 0, NULL, MPI_SHORT);
    MPI_Type_vector(3, 2, -7, MPI_INT, &type);
    check_small(&type, MPI_COMBINER_VECTOR, 3, (int[]){ 3, 2, -7 }, 0, NULL, MPI_INT);
    MPI_Type_create_hvector(3, 2, 64, MPI_INT, &type);
    check_small(&type, MPI_COMBINER_HVECTOR, 2, (int[]){ 3, 2 }, 1, &bytes[1], MPI_INT);
    MPI_Type_indexed(2, lens, at, MPI_INT, &type);
    check_small(&type, MPI_COMBINER_INDEXED, 5, (int[]){ 2, 2, 1, 0, 5 }, 0, NULL, MPI_INT);
    MPI_Type_create_hindexed(2, lens, bytes, MPI_INT, &type);
    check_small(&type, MPI_COMBINER_HINDEXED, 3, (int[]){ 2, 2, 1 }, 2, bytes, MPI_INT);
    MPI_Type_create_indexed_block(2, 4, at, MPI_INT, &type);
    check_small(&type, MPI_COMBINER_INDEXED_BLOCK, 4, (int[]){ 2, 4, 0, 5 }, 0, NULL, MPI_INT);
    MPI_Type_create_hindexed_block(2, 4, bytes, MPI_INT, &type);
    check_small(&type, MPI_COMBINER_HINDEXED_BLOCK, 2, (int[]){ 2, 4 }, 2, bytes, MPI_INT);
    MPI_Type_create_resized(MPI_INT, -4, 48, &type);
    check_small(&type, MPI_COMBINER_RESIZED, 0, NULL, 2, bounds, MPI_INT);
    MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_FORTRAN, MPI_INT, &type);
    check_small(&type, MPI_COMBINER_SUBARRAY, 8,
                (int[]){ 2, 4, 5, 2, 3, 1, 2, MPI_ORDER_FORTRAN }, 0, NULL, MPI_INT);
    MPI_Type_create_darray(6, 5, 2, sizes, distribs, dargs, grid, MPI_ORDER_C, MPI_INT, &type);
    check_small(&type, MPI_COMBINER_DARRAY, 12,
                (int[]){ 6, 5, 2, 4, 5, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, 2,
                         MPI_DISTRIBUTE_DFLT_DARG, 3, 2, MPI_ORDER_C },
                0, NULL, MPI_INT);
}

/* A type made with large counts: the small functions refuse it. */
static void check_large(MPI_Datatype *type, int combiner, int ints, const int *want, int larges,
                        const MPI_Count *large)
{
    int got[4], i;

    CHECK_INT(decode(*type), combiner);
    check_lengths(ints, 0, larges, 1);
    CHECK(types[0] == MPI_INT, "MPI_INT in combiner %d", combiner);
    for (i = 0; i < ints; i++)
        CHECK_INT(integers[i], want[i]);
    for (i = 0; i < larges; i++)
        CHECK(counts[i] == large[i], "count %d of combiner %d to be %lld, not %lld", i, combiner,
              (long long)large[i], (long long)counts[i]);
    CHECK_INT(class_of(MPI_Type_get_envelope(*type, &got[0], &got[1], &got[2], &got[3])),
              MPI_ERR_TYPE);
    CHECK_INT(class_of(MPI_Type_get_contents(*type, MOST, MOST, MOST, integers, addresses, types)),
              MPI_ERR_TYPE);
    MPI_Type_free(type);
}

static void large(void)
{
    const MPI_Count huge = (MPI_Count)1 << 33;
    MPI_Count lens[] = { 2, 1 }, at[] = { 0, huge }, sizes[] = { 4, huge }, sub[] = { 2, 3 };
    MPI_Count start[] = { 1, 2 };
    int distribs[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK };
    int dargs[] = { 2, MPI_DISTRIBUTE_DFLT_DARG }, grid[] = { 3, 2 };
    MPI_Datatype type;

    MPI_Type_contiguous_c(huge, MPI_INT, &type);
    check_large(&type, MPI_COMBINER_CONTIGUOUS, 0, NULL, 1, &huge);
    MPI_Type_vector_c(3, 2, huge, MPI_INT, &type);
    check_large(&type, MPI_COMBINER_VECTOR, 0, NULL, 3, (MPI_Count[]){ 3, 2, huge });
    MPI_Type_create_hvector_c(3, 2, huge, MPI_INT, &type);
    check_large(&type, MPI_COMBINER_HVECTOR, 0, NULL, 3, (MPI_Count[]){ 3, 2, huge });
    MPI_Type_indexed_c(2, lens, at, MPI_INT, &type);
    check_large(&type, MPI_COMBINER_INDEXED, 0, NULL, 5, (MPI_Count[]){ 2, 2, 1, 0, huge });
    MPI_Type_create_hindexed_c(2, lens, at, MPI_INT, &type);
    check_large(&type, MPI_COMBINER_HINDEXED, 0, NULL, 5, (MPI_Count[]){ 2, 2, 1, 0, huge });
    MPI_Type_create_indexed_block_c(2, 4, at, MPI_INT, &type);
    check_large(&type, MPI_COMBINER_INDEXED_BLOCK, 0, NULL, 4, (MPI_Count[]){ 2, 4, 0, huge });
    MPI_Type_create_hindexed_block_c(2, 4, at, MPI_INT, &type);
    check_large(&type, MPI_COMBINER_HINDEXED_BLOCK, 0, NULL, 4, (MPI_Count[]){ 2, 4, 0, huge });
    MPI_Type_create_resized_c(MPI_INT, -4, huge, &type);
    check_large(&type, MPI_COMBINER_RESIZED, 0, NULL, 2, (MPI_Count[]){ -4, huge });
    MPI_Type_create_subarray_c(2, sizes, sub, start, MPI_ORDER_C, MPI_INT, &type);
    check_large(&type, MPI_COMBINER_SUBARRAY, 2, (int[]){ 2, MPI_ORDER_C }, 6,
                (MPI_Count[]){ 4, huge, 2, 3, 1, 2 });
    MPI_Type_create_darray_c(6, 5, 2, sizes, distribs, dargs, grid, MPI_ORDER_C, MPI_INT, &type);
    check_large(&type, MPI_COMBINER_DARRAY, 10,
                (int[]){ 6, 5, 2, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, 2,
                         MPI_DISTRIBUTE_DFLT_DARG, 3, 2, MPI_ORDER_C },
                2, sizes);
}

/* A struct keeps parts alive that the program frees; get_contents returns handles to free. */
static void structure(void)
{
    int lens[] = { 1, 2, 3 }, i;
    MPI_Aint places[] = { 0, 16, 64 };
    MPI_Count large_lens[] = { 1, 2, 3 }, large_places[] = { 0, 16, 64 };
    MPI_Datatype parts[] = { MPI_DOUBLE, MPI_DATATYPE_NULL, MPI_CHAR }, whole, copy, inner, f90;

    MPI_Type_vector(2, 1, 3, MPI_SHORT, &parts[1]);
    MPI_Type_create_struct(3, lens, places, parts, &whole);
    MPI_Type_create_struct_c(3, large_lens, large_places, parts, &copy);
    MPI_Type_free(&parts[1]);
    CHECK_INT(decode(copy), MPI_COMBINER_STRUCT);
    check_lengths(0, 0, 7, 3);
    for (i = 0; i < 3; i++) {
        CHECK_INT(counts[1 + i], lens[i]);
        CHECK_INT(counts[4 + i], places[i]);
    }
    MPI_Type_free(&types[1]);
    MPI_Type_free(&copy);
    CHECK_INT(decode(whole), MPI_COMBINER_STRUCT);
    check_lengths(4, 3, 0, 3);
    MPI_Type_free(&whole);
    CHECK(types[0] == MPI_DOUBLE && types[2] == MPI_CHAR, "the handles of named types");
    for (i = 0; i < 3; i++) {
        CHECK_INT(integers[1 + i], lens[i]);
        CHECK_INT(addresses[i], places[i]);
    }
    inner = types[1];
    CHECK_INT(decode(inner), MPI_COMBINER_VECTOR);
    CHECK(types[0] == MPI_SHORT, "the type inside of the part");
    MPI_Type_free(&inner);

    /* Handles of predefined types without a name stay what they are. */
    CHECK_INT(class_of(MPI_Type_create_f90_real(10, MPI_UNDEFINED, &f90)), MPI_SUCCESS);
    MPI_Type_contiguous(2, f90, &whole);
    CHECK_INT(decode(whole), MPI_COMBINER_CONTIGUOUS);
    CHECK(types[0] == f90, "the handle of an F90 type");
    MPI_Type_free(&whole);
}

static void refused(void)
{
    MPI_Datatype type;
    int got[4];

    MPI_Type_get_envelope(MPI_2INT, &got[0], &got[1], &got[2], &got[3]);
    CHECK(got[0] + got[1] + got[2] == 0 && got[3] == MPI_COMBINER_NAMED, "a named type");
    CHECK_INT(class_of(MPI_Type_get_contents(MPI_INT, 1, 1, 1, integers, addresses, types)),
              MPI_ERR_TYPE);
    MPI_Type_contiguous(2, MPI_INT, &type);
    CHECK_INT(class_of(MPI_Type_get_contents(type, 0, 0, 1, integers, addresses, types)),
              MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Type_get_contents(type, 1, 0, 0, integers, addresses, types)),
              MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Type_get_contents(type, 1, 0, 1, NULL, NULL, types)), MPI_ERR_ARG);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    small();
    large();
    structure();
    refused();
    return end();
}
