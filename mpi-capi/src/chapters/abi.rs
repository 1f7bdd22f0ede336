//! Chapter 20: questions about this binary interface, and handles as integers.

use core::ffi::c_int;

use std::sync::Arc;

use mpi_lite::{comm, data};
use parking_lot::Mutex;

use super::info::insert;
use crate::abi::{self, Handle, LAST_RESERVED_HANDLE};
use crate::args::*;
use crate::error::{Error, Result};
use crate::handle::{Key, Kind};
use crate::object::Object;
use crate::objects::comm::CommObject;
use crate::objects::errhandler::ErrhandlerObject;
use crate::objects::file::FileObject;
use crate::objects::info::InfoObject;
use crate::objects::session::SessionObject;
use crate::objects::types::TypeObject;
use crate::objects::win::WinObject;
use crate::registry::Registered;

/// What the program has set for its Fortran compiler. Source: MPI 5.0, chapter 20.
#[derive(Debug)]
struct Fortran {
    /// Sizes and optional types.
    info: Option<InfoObject>,
    /// The bytes of true and of false.
    booleans: Option<(Vec<u8>, Vec<u8>)>,
}

static FORTRAN: Mutex<Fortran> = Mutex::new(Fortran {
    info: None,
    booleans: None,
});

mpi! {
    /// The bytes of Fortran's true and false, if the program has set them.
    fn MPI_Abi_get_fortran_booleans(
        logical_size: Int, logical_true: Address, logical_false: Address, is_set: Out<Flag>
    ) {
        let size = logical_len(logical_size)?;
        let fortran = FORTRAN.lock();
        if let Some((yes, no)) = &fortran.booleans {
            if yes.len() != size {
                let why = "logical_size is not the size that was set";
                return Err(Error::new(abi::MPI_ERR_ABI, why));
            }
            logical_true.write(yes)?;
            logical_false.write(no)?;
        }
        is_set.set(fortran.booleans.is_some())
    }

    /// What is known of Fortran, or `MPI_INFO_NULL`.
    fn MPI_Abi_get_fortran_info(info: Out<Info>) {
        let known = FORTRAN.lock().info.clone();
        info.set(known.map_or(abi::MPI_INFO_NULL, insert))
    }

    /// The sizes of this interface's integers.
    fn MPI_Abi_get_info(info: Out<Info>) {
        let mut object = InfoObject::default();
        for key in ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"] {
            object.set(key.as_bytes(), b"8").expect("short strings");
        }
        info.set(insert(object))
    }

    /// The version of this interface.
    fn MPI_Abi_get_version(abi_major: Out<Int>, abi_minor: Out<Int>) {
        abi_major.set(abi::MPI_ABI_VERSION)?;
        abi_minor.set(abi::MPI_ABI_SUBVERSION)
    }

    /// Sets the bytes of Fortran's true and false, once.
    fn MPI_Abi_set_fortran_booleans(
        logical_size: Int, logical_true: Address, logical_false: Address
    ) {
        let size = logical_len(logical_size)?;
        let booleans = (logical_true.to_vec(size)?, logical_false.to_vec(size)?);
        set_once(&mut FORTRAN.lock().booleans, booleans)
    }

    /// Sets the properties of Fortran, once.
    fn MPI_Abi_set_fortran_info(info: Info) {
        set_once(&mut FORTRAN.lock().info, info.to_object())
    }
}

// Predefined handles are their own integers; those of the program's objects are serialized by
// `Key::to_int`. An integer that is neither gives the null handle.
values! { conversions
    fn MPI_Comm_fromint(comm: Int) -> Comm {
        from_int(comm, find::<Arc<CommObject>>, abi::MPI_COMM_NULL)
    }

    fn MPI_Comm_toint(comm: Comm) -> Int { to_int(comm, <Arc<CommObject>>::KIND) }

    fn MPI_Errhandler_fromint(errhandler: Int) -> Errhandler {
        from_int(errhandler, find::<ErrhandlerObject>, abi::MPI_ERRHANDLER_NULL)
    }

    fn MPI_Errhandler_toint(errhandler: Errhandler) -> Int {
        to_int(errhandler, ErrhandlerObject::KIND)
    }

    fn MPI_File_fromint(file: Int) -> File { file_from_int(file) }

    fn MPI_File_toint(file: File) -> Int { file_to_int(file) }

    fn MPI_Group_fromint(group: Int) -> Group {
        from_int(group, find::<comm::Group>, abi::MPI_GROUP_NULL)
    }

    fn MPI_Group_toint(group: Group) -> Int { to_int(group, comm::Group::KIND) }

    fn MPI_Info_fromint(info: Int) -> Info {
        from_int(info, find::<InfoObject>, abi::MPI_INFO_NULL)
    }

    fn MPI_Info_toint(info: Info) -> Int { to_int(info, InfoObject::KIND) }

    fn MPI_Message_fromint(message: Int) -> Message {
        from_int(message, |int| find_request(Kind::Message, int), abi::MPI_MESSAGE_NULL)
    }

    fn MPI_Message_toint(message: Message) -> Int { request_to_int(message, Kind::Message) }

    fn MPI_Op_fromint(op: Int) -> Op {
        from_int(op, find::<data::Op>, abi::MPI_OP_NULL)
    }

    fn MPI_Op_toint(op: Op) -> Int { to_int(op, data::Op::KIND) }

    fn MPI_Request_fromint(request: Int) -> Request {
        from_int(request, |int| find_request(Kind::Request, int), abi::MPI_REQUEST_NULL)
    }

    fn MPI_Request_toint(request: Request) -> Int { request_to_int(request, Kind::Request) }

    fn MPI_Session_fromint(session: Int) -> Session {
        from_int(session, find::<Arc<SessionObject>>, abi::MPI_SESSION_NULL)
    }

    fn MPI_Session_toint(session: Session) -> Int { to_int(session, <Arc<SessionObject>>::KIND) }

    fn MPI_Type_fromint(datatype: Int) -> Datatype {
        from_int(datatype, find::<TypeObject>, abi::MPI_DATATYPE_NULL)
    }

    fn MPI_Type_toint(datatype: Datatype) -> Int { to_int(datatype, TypeObject::KIND) }

    fn MPI_Win_fromint(win: Int) -> Win {
        from_int(win, find::<Arc<WinObject>>, abi::MPI_WIN_NULL)
    }

    fn MPI_Win_toint(win: Win) -> Int { to_int(win, <Arc<WinObject>>::KIND) }
}

/// The integer of a file.
pub fn file_to_int(file: Handle) -> c_int {
    to_int(file, <Arc<FileObject>>::KIND)
}

/// The file behind an integer.
pub fn file_from_int(file: c_int) -> Handle {
    from_int(file, find::<Arc<FileObject>>, abi::MPI_FILE_NULL)
}

fn to_int(handle: Handle, kind: Kind) -> c_int {
    if handle.0 <= LAST_RESERVED_HANDLE {
        return c_int::try_from(handle.0).expect("reserved handles are small");
    }
    int_of(handle, kind).unwrap_or(0)
}

fn from_int(int: c_int, find: impl FnOnce(c_int) -> Option<Handle>, null: Handle) -> Handle {
    match usize::try_from(int) {
        Ok(reserved) if (1..=LAST_RESERVED_HANDLE).contains(&reserved) => Handle(reserved),
        _ => find(int).unwrap_or(null),
    }
}

/// The integer of a handle of the program's object.
fn int_of(handle: Handle, kind: Kind) -> Option<c_int> {
    Key::of(handle, kind).and_then(Key::to_int)
}

/// The handle of an object of the program that has this integer.
fn find<T: Registered>(int: c_int) -> Option<Handle> {
    T::table().lock().find_int(int)
}

/// Requests and messages that were turned into integers. Their table is mpi-lite's and has whole
/// keys only: the way back is kept here.
static SERIALIZED: Mutex<Vec<Handle>> = Mutex::new(Vec::new());

fn request_to_int(handle: Handle, kind: Kind) -> c_int {
    if let Some(int) = int_of(handle, kind) {
        let mut serialized = SERIALIZED.lock();
        serialized.retain(|known| int_of(*known, kind) != Some(int));
        serialized.push(handle);
    }
    to_int(handle, kind)
}

fn find_request(kind: Kind, int: c_int) -> Option<Handle> {
    let serialized = SERIALIZED.lock();
    let known = serialized.iter();
    known
        .copied()
        .find(|known| int_of(*known, kind) == Some(int))
}

fn logical_len(logical_size: Int) -> Result<usize> {
    match logical_size.0 {
        1 | 2 | 4 | 8 | 16 => Ok(logical_size.0 as usize),
        _ => Err(Error::new(
            abi::MPI_ERR_ABI,
            "logical_size is not a size of a Fortran LOGICAL (1, 2, 4, 8 or 16)",
        )),
    }
}

fn set_once<T>(place: &mut Option<T>, value: T) -> Result<()> {
    if place.is_some() {
        return Err(Error::new(
            abi::MPI_ERR_ABI,
            "it was set before; it can be set only once",
        ));
    }
    *place = Some(value);
    Ok(())
}
