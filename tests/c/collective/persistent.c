/* ranks: 1, 2, 3, 8; transports: all; MPI 5.0 6.13 */
/* Persistent collectives: started again and again, all together, in any order, with operators of
 * the program, and after what they were made of is freed. */
#include "../check.h"

enum { ROUNDS = 30, LONG = 5000, MANY = 300 };

static int out[LONG], in[LONG];

/* 2x2 matrices: does not commute. */
struct matrix {
    long long a, b, c, d;
};

static int calls;

static void multiply(void *left, void *right, int *len, MPI_Datatype *type)
{
    struct matrix *x = left, *y = right, z;
    int i, bytes;

    MPI_Type_size(*type, &bytes);
    CHECK_INT(bytes, sizeof *x);
    calls++;
    for (i = 0; i < *len; i++) {
        z.a = x[i].a * y[i].a + x[i].b * y[i].c;
        z.b = x[i].a * y[i].b + x[i].b * y[i].d;
        z.c = x[i].c * y[i].a + x[i].d * y[i].c;
        z.d = x[i].c * y[i].b + x[i].d * y[i].d;
        y[i] = z;
    }
}

static struct matrix of(int i)
{
    struct matrix m = {1, i + 1, i % 2, 1};

    return m;
}

static void sums(void)
{
    MPI_Request request;
    MPI_Status status;
    int round, i, done;

    MPI_Allreduce_init(out, in, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Wait(&request, &status);
    CHECK(request != MPI_REQUEST_NULL, "an inactive request to stay");
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < LONG; i++)
            out[i] = rank * i + round;
        MPI_Start(&request);
        if (round % 2)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        else
            for (done = 0; !done;)
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        CHECK(request != MPI_REQUEST_NULL, "a persistent request to outlive its wait");
        for (i = 0; i < LONG; i++)
            CHECK_INT(in[i], size * (size - 1) / 2 * i + size * round);
    }
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL, "a request that is freed");
}

/* Many at a time, started from the first to the last here and from the last to the first there. */
static void in_any_order(void)
{
    MPI_Request requests[MANY];
    int round, i, sum;

    for (i = 0; i < MANY; i++)
        MPI_Allreduce_init_c(&out[i], &in[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &requests[i]);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < MANY; i++)
            out[i] = rank + 10 * i + round;
        if (rank == 0)
            MPI_Startall(MANY, requests);
        else
            for (i = MANY; i-- > 0;)
                MPI_Start(&requests[i]);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK_INT(sum, size * (size - 1) / 2);
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        for (i = 0; i < MANY; i++)
            CHECK_INT(in[i], size * (size - 1) / 2 + size * (10 * i + round));
    }
    for (i = 0; i < MANY; i++)
        MPI_Request_free(&requests[i]);
}

/* Communicator, datatype and operator are freed before the first start. */
static void program_operator(void)
{
    MPI_Comm copy;
    MPI_Op op;
    MPI_Datatype type;
    MPI_Request request;
    struct matrix mine, all, wanted;
    int round, i;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Type_contiguous(4, MPI_LONG_LONG, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    MPI_Allreduce_init(&mine, &all, 1, type, op, copy, MPI_INFO_NULL, &request);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Comm_free(&copy);
    for (round = 0; round < 5; round++) {
        mine = of(rank + round);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wanted = of(size - 1 + round);
        for (i = size - 2; i >= 0; i--) {
            struct matrix x = of(i + round), y = wanted;

            wanted.a = x.a * y.a + x.b * y.c;
            wanted.b = x.a * y.b + x.b * y.d;
            wanted.c = x.c * y.a + x.d * y.c;
            wanted.d = x.c * y.b + x.d * y.d;
        }
        CHECK(memcmp(&all, &wanted, sizeof all) == 0, "the product in the order of the ranks");
    }
    MPI_Allreduce(MPI_IN_PLACE, &calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(size == 1 || calls >= 5 * (size - 1), "the program's operator, not %d calls", calls);
    MPI_Request_free(&request);
}

/* In place, and a persistent request that is not waited for between a blocking collective. */
static void in_place(void)
{
    MPI_Request request;
    double x;

    MPI_Allreduce_init(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
    x = rank;
    MPI_Start(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(x == size - 1, "%d, not %f", size - 1, x);
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    sums();
    in_any_order();
    program_operator();
    in_place();
    return end();
}
