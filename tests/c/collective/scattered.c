/* ranks: 1, 2, 3; MPI 5.0 6.9.5 */
#include "../check.h"

/* One element with a part on the stack and a part on the heap, by absolute addresses (MPI_BOTTOM):
 * a legal datatype, but a temporary copy with the same gaps would span most of the address space.
 * The reduction works, or says that there is no memory; it neither ends the program nor touches
 * what lies between. */

static MPI_Aint stack_at, heap_at;

static void add(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    int at;

    (void)datatype;
    for (at = 0; at < *count; at++) {
        *(int *)((char *)inout + stack_at) += *(int *)((char *)in + stack_at);
        *(int *)((char *)inout + heap_at) += *(int *)((char *)in + heap_at);
    }
}

int main(int argc, char **argv)
{
    int on_stack, *on_heap = malloc(sizeof *on_heap), code, class, ones[2] = {1, 1};
    MPI_Aint places[2];
    MPI_Datatype both;
    MPI_Op op;

    begin(&argc, &argv);
    on_stack = rank + 1;
    *on_heap = 10 * (rank + 1);
    MPI_Get_address(&on_stack, &stack_at);
    MPI_Get_address(on_heap, &heap_at);
    places[0] = stack_at;
    places[1] = heap_at;
    MPI_Type_create_hindexed(2, ones, places, MPI_INT, &both);
    MPI_Type_commit(&both);
    MPI_Op_create(add, 1, &op);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, both, op, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS) {
        CHECK_INT(on_stack, size * (size + 1) / 2);
        CHECK_INT(*on_heap, 10 * size * (size + 1) / 2);
    } else {
        MPI_Error_class(code, &class);
        CHECK_INT(class, MPI_ERR_NO_MEM);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&both);
    free(on_heap);
    return end();
}
