//! Attributes of communicators, datatypes and windows, section 7.7.

use core::ffi::c_int;

use crate::abi;
use crate::args::*;
use crate::callback::{CopyCall, DeleteCall};
use crate::error::Result;
use crate::handle::Kind;
use crate::objects::attributes;
use crate::objects::attributes::KEYVALS;
use crate::objects::attributes::Keyval;
use crate::objects::types;

mpi! {
    /// Makes an attribute key for communicators. MPI 5.0, 7.7.2.
    fn MPI_Comm_create_keyval(
        comm_copy_attr_fn: CommCopyFn, comm_delete_attr_fn: CommDeleteFn,
        comm_keyval: Out<KeyNumber>, extra_state: Address
    ) {
        let functions = (comm_copy_attr_fn.0, comm_delete_attr_fn.0);
        comm_keyval.set(create(Kind::Comm, functions, extra_state)?)
    }

    /// Takes an attribute away. MPI 5.0, 7.7.2.
    fn MPI_Comm_delete_attr(comm: Comm, comm_keyval: KeyNumber) {
        comm.attributes.delete(comm.handle(), comm_keyval.0)
    }

    /// Forbids new uses of a key. MPI 5.0, 7.7.2.
    fn MPI_Comm_free_keyval(comm_keyval: InOut<KeyNumber>) {
        KEYVALS.lock().free(comm_keyval.value.0, Kind::Comm)?;
        comm_keyval.set(abi::MPI_KEYVAL_INVALID)
    }

    /// The value under a key, or for MPI's own keys the address of the value. MPI 5.0, 7.7.2.
    fn MPI_Comm_get_attr(
        comm: Comm, comm_keyval: KeyNumber, attribute_val: OutAttribute, flag: Out<Flag>
    ) {
        get_comm_attr(&comm, comm_keyval.0, attribute_val, &flag)
    }

    /// Attaches a value. MPI 5.0, 7.7.2.
    fn MPI_Comm_set_attr(comm: Comm, comm_keyval: KeyNumber, attribute_val: Address) {
        comm.attributes.set(comm.handle(), comm_keyval.0, attribute_val.0)
    }

    /// Makes an attribute key for datatypes. MPI 5.0, 7.7.4.
    fn MPI_Type_create_keyval(
        type_copy_attr_fn: TypeCopyFn, type_delete_attr_fn: TypeDeleteFn,
        type_keyval: Out<KeyNumber>, extra_state: Address
    ) {
        let functions = (type_copy_attr_fn.0, type_delete_attr_fn.0);
        type_keyval.set(create(Kind::Datatype, functions, extra_state)?)
    }

    /// Takes an attribute away. MPI 5.0, 7.7.4.
    fn MPI_Type_delete_attr(datatype: Datatype, type_keyval: KeyNumber) {
        types::attributes(&datatype).delete(datatype.handle, type_keyval.0)
    }

    /// Forbids new uses of a key. MPI 5.0, 7.7.4.
    fn MPI_Type_free_keyval(type_keyval: InOut<KeyNumber>) {
        KEYVALS.lock().free(type_keyval.value.0, Kind::Datatype)?;
        type_keyval.set(abi::MPI_KEYVAL_INVALID)
    }

    /// The value under a key. MPI 5.0, 7.7.4.
    fn MPI_Type_get_attr(
        datatype: Datatype, type_keyval: KeyNumber, attribute_val: OutAttribute, flag: Out<Flag>
    ) {
        let value = types::attributes(&datatype).get(type_keyval.0)?;
        if let Some(value) = value {
            attribute_val.set(value);
        }
        flag.set(value.is_some())
    }

    /// Attaches a value. MPI 5.0, 7.7.4.
    fn MPI_Type_set_attr(datatype: Datatype, type_keyval: KeyNumber, attribute_val: Address) {
        types::attributes(&datatype).set(datatype.handle, type_keyval.0, attribute_val.0)
    }

    /// Makes an attribute key for windows. MPI 5.0, 7.7.3.
    fn MPI_Win_create_keyval(
        win_copy_attr_fn: WinCopyFn, win_delete_attr_fn: WinDeleteFn, win_keyval: Out<KeyNumber>,
        extra_state: Address
    ) {
        let functions = (win_copy_attr_fn.0, win_delete_attr_fn.0);
        win_keyval.set(create(Kind::Win, functions, extra_state)?)
    }

    /// Takes an attribute away. MPI 5.0, 7.7.3.
    fn MPI_Win_delete_attr(win: Win, win_keyval: KeyNumber) {
        win.get()?.attributes.delete(win.handle, win_keyval.0)
    }

    /// Forbids new uses of a key. MPI 5.0, 7.7.3.
    fn MPI_Win_free_keyval(win_keyval: InOut<KeyNumber>) {
        KEYVALS.lock().free(win_keyval.value.0, Kind::Win)?;
        win_keyval.set(abi::MPI_KEYVAL_INVALID)
    }

    /// The value under a key. Of MPI's own keys that of `MPI_WIN_BASE` is the base, others are
    /// addresses of values. MPI 5.0, 7.7.3 and 12.2.6.
    fn MPI_Win_get_attr(
        win: Win, win_keyval: KeyNumber, attribute_val: OutAttribute, flag: Out<Flag>
    ) {
        let object = win.get()?;
        let value = match object.own_attribute(win_keyval.0, attribute_val)? {
            Some(value) => Some(value),
            None => object.attributes.get(win_keyval.0)?,
        };
        if let Some(value) = value {
            attribute_val.set(value);
        }
        flag.set(value.is_some())
    }

    /// Attaches a value. MPI 5.0, 7.7.3.
    fn MPI_Win_set_attr(win: Win, win_keyval: KeyNumber, attribute_val: Address) {
        win.get()?.attributes.set(win.handle, win_keyval.0, attribute_val.0)
    }
}

/// Makes a key from a copy and a delete function.
pub(super) fn create(
    owner: Kind,
    (copy, delete): (CopyCall, DeleteCall),
    extra_state: Address,
) -> Result<c_int> {
    KEYVALS.lock().create(Keyval {
        owner,
        copy,
        delete,
        extra_state: extra_state.0.expose_provenance(),
    })
}

/// Looks up an attribute of a communicator, the predefined ones among them.
pub(super) fn get_comm_attr(
    comm: &Comm,
    key: c_int,
    attribute_val: OutAttribute,
    flag: &Out<Flag>,
) -> Result<()> {
    let value = match attributes::predefined(key) {
        Some(place) => Some(attribute_val.of_library(key, place)),
        None if key == abi::MPI_APPNUM => None,
        None => comm.attributes.get(key)?,
    };
    if let Some(value) = value {
        attribute_val.set(value);
    }
    flag.set(value.is_some())
}
