//! Chapter 16: functions that programs should leave but still call.

use super::caching::{create, get_comm_attr};
use super::info::{c_len, lookup};
use crate::abi;
use crate::args::*;
use crate::handle::Kind;
use crate::objects::attributes::KEYVALS;

mpi! {
    /// Takes an attribute away.
    fn MPI_Attr_delete(comm: Comm, keyval: KeyNumber) {
        comm.attributes.delete(comm.handle(), keyval.0)
    }

    /// The value under a key.
    fn MPI_Attr_get(comm: Comm, keyval: KeyNumber, attribute_val: OutAttribute, flag: Out<Flag>) {
        get_comm_attr(&comm, keyval.0, attribute_val, &flag)
    }

    /// Attaches a value.
    fn MPI_Attr_put(comm: Comm, keyval: KeyNumber, attribute_val: Address) {
        comm.attributes.set(comm.handle(), keyval.0, attribute_val.0)
    }

    /// Basic elements received, or `MPI_UNDEFINED`.
    fn MPI_Get_elements_x(status: InStatus, datatype: Datatype, count: Out<LargeCount>) {
        let elements = datatype.lite()?.elements(status.0.bytes());
        count.set(elements.map_or(abi::MPI_UNDEFINED.into(), u64::cast_signed))
    }

    /// The value of a key, cut to `valuelen` bytes; the caller has room for one more.
    fn MPI_Info_get(info: Info, key: Text, valuelen: Length, value: TextOut, flag: Out<Flag>) {
        let found = info.read(|object| lookup(object, key))?;
        if let Some(found) = &found {
            value.set(found, valuelen.0 as usize + 1)?;
        }
        flag.set(found.is_some())
    }

    /// The length of a key's value.
    fn MPI_Info_get_valuelen(info: Info, key: Text, valuelen: Out<Int>, flag: Out<Flag>) {
        let found = info.read(|object| lookup(object, key))?;
        if let Some(found) = &found {
            valuelen.set(c_len(found.len()))?;
        }
        flag.set(found.is_some())
    }

    /// Makes an attribute key for communicators.
    fn MPI_Keyval_create(
        copy_fn: CopyFn, delete_fn: DeleteFn, keyval: Out<KeyNumber>, extra_state: Address
    ) {
        keyval.set(create(Kind::Comm, (copy_fn.0, delete_fn.0), extra_state)?)
    }

    /// Forbids new uses of a key.
    fn MPI_Keyval_free(keyval: InOut<KeyNumber>) {
        KEYVALS.lock().free(keyval.value.0, Kind::Comm)?;
        keyval.set(abi::MPI_KEYVAL_INVALID)
    }

    /// Sets the count from a number of basic elements.
    fn MPI_Status_set_elements_x(status: InOutStatus, datatype: Datatype, count: LargeCount) {
        super::external::set_elements(status, &datatype, count.0)
    }

    /// Lower bound and extent in bytes.
    fn MPI_Type_get_extent_x(datatype: Datatype, lb: Out<LargeCount>, extent: Out<LargeCount>) {
        let datatype = datatype.lite()?;
        lb.set(datatype.lower_bound())?;
        extent.set(datatype.extent())
    }

    /// Lower bound and extent of the data alone.
    fn MPI_Type_get_true_extent_x(
        datatype: Datatype, true_lb: Out<LargeCount>, true_extent: Out<LargeCount>
    ) {
        let datatype = datatype.lite()?;
        true_lb.set(datatype.true_lower_bound())?;
        true_extent.set(datatype.true_extent())
    }

    /// Bytes of data in an element.
    fn MPI_Type_size_x(datatype: Datatype, size: Out<LargeCount>) {
        let bytes = datatype.supported().map(|datatype| datatype.size().cast_signed());
        size.set(bytes.unwrap_or(abi::MPI_UNDEFINED.into()))
    }
}
