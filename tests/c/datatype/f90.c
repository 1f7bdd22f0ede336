/* ranks: 2; transports: one; MPI 5.0 19.1.9, 6.9.4, 5.1.13 */
/* Datatypes by digits, by size and by halves: predefined ones, never freed. */
#include "../check.h"

/* The combiner of a type, and its two arguments; the second is -1 if there is none. */
static void check_contents(MPI_Datatype type, int combiner, int first, int second)
{
    int lengths[3], found, integers[2] = { -1, -1 };
    MPI_Datatype copy = type;

    MPI_Type_get_envelope(type, &lengths[0], &lengths[1], &lengths[2], &found);
    CHECK_INT(found, combiner);
    CHECK_INT(lengths[0], second == -1 ? 1 : 2);
    CHECK(lengths[1] == 0 && lengths[2] == 0, "integers only");
    MPI_Type_get_contents(type, 2, 0, 0, integers, NULL, NULL);
    CHECK_INT(integers[0], first);
    CHECK_INT(integers[1], second);
    CHECK_INT(class_of(MPI_Type_free(&copy)), MPI_ERR_TYPE);
}

static void check_size(MPI_Datatype type, int wanted)
{
    int bytes;

    MPI_Type_size(type, &bytes);
    CHECK_INT(bytes, wanted);
}

static void integers(void)
{
    static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 4 },
                                    { 9, 4 }, { 10, 8 }, { 18, 8 } };
    MPI_Datatype type, again;
    unsigned i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        MPI_Type_create_f90_integer(sizes[i][0], &type);
        MPI_Type_create_f90_integer(sizes[i][0], &again);
        CHECK(type == again, "the same handle");
        check_size(type, sizes[i][1]);
        check_contents(type, MPI_COMBINER_F90_INTEGER, sizes[i][0], -1);
    }
    MPI_Type_create_f90_integer(1, &again);
    CHECK(type != again, "different handles for 1 and 18 digits");
    CHECK_INT(class_of(MPI_Type_create_f90_integer(19, &type)), MPI_ERR_ARG);
}

static void reals(void)
{
    static const int sizes[][3] = { { 6, 37, 4 }, { 7, 37, 8 }, { 6, 38, 8 }, { 15, 307, 8 },
                                    { MPI_UNDEFINED, 30, 4 }, { 12, MPI_UNDEFINED, 8 } };
    MPI_Datatype real, complex, again;
    unsigned i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int *row = sizes[i];

        MPI_Type_create_f90_real(row[0], row[1], &real);
        MPI_Type_create_f90_complex(row[0], row[1], &complex);
        MPI_Type_create_f90_real(row[0], row[1], &again);
        CHECK(real == again && real != complex, "one handle for the same arguments");
        check_size(real, row[2]);
        check_size(complex, 2 * row[2]);
        check_contents(real, MPI_COMBINER_F90_REAL, row[0], row[1]);
        check_contents(complex, MPI_COMBINER_F90_COMPLEX, row[0], row[1]);
    }
    CHECK_INT(class_of(MPI_Type_create_f90_real(16, 1, &real)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Type_create_f90_real(1, 308, &real)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &real)),
              MPI_ERR_ARG);
}

/* They need no commit, and the predefined operators take them. */
static void used(void)
{
    MPI_Datatype real, integer;
    double parts[2] = { rank + 0.5, -rank }, sums[2];
    short least = (short)(7 - rank), found;

    MPI_Type_create_f90_real(15, 300, &real);
    MPI_Allreduce(parts, sums, 2, real, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sums[0] == 2.0 && sums[1] == -1.0, "2.0 and -1.0, not %g and %g", sums[0], sums[1]);
    MPI_Type_create_f90_integer(4, &integer);
    MPI_Allreduce(&least, &found, 1, integer, MPI_MIN, MPI_COMM_WORLD);
    CHECK_INT(found, 6);
}

static void matched(void)
{
    static const int rows[][3] = { { MPI_TYPECLASS_INTEGER, 1, 0x2c1 },
                                   { MPI_TYPECLASS_INTEGER, 8, 0x2d9 },
                                   { MPI_TYPECLASS_REAL, 2, 0x2ca },
                                   { MPI_TYPECLASS_REAL, 4, 0x2d2 },
                                   { MPI_TYPECLASS_REAL, 8, 0x2da },
                                   { MPI_TYPECLASS_REAL, 16, 0x220 },
                                   { MPI_TYPECLASS_COMPLEX, 4, 0x2d3 },
                                   { MPI_TYPECLASS_COMPLEX, 8, 0x2db },
                                   { MPI_TYPECLASS_COMPLEX, 16, 0x2e3 } };
    MPI_Datatype type;
    unsigned i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        MPI_Type_match_size(rows[i][0], rows[i][1], &type);
        CHECK_INT(MPI_Type_toint(type), rows[i][2]);
        check_size(type, rows[i][1]);
    }
    CHECK_INT(class_of(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 6, &type)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Type_match_size(0, 4, &type)), MPI_ERR_ARG);
}

static void pairs(void)
{
    MPI_Datatype rows[][3] = { { MPI_FLOAT, MPI_INT, MPI_FLOAT_INT },
                               { MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT },
                               { MPI_LONG, MPI_INT, MPI_LONG_INT },
                               { MPI_SHORT, MPI_INT, MPI_SHORT_INT },
                               { MPI_INT, MPI_INT, MPI_2INT },
                               { MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT },
                               { MPI_INT, MPI_FLOAT, MPI_DATATYPE_NULL },
                               { MPI_CHAR, MPI_CHAR, MPI_DATATYPE_NULL } };
    MPI_Datatype type;
    unsigned i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        type = MPI_BYTE;
        MPI_Type_get_value_index(rows[i][0], rows[i][1], &type);
        CHECK(type == rows[i][2], "pair %u to be %d, not %d", i, MPI_Type_toint(rows[i][2]),
              MPI_Type_toint(type));
    }
    CHECK_INT(class_of(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &type)), MPI_ERR_TYPE);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    integers();
    reals();
    used();
    matched();
    pairs();
    return end();
}
