/* ranks: 1; transports: one; MPI 5.0 5.3, 14.5.2 */
/* Elements in "external32": sizes and bytes of the standard's table, and back again. */
#include "../check.h"

#include <wchar.h>

static unsigned char room[4096];

static MPI_Aint packed_size(MPI_Datatype type, int count)
{
    MPI_Aint size;
    MPI_Count large;

    MPI_Pack_external_size("external32", count, type, &size);
    MPI_Pack_external_size_c("external32", count, type, &large);
    CHECK_INT(large, size);
    return size;
}

/* Packs at an odd place, compares the bytes, unpacks, and compares the elements. */
static void round_trip(const void *data, int count, MPI_Datatype type, const char *bytes, int len)
{
    char back[256];
    MPI_Aint position = 3, lower, extent;
    MPI_Count place = 3;

    CHECK_INT(packed_size(type, count), len);
    memset(room, 0xee, sizeof room);
    MPI_Pack_external("external32", data, count, type, room, 3 + len, &position);
    CHECK_INT(position, 3 + len);
    CHECK(room[2] == 0xee && room[3 + len] == 0xee, "nothing beside the elements");
    CHECK(memcmp(room + 3, bytes, (size_t)len) == 0, "other bytes of type %d than %02x %02x %02x",
          MPI_Type_toint(type), room[3], room[4], room[5]);
    MPI_Type_get_extent(type, &lower, &extent);
    memcpy(back, data, (size_t)(count * extent));
    MPI_Unpack_external_c("external32", room, 3 + len, &place, back, count, type);
    CHECK_INT(place, 3 + len);
    CHECK(memcmp(back, data, (size_t)(count * extent)) == 0, "the elements again");
    memset(back, 0, sizeof back);
    position = 3;
    MPI_Unpack_external("external32", room, 3 + len, &position, back, count, type);
    place = 0;
    MPI_Pack_external_c("external32", back, count, type, room, len, &place);
    CHECK(memcmp(room, bytes, (size_t)len) == 0, "the bytes again");
}

static void scalars(void)
{
    char text[] = "ab";
    short shorts[] = { 1, -2 };
    int integer = 0x01020304;
    long longs[] = { -1, 0x7ffffffe };
    unsigned long natural = 0xfffffffeul;
    long long wide = 0x0102030405060708ll;
    MPI_Aint address = -2;
    float number = 1.0f;
    double parts[] = { -2.0, 0.0 };
    wchar_t letter = 0x263a;
    struct {
        double value;
        int index;
    } pair = { 1.0, 5 };

    round_trip(text, 2, MPI_CHAR, "ab", 2);
    round_trip(text, 2, MPI_PACKED, "ab", 2);
    round_trip(shorts, 2, MPI_SHORT, "\0\1\377\376", 4);
    round_trip(&integer, 1, MPI_INT, "\1\2\3\4", 4);
    round_trip(longs, 2, MPI_LONG, "\377\377\377\377\177\377\377\376", 8);
    round_trip(&natural, 1, MPI_UNSIGNED_LONG, "\377\377\377\376", 4);
    round_trip(&wide, 1, MPI_LONG_LONG, "\1\2\3\4\5\6\7\10", 8);
    round_trip(&address, 1, MPI_AINT, "\377\377\377\377\377\377\377\376", 8);
    round_trip(&number, 1, MPI_FLOAT, "\77\200\0\0", 4);
    round_trip(parts, 1, MPI_C_DOUBLE_COMPLEX, "\300\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    round_trip(&letter, 1, MPI_WCHAR, "\46\72", 2);
    round_trip(&pair, 1, MPI_DOUBLE_INT, "\77\360\0\0\0\0\0\0\0\0\0\5", 12);
}

static void long_doubles(void)
{
    long double numbers[] = { 1.0L, -3.0L, 1.0L / 3, 0.0L }, back[4] = { 0 };
    MPI_Aint position = 0;
    int i;

    MPI_Pack_external("external32", numbers, 4, MPI_LONG_DOUBLE, room, sizeof room, &position);
    CHECK_INT(position, 64);
    CHECK(memcmp(room, "\77\377\0\0\0", 5) == 0, "1 as binary128");
    CHECK(memcmp(room + 16, "\300\0\200\0\0", 5) == 0, "-3 as binary128");
    position = 0;
    MPI_Unpack_external("external32", room, sizeof room, &position, back, 4, MPI_LONG_DOUBLE);
    for (i = 0; i < 4; i++)
        CHECK(back[i] == numbers[i], "%Lg, not %Lg", numbers[i], back[i]);
}

/* Gaps stay as they are; the order is that of the type map. */
static void derived(void)
{
    struct {
        short first;
        int gap;
        long last[3];
    } data[2] = { { 258, 7, { 1, 9, 2 } }, { -1, 7, { 3, 9, 4 } } };
    int lengths[] = { 1, 1 };
    MPI_Aint places[] = { 8, 0 };
    MPI_Datatype types[2] = { MPI_DATATYPE_NULL, MPI_SHORT }, type;

    MPI_Type_vector(2, 1, 2, MPI_LONG, &types[0]);
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_free(&types[0]);
    MPI_Type_commit(&type);
    round_trip(data, 2, type, "\0\0\0\1\0\0\0\2\1\2\0\0\0\3\0\0\0\4\377\377", 20);
    MPI_Type_free(&type);
}

static void refused(void)
{
    long large = 0x80000000l;
    wchar_t far = 0x1f600;
    int one = 1;
    MPI_Aint position = 0, size;

    CHECK_INT(class_of(MPI_Pack_external("external32", &large, 1, MPI_LONG, room, 8, &position)),
              MPI_ERR_CONVERSION);
    CHECK_INT(class_of(MPI_Pack_external("external32", &far, 1, MPI_WCHAR, room, 8, &position)),
              MPI_ERR_CONVERSION);
    CHECK_INT(class_of(MPI_Pack_external("native", &one, 1, MPI_INT, room, 8, &position)),
              MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_INT(class_of(MPI_Pack_external_size("external", 1, MPI_INT, &size)),
              MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_INT(class_of(MPI_Unpack_external("", room, 8, &position, &one, 1, MPI_INT)),
              MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_INT(class_of(MPI_Pack_external("external32", &one, 1, MPI_INT, room, 3, &position)),
              MPI_ERR_TRUNCATE);
    CHECK_INT(class_of(MPI_Unpack_external("external32", room, 3, &position, &one, 1, MPI_INT)),
              MPI_ERR_TRUNCATE);
    CHECK_INT(position, 0);
    position = -1;
    CHECK_INT(class_of(MPI_Pack_external("external32", &one, 1, MPI_INT, room, 8, &position)),
              MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    scalars();
    long_doubles();
    derived();
    refused();
    return end();
}
