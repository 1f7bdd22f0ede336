//! Attributes of communicators, datatypes and windows, section 7.7.

use crate::args::*;

mpi! {
    fn MPI_Comm_create_keyval(
        comm_copy_attr_fn: CommCopyFn, comm_delete_attr_fn: CommDeleteFn, comm_keyval: Out<Int>,
        extra_state: Address
    );

    fn MPI_Comm_delete_attr(comm: Comm, comm_keyval: Int);

    fn MPI_Comm_free_keyval(comm_keyval: InOut<Int>);

    fn MPI_Comm_get_attr(comm: Comm, comm_keyval: Int, attribute_val: OutAddress, flag: Out<Flag>);

    fn MPI_Comm_set_attr(comm: Comm, comm_keyval: Int, attribute_val: Address);

    fn MPI_Type_create_keyval(
        type_copy_attr_fn: TypeCopyFn, type_delete_attr_fn: TypeDeleteFn, type_keyval: Out<Int>,
        extra_state: Address
    );

    fn MPI_Type_delete_attr(datatype: Datatype, type_keyval: Int);

    fn MPI_Type_free_keyval(type_keyval: InOut<Int>);

    fn MPI_Type_get_attr(
        datatype: Datatype, type_keyval: Int, attribute_val: OutAddress, flag: Out<Flag>
    );

    fn MPI_Type_set_attr(datatype: Datatype, type_keyval: Int, attribute_val: Address);

    fn MPI_Win_create_keyval(
        win_copy_attr_fn: WinCopyFn, win_delete_attr_fn: WinDeleteFn, win_keyval: Out<Int>,
        extra_state: Address
    );

    fn MPI_Win_delete_attr(win: Win, win_keyval: Int);

    fn MPI_Win_free_keyval(win_keyval: InOut<Int>);

    fn MPI_Win_get_attr(win: Win, win_keyval: Int, attribute_val: OutAddress, flag: Out<Flag>);

    fn MPI_Win_set_attr(win: Win, win_keyval: Int, attribute_val: Address);
}
