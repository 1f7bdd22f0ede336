//! Chapter 20: questions about this binary interface, and handles as integers.

use core::ffi::c_int;

use super::info::insert;
use crate::abi::{self, Handle, LAST_RESERVED_HANDLE};
use crate::args::*;
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::handle::Kind;
use crate::info::InfoObject;

mpi! {
    /// The bytes of Fortran's true and false, if the program has set them.
    fn MPI_Abi_get_fortran_booleans(
        logical_size: Int, logical_true: Address, logical_false: Address, is_set: Out<Flag>
    ) {
        let size = logical_len(logical_size)?;
        let fortran = LIBRARY.fortran.lock();
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
        let known = LIBRARY.fortran.lock().info.clone();
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
        set_once(&mut LIBRARY.fortran.lock().booleans, booleans)
    }

    /// Sets the properties of Fortran, once.
    fn MPI_Abi_set_fortran_info(info: Info) {
        set_once(&mut LIBRARY.fortran.lock().info, info.to_object())
    }
}

// Predefined handles are their own integers; those of the program's objects are serialized by
// `Key::to_int`. An integer that is neither gives the null handle.
values! {
    fn MPI_Comm_fromint(comm: Int) -> Comm {
        from_int(comm, Some(Kind::Comm), abi::MPI_COMM_NULL)
    }

    fn MPI_Comm_toint(comm: Comm) -> Int { to_int(comm, Some(Kind::Comm)) }

    fn MPI_Errhandler_fromint(errhandler: Int) -> Errhandler {
        from_int(errhandler, Some(Kind::Errhandler), abi::MPI_ERRHANDLER_NULL)
    }

    fn MPI_Errhandler_toint(errhandler: Errhandler) -> Int {
        to_int(errhandler, Some(Kind::Errhandler))
    }

    fn MPI_File_fromint(file: Int) -> File {
        from_int(file, None, abi::MPI_FILE_NULL)
    }

    fn MPI_File_toint(file: File) -> Int { to_int(file, None) }

    fn MPI_Group_fromint(group: Int) -> Group {
        from_int(group, Some(Kind::Group), abi::MPI_GROUP_NULL)
    }

    fn MPI_Group_toint(group: Group) -> Int { to_int(group, Some(Kind::Group)) }

    fn MPI_Info_fromint(info: Int) -> Info {
        from_int(info, Some(Kind::Info), abi::MPI_INFO_NULL)
    }

    fn MPI_Info_toint(info: Info) -> Int { to_int(info, Some(Kind::Info)) }

    fn MPI_Message_fromint(message: Int) -> Message {
        from_int(message, Some(Kind::Message), abi::MPI_MESSAGE_NULL)
    }

    fn MPI_Message_toint(message: Message) -> Int { to_int(message, Some(Kind::Message)) }

    fn MPI_Op_fromint(op: Int) -> Op {
        from_int(op, Some(Kind::Op), abi::MPI_OP_NULL)
    }

    fn MPI_Op_toint(op: Op) -> Int { to_int(op, Some(Kind::Op)) }

    fn MPI_Request_fromint(request: Int) -> Request {
        from_int(request, Some(Kind::Request), abi::MPI_REQUEST_NULL)
    }

    fn MPI_Request_toint(request: Request) -> Int { to_int(request, Some(Kind::Request)) }

    fn MPI_Session_fromint(session: Int) -> Session {
        from_int(session, Some(Kind::Session), abi::MPI_SESSION_NULL)
    }

    fn MPI_Session_toint(session: Session) -> Int { to_int(session, Some(Kind::Session)) }

    fn MPI_Type_fromint(datatype: Int) -> Datatype {
        from_int(datatype, Some(Kind::Datatype), abi::MPI_DATATYPE_NULL)
    }

    fn MPI_Type_toint(datatype: Datatype) -> Int { to_int(datatype, Some(Kind::Datatype)) }

    fn MPI_Win_fromint(win: Int) -> Win {
        from_int(win, None, abi::MPI_WIN_NULL)
    }

    fn MPI_Win_toint(win: Win) -> Int { to_int(win, None) }
}

fn to_int(handle: Handle, kind: Option<Kind>) -> c_int {
    if handle.0 <= LAST_RESERVED_HANDLE {
        return c_int::try_from(handle.0).expect("reserved handles are small");
    }
    kind.and_then(|kind| LIBRARY.int_of_handle(kind, handle))
        .unwrap_or(0)
}

fn from_int(int: c_int, kind: Option<Kind>, null: Handle) -> Handle {
    match usize::try_from(int) {
        Ok(reserved) if (1..=LAST_RESERVED_HANDLE).contains(&reserved) => Handle(reserved),
        _ => kind
            .and_then(|kind| LIBRARY.handle_of_int(kind, int))
            .unwrap_or(null),
    }
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
