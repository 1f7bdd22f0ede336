/* ranks: 1, 2, 3; transports: all; MPI 5.0 12.3 */
/* Each operation with all operators and datatypes that it takes, and with data of any form. */
#include "window.h"
#include <stdint.h>
#include <sys/resource.h>

enum { LARGE = 50000 };

static int kind, to, from;

/* Puts and gets of a stretch, at a displacement, of one side and of the other. */
static void contiguous(int count)
{
    MPI_Win win;
    int *base = make_window(kind, (count + 5) * sizeof(int), sizeof(int), &win), i;
    int *data = malloc(count * sizeof *data + 1), *back = malloc(count * sizeof *back + 1);

    for (i = 0; i < count; i++)
        data[i] = rank * 1000003 + i;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(data, count, MPI_INT, to, 3, count, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(base[0] == 0 && base[2] == 0 && base[count + 3] == 0, "nothing beside it");
    for (i = 0; i < count; i++)
        CHECK_INT(base[i + 3], from * 1000003 + i);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(back, count * sizeof(int), MPI_BYTE, to, 3, count, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memcmp(back, data, count * sizeof *data) == 0, "what was put");
    for (i = 0; i < count; i++)
        back[i] = 1;
    OK(MPI_Accumulate(back, count, MPI_INT, to, 3, count, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < count; i++)
        CHECK_INT(base[i + 3], from * 1000003 + i + 1);
    free(data);
    free(back);
    free_window(kind, base, &win);
}

/* Columns of a matrix of this process become rows of the target's, and back. */
static void derived(void)
{
    enum { N = 30 };
    MPI_Win win;
    double *base = make_window(kind, N * N * sizeof(double), sizeof(double), &win);
    static double mine[N][N], back[N][N];
    MPI_Datatype column, matrix, some;
    const int lengths[] = {2, 0, 5, 1}, places[] = {100, 7, 0, 899};
    int i, j;

    MPI_Type_vector(N, 1, N, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &matrix);
    MPI_Type_commit(&matrix);
    MPI_Type_indexed(4, lengths, places, MPI_DOUBLE, &some);
    MPI_Type_commit(&some);
    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++)
            mine[i][j] = rank * 10000 + i * 100 + j;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(mine, N, matrix, to, 0, N * N, MPI_DOUBLE, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++)
            CHECK(base[j * N + i] == from * 10000 + i * 100 + j, "the transposed one");
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(back, N * N, MPI_DOUBLE, to, 0, N, matrix, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memcmp(mine, back, sizeof mine) == 0, "transposed twice");
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < 8; i++)
        back[0][i] = 0.5;
    OK(MPI_Accumulate(back, 8, MPI_DOUBLE, to, 0, 1, some, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < N * N; i++) {
        int is_in = i < 5 || i == 100 || i == 101 || i == 899;
        double old = from * 10000 + i % N * 100 + i / N;

        CHECK(base[i] == old + is_in * 0.5, "element %d to be %g, not %g", i,
              old + is_in * 0.5, base[i]);
    }
    OK(MPI_Win_fence(0, win));
    memset(mine, 0, sizeof mine);
    OK(MPI_Get_accumulate(back, 8, MPI_DOUBLE, mine, 1, some, to, 0, 8, MPI_DOUBLE, MPI_REPLACE,
                          win));
    OK(MPI_Win_fence(0, win));
    CHECK(mine[0][0] == rank * 10000 + 0.5 + 200, "the sixth old value at the third place");
    for (i = 0; i < 8; i++)
        CHECK(base[i] == 0.5, "replaced");
    MPI_Type_free(&column);
    MPI_Type_free(&matrix);
    MPI_Type_free(&some);
    free_window(kind, base, &win);
}

#define EACH_OPERATOR(op, a, b, result)                                                    \
    do {                                                                                   \
        memcpy(base, &(b), sizeof(b));                                                     \
        memset(old, 0, sizeof old);                                                        \
        OK(MPI_Win_fence(0, win));                                                         \
        OK(MPI_Get_accumulate(&(a), 1, type, old, 1, type, to, 0, 1, type, op, win));      \
        OK(MPI_Win_fence(0, win));                                                         \
        CHECK(memcmp(old, &(b), sizeof(b)) == 0, "%s of %s: the old value", #op, name);    \
        CHECK(memcmp(base, &(result), sizeof(b)) == 0, "%s of %s to be right", #op, name); \
    } while (0)

/* All operators of numbers: 6 and 3. */
#define NUMBERS(c_type, mpi_type)                                                          \
    do {                                                                                   \
        const c_type a = 6, b = 3, sum = 9, product = 18;                                  \
        const char *name = #mpi_type;                                                      \
        const MPI_Datatype type = mpi_type;                                                \
        EACH_OPERATOR(MPI_SUM, a, b, sum);                                                 \
        EACH_OPERATOR(MPI_PROD, a, b, product);                                            \
        EACH_OPERATOR(MPI_MAX, a, b, a);                                                   \
        EACH_OPERATOR(MPI_MIN, a, b, b);                                                   \
        EACH_OPERATOR(MPI_REPLACE, a, b, a);                                               \
        EACH_OPERATOR(MPI_NO_OP, a, b, b);                                                 \
    } while (0)

#define INTEGERS(c_type, mpi_type)                                                         \
    do {                                                                                   \
        const c_type a = 6, b = 3, and = 2, or = 7, exclusive = 5, yes = 1, no = 0;        \
        const char *name = #mpi_type;                                                      \
        const MPI_Datatype type = mpi_type;                                                \
        NUMBERS(c_type, mpi_type);                                                         \
        EACH_OPERATOR(MPI_BAND, a, b, and);                                                \
        EACH_OPERATOR(MPI_BOR, a, b, or);                                                  \
        EACH_OPERATOR(MPI_BXOR, a, b, exclusive);                                          \
        EACH_OPERATOR(MPI_LAND, a, b, yes);                                                \
        EACH_OPERATOR(MPI_LOR, a, no, yes);                                                \
        EACH_OPERATOR(MPI_LXOR, a, b, no);                                                 \
    } while (0)

/* The value and the place of the larger one, and of the smaller one; of equal ones the first. */
#define PAIRS(c_type, mpi_type)                                                            \
    do {                                                                                   \
        struct pair {                                                                      \
            c_type value;                                                                  \
            int place;                                                                     \
        } a, b, first;                                                                     \
        const char *name = #mpi_type;                                                      \
        const MPI_Datatype type = mpi_type;                                                \
        memset(&a, 0, sizeof a);                                                           \
        memset(&b, 0, sizeof b);                                                           \
        memset(&first, 0, sizeof first);                                                   \
        a.value = 6, a.place = 4;                                                          \
        b.value = 3, b.place = 2;                                                          \
        first.value = 3, first.place = 1;                                                  \
        EACH_PAIR(MPI_MAXLOC, a, b, a);                                                    \
        EACH_PAIR(MPI_MINLOC, a, b, b);                                                    \
        EACH_PAIR(MPI_MAXLOC, first, b, first);                                            \
        EACH_PAIR(MPI_MINLOC, b, first, first);                                            \
        EACH_PAIR(MPI_REPLACE, a, b, a);                                                   \
        EACH_PAIR(MPI_NO_OP, a, b, b);                                                     \
    } while (0)

/* What lies between the fields is nobody's. */
#define EACH_PAIR(op, a, b, result)                                                        \
    do {                                                                                   \
        struct pair *place = (struct pair *)base, *before = (struct pair *)old;            \
        *place = b;                                                                        \
        OK(MPI_Win_fence(0, win));                                                         \
        OK(MPI_Get_accumulate(&(a), 1, type, old, 1, type, to, 0, 1, type, op, win));      \
        OK(MPI_Win_fence(0, win));                                                         \
        CHECK(before->value == (b).value && before->place == (b).place,                    \
              "%s of %s: the old pair", #op, name);                                        \
        CHECK(place->value == (result).value && place->place == (result).place,            \
              "%s of %s to be right", #op, name);                                          \
    } while (0)

static void operators(void)
{
    MPI_Win win;
    char *base = make_window(kind, 64, 1, &win), old[64];

    INTEGERS(signed char, MPI_SIGNED_CHAR);
    INTEGERS(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGERS(short, MPI_SHORT);
    INTEGERS(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGERS(int, MPI_INT);
    INTEGERS(unsigned, MPI_UNSIGNED);
    INTEGERS(long, MPI_LONG);
    INTEGERS(unsigned long, MPI_UNSIGNED_LONG);
    INTEGERS(long long, MPI_LONG_LONG);
    INTEGERS(int8_t, MPI_INT8_T);
    INTEGERS(int16_t, MPI_INT16_T);
    INTEGERS(int32_t, MPI_INT32_T);
    INTEGERS(uint64_t, MPI_UINT64_T);
    INTEGERS(MPI_Aint, MPI_AINT);
    INTEGERS(MPI_Count, MPI_COUNT);
    NUMBERS(float, MPI_FLOAT);
    NUMBERS(double, MPI_DOUBLE);
    PAIRS(int, MPI_2INT);
    PAIRS(float, MPI_FLOAT_INT);
    PAIRS(double, MPI_DOUBLE_INT);
    PAIRS(long, MPI_LONG_INT);
    PAIRS(short, MPI_SHORT_INT);
    free_window(kind, base, &win);
}

/* Of one element: fetch and op, compare and swap. */
static void of_one(void)
{
    MPI_Win win;
    long *base = make_window(kind, 4 * sizeof(long), sizeof(long), &win);
    long two = 2, other = 7, old = -1, older = -1;
    unsigned char byte = 9, zero = 0, seen = 1;

    base[1] = 40;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Fetch_and_op(&two, &old, MPI_LONG, to, 1, MPI_SUM, win));
    OK(MPI_Fetch_and_op(NULL, &older, MPI_LONG, to, 1, MPI_NO_OP, win));
    OK(MPI_Win_fence(0, win));
    CHECK_INT(old, 40);
    CHECK_INT(older, 42);
    CHECK_INT(base[1], 42);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Compare_and_swap(&two, &other, &old, MPI_LONG, to, 1, win));
    OK(MPI_Win_fence(0, win));
    CHECK(old == 42 && base[1] == 42, "no swap");
    other = 42;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Compare_and_swap(&two, &other, &old, MPI_LONG, to, 1, win));
    OK(MPI_Compare_and_swap(&byte, &zero, &seen, MPI_BYTE, to, 2, win));
    OK(MPI_Win_fence(0, win));
    CHECK(old == 42 && base[1] == 2, "a swap");
    CHECK(seen == 0 && *(unsigned char *)&base[2] == 9, "a swap of a byte");
    free_window(kind, base, &win);
}

/* Nothing, to whatever place, and to nobody. */
static void nothing(void)
{
    MPI_Win win;
    int *base = make_window(kind, sizeof(int), sizeof(int), &win), x = 5;
    MPI_Request request[4];

    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(NULL, 0, MPI_INT, to, 1000000, 0, MPI_INT, win));
    OK(MPI_Get(&x, 0, MPI_INT, to, 1000000, 0, MPI_INT, win));
    OK(MPI_Accumulate(&x, 0, MPI_INT, to, 77, 0, MPI_INT, MPI_SUM, win));
    OK(MPI_Put(&x, 1, MPI_INT, MPI_PROC_NULL, 1000000, 1, MPI_INT, win));
    OK(MPI_Get(&x, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
    OK(MPI_Accumulate(&x, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Get_accumulate(&x, 1, MPI_INT, &x, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM,
                          win));
    OK(MPI_Fetch_and_op(&x, &x, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win));
    OK(MPI_Compare_and_swap(&x, &x, &x, MPI_INT, MPI_PROC_NULL, 0, win));
    OK(MPI_Rput(&x, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request[0]));
    OK(MPI_Rget(&x, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request[1]));
    OK(MPI_Raccumulate(&x, 0, MPI_INT, to, 0, 0, MPI_INT, MPI_SUM, win, &request[2]));
    OK(MPI_Rget_accumulate(&x, 1, MPI_INT, &x, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM,
                           win, &request[3]));
    OK(MPI_Waitall(4, request, MPI_STATUSES_IGNORE));
    OK(MPI_Win_unlock_all(win));
    CHECK_INT(x, 5);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_INT(*base, 0);
    free_window(kind, base, &win);
}

/* Requests: of many operations at once, completed in any order. */
static void requests(int count)
{
    enum { AT_ONCE = 8 };
    MPI_Win win;
    int *base = make_window(kind, AT_ONCE * count * sizeof(int), sizeof(int), &win), i, j;
    int *data = malloc(AT_ONCE * count * sizeof *data);
    int *back = calloc(AT_ONCE * count, sizeof *back);
    MPI_Request request[AT_ONCE];

    for (i = 0; i < AT_ONCE * count; i++)
        data[i] = rank + i * 3;
    OK(MPI_Win_lock_all(0, win));
    for (i = 0; i < AT_ONCE; i++)
        OK(MPI_Rput(data + i * count, count, MPI_INT, to, i * count, count, MPI_INT, win,
                    &request[i]));
    for (i = AT_ONCE - 1; i >= 0; i--)
        OK(MPI_Wait(&request[i], MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(to, win));
    for (i = 0; i < AT_ONCE; i++)
        OK(MPI_Rget(back + i * count, count, MPI_INT, to, i * count, count, MPI_INT, win,
                    &request[i]));
    for (j = 0; j < AT_ONCE; j++)
        OK(MPI_Waitany(AT_ONCE, request, &i, MPI_STATUS_IGNORE));
    CHECK(memcmp(data, back, AT_ONCE * count * sizeof *data) == 0, "what was put");
    for (i = 0; i < AT_ONCE; i++)
        OK(MPI_Raccumulate(data, count, MPI_INT, to, 0, count, MPI_INT, MPI_SUM, win, &request[i]));
    OK(MPI_Waitall(AT_ONCE, request, MPI_STATUSES_IGNORE));
    OK(MPI_Rget_accumulate(NULL, 0, MPI_INT, back, count, MPI_INT, to, 0, count, MPI_INT,
                           MPI_NO_OP, win, &request[0]));
    OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    for (i = 0; i < count; i++)
        CHECK_INT(back[i], data[i] * (AT_ONCE + 1));
    OK(MPI_Win_unlock_all(win));
    free(data);
    free(back);
    free_window(kind, base, &win);
}

/* Each process has a unit of its own, and only that of the target counts. */
static void units(void)
{
    MPI_Win win;
    char *base, x = (char)(rank + 1);

    OK(MPI_Win_allocate(64 * (rank + 1), rank + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    memset(base, 0, 64 * (rank + 1));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&x, 1, MPI_CHAR, to, 63, 1, MPI_CHAR, win));
    OK(MPI_Win_fence(0, win));
    CHECK_INT(base[63 * (rank + 1)], from + 1);
    OK(MPI_Win_free(&win));
}

/* The origin is given by absolute addresses; the datatype is gone before the epoch ends. */
static void bottom(void)
{
    MPI_Win win;
    long *base = make_window(kind, 2 * sizeof(long), sizeof(long), &win), x = rank + 50;
    MPI_Datatype type;
    MPI_Aint address;
    const int one = 1;

    MPI_Get_address(&x, &address);
    MPI_Type_create_hindexed(1, &one, &address, MPI_LONG, &type);
    MPI_Type_commit(&type);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(MPI_BOTTOM, 1, type, to, 1, 1, MPI_LONG, win));
    MPI_Type_free(&type);
    OK(MPI_Win_fence(0, win));
    CHECK_INT(base[1], from + 50);
    free_window(kind, base, &win);
}

/* A target keeps little data of answers that an origin has not fetched yet. */
static void many_fetches(void)
{
    enum { FETCHES = 512, LEN = 16384, MOST_KIB = 16 << 10 };
    MPI_Win win;
    int *base = make_window(ALLOCATED, LEN * sizeof *base, sizeof *base, &win), i, j;
    struct rusage before, after;

    for (i = 0; i < LEN; i++)
        base[i] = i;
    MPI_Barrier(MPI_COMM_WORLD);
    getrusage(RUSAGE_SELF, &before);
    if (rank == 1) {
        int(*old)[LEN] = malloc(FETCHES * sizeof *old);

        CHECK(old != NULL, "memory for %d fetches", FETCHES);
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        for (i = 0; i < FETCHES; i++)
            OK(MPI_Get_accumulate(NULL, 0, MPI_INT, old[i], LEN, MPI_INT, 0, 0, LEN, MPI_INT,
                                  MPI_NO_OP, win));
        OK(MPI_Win_unlock(0, win));
        for (i = 0; i < FETCHES; i++)
            for (j = 0; j < LEN; j++)
                CHECK(old[i][j] == j, "%d at %d of fetch %d, not %d", j, j, i, old[i][j]);
        free(old);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    getrusage(RUSAGE_SELF, &after);
    if (rank == 0)
        CHECK(after.ru_maxrss - before.ru_maxrss < MOST_KIB, "the target to need %ld KiB",
              after.ru_maxrss - before.ru_maxrss);
    free_window(ALLOCATED, base, &win);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    for (kind = CREATED; kind <= SHARED; kind++) {
        if (kind == SHARED && !all_share_memory())
            continue;
        contiguous(1);
        contiguous(1000);
        contiguous(LARGE);
        derived();
        operators();
        of_one();
        nothing();
        requests(1);
        requests(LARGE / 8);
        bottom();
    }
    units();
    if (size > 1)
        many_fetches();
    return end();
}
