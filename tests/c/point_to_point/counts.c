/* ranks: 1, 2; transports: all; MPI 5.0 3.2.5, 5.1.11 */
/* Get_count counts whole entries, Get_elements counts basic elements, of what arrived. */
#include "../check.h"

enum { TAG = 1 };

static MPI_Datatype triple, column;

static void receive(MPI_Status *status, int sent)
{
    int out[16] = {0}, in[64];
    MPI_Request request;

    MPI_Isend(out, sent, MPI_INT, (rank + 1) % size, TAG, MPI_COMM_WORLD, &request);
    MPI_Recv(in, 8, triple, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void check_counts(int sent)
{
    MPI_Status status;
    MPI_Count elements_x = -1;
    int count, elements;

    receive(&status, sent);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, sent);
    MPI_Get_count(&status, triple, &count);
    CHECK_INT(count, sent % 3 ? MPI_UNDEFINED : sent / 3);
    MPI_Get_count(&status, column, &count);
    CHECK_INT(count, sent % 2 ? MPI_UNDEFINED : sent / 2);
    MPI_Get_elements(&status, triple, &elements);
    CHECK_INT(elements, sent);
    MPI_Get_elements(&status, column, &elements);
    CHECK_INT(elements, sent);
    MPI_Get_elements(&status, MPI_INT, &elements);
    CHECK_INT(elements, sent);
    MPI_Get_elements_x(&status, triple, &elements_x);
    CHECK_INT(elements_x, sent);
#if MPI_VERSION >= 4
    elements_x = -1;
    MPI_Get_count_c(&status, MPI_INT, &elements_x);
    CHECK_INT(elements_x, sent);
#endif
}

static void bytes_that_do_not_fill_an_entry(void)
{
    MPI_Request request;
    MPI_Status status;
    char out[10] = {0}, in[64];
    int count;

    MPI_Isend(out, 10, MPI_BYTE, (rank + 1) % size, TAG, MPI_COMM_WORLD, &request);
    MPI_Recv(in, 64, MPI_BYTE, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, MPI_UNDEFINED);
    MPI_Get_count(&status, MPI_SHORT, &count);
    CHECK_INT(count, 5);
}

int main(int argc, char **argv)
{
    int sent;

    begin(&argc, &argv);
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_vector(2, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&triple);
    MPI_Type_commit(&column);
    for (sent = 0; sent <= 12; sent++)
        check_counts(sent);
    bytes_that_do_not_fill_an_entry();
    MPI_Type_free(&triple);
    MPI_Type_free(&column);
    return end();
}
