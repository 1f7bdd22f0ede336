//! Chapter 20: questions about this binary interface, and handles as integers.

use crate::abi::Handle;
use crate::args::*;
use core::ffi::c_int;

mpi! {
    fn MPI_Abi_get_fortran_booleans(
        logical_size: Int, logical_true: Address, logical_false: Address, is_set: Out<Flag>
    );

    fn MPI_Abi_get_fortran_info(info: Out<Info>);

    fn MPI_Abi_get_info(info: Out<Info>);

    fn MPI_Abi_get_version(abi_major: Out<Int>, abi_minor: Out<Int>);

    fn MPI_Abi_set_fortran_booleans(
        logical_size: Int, logical_true: Address, logical_false: Address
    );

    fn MPI_Abi_set_fortran_info(info: Info);
}

values! {
    fn MPI_Comm_fromint(comm: Int) -> Comm { int_to_handle(comm, None) }

    fn MPI_Comm_toint(comm: Comm) -> Int { handle_to_int(comm) }

    fn MPI_Errhandler_fromint(errhandler: Int) -> Errhandler { int_to_handle(errhandler, None) }

    fn MPI_Errhandler_toint(errhandler: Errhandler) -> Int { handle_to_int(errhandler) }

    fn MPI_File_fromint(file: Int) -> File { int_to_handle(file, None) }

    fn MPI_File_toint(file: File) -> Int { handle_to_int(file) }

    fn MPI_Group_fromint(group: Int) -> Group { int_to_handle(group, None) }

    fn MPI_Group_toint(group: Group) -> Int { handle_to_int(group) }

    fn MPI_Info_fromint(info: Int) -> Info { int_to_handle(info, None) }

    fn MPI_Info_toint(info: Info) -> Int { handle_to_int(info) }

    fn MPI_Message_fromint(message: Int) -> Message { int_to_handle(message, None) }

    fn MPI_Message_toint(message: Message) -> Int { handle_to_int(message) }

    fn MPI_Op_fromint(op: Int) -> Op { int_to_handle(op, None) }

    fn MPI_Op_toint(op: Op) -> Int { handle_to_int(op) }

    fn MPI_Request_fromint(request: Int) -> Request { int_to_handle(request, None) }

    fn MPI_Request_toint(request: Request) -> Int { handle_to_int(request) }

    fn MPI_Session_fromint(session: Int) -> Session { int_to_handle(session, None) }

    fn MPI_Session_toint(session: Session) -> Int { handle_to_int(session) }

    fn MPI_Type_fromint(datatype: Int) -> Datatype { int_to_handle(datatype, None) }

    fn MPI_Type_toint(datatype: Datatype) -> Int { handle_to_int(datatype) }

    fn MPI_Win_fromint(win: Int) -> Win { int_to_handle(win, None) }

    fn MPI_Win_toint(win: Win) -> Int { handle_to_int(win) }
}

fn handle_to_int(handle: Handle) -> c_int {
    c_int::try_from(handle.0).unwrap_or(0)
}

fn int_to_handle(int: c_int, _none: Option<()>) -> Handle {
    Handle(int as usize)
}
