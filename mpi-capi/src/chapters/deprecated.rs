//! Chapter 16: functions that programs should leave but still call.

use crate::args::*;

mpi! {
    fn MPI_Attr_delete(comm: Comm, keyval: Int);

    fn MPI_Attr_get(comm: Comm, keyval: Int, attribute_val: OutAddress, flag: Out<Flag>);

    fn MPI_Attr_put(comm: Comm, keyval: Int, attribute_val: Address);

    fn MPI_Get_elements_x(status: InStatus, datatype: Datatype, count: Out<LargeCount>);

    fn MPI_Info_get(info: Info, key: Text, valuelen: Int, value: TextOut, flag: Out<Flag>);

    fn MPI_Info_get_valuelen(info: Info, key: Text, valuelen: Out<Int>, flag: Out<Flag>);

    fn MPI_Keyval_create(
        copy_fn: CopyFn, delete_fn: DeleteFn, keyval: Out<Int>, extra_state: Address
    );

    fn MPI_Keyval_free(keyval: InOut<Int>);

    fn MPI_Status_set_elements_x(status: InOutStatus, datatype: Datatype, count: LargeCount);

    fn MPI_Type_get_extent_x(datatype: Datatype, lb: Out<LargeCount>, extent: Out<LargeCount>);

    fn MPI_Type_get_true_extent_x(
        datatype: Datatype, true_lb: Out<LargeCount>, true_extent: Out<LargeCount>
    );

    fn MPI_Type_size_x(datatype: Datatype, size: Out<LargeCount>);
}
