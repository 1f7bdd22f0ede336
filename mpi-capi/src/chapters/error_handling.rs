//! Error handlers, classes, codes and strings, sections 9.3 to 9.5.

use core::ffi::c_int;

use crate::abi::{self, Handle};
use crate::args::*;
use crate::codes::{self, CODES};
use crate::error::{Cause, Error, Result};
use crate::handle::Kind;
use crate::missing;
use crate::objects::errhandler;

mpi! {
    /// Adds an error class. MPI 5.0, 9.5.
    fn MPI_Add_error_class(errorclass: Out<Code>) {
        errorclass.set(CODES.lock().add_class())
    }

    /// Adds an error code to a class. MPI 5.0, 9.5.
    fn MPI_Add_error_code(errorclass: Code, errorcode: Out<Code>) {
        if missing::function(errorclass.0).is_some() {
            return Err(codes::no_class());
        }
        let code = CODES.lock().add_code(errorclass.0)?;
        errorcode.set(code)
    }

    /// Gives an added class or code its text. MPI 5.0, 9.5.
    fn MPI_Add_error_string(errorcode: Code, string: Text) {
        CODES.lock().set_text(errorcode.0, string.bytes())
    }

    /// Calls the error handler of a communicator. MPI 5.0, 9.5.
    fn MPI_Comm_call_errhandler(comm: Comm, errorcode: Code) {
        call_handler(comm.errhandler.get(), comm.handle(), errorcode.0)
    }

    /// Makes an error handler for communicators. MPI 5.0, 9.3.1.
    fn MPI_Comm_create_errhandler(
        comm_errhandler_fn: CommErrhandlerFn, errhandler: Out<Errhandler>
    ) {
        errhandler.set(errhandler::create(comm_errhandler_fn.0, Kind::Comm)?)
    }

    /// The error handler of a communicator. MPI 5.0, 9.3.1.
    fn MPI_Comm_get_errhandler(comm: Comm, errhandler: Out<Errhandler>) {
        errhandler.set(comm.errhandler.held())
    }

    /// Puts an error handler in charge of a communicator. MPI 5.0, 9.3.1.
    fn MPI_Comm_set_errhandler(comm: Comm, errhandler: Errhandler) {
        errhandler::check(errhandler.0, Kind::Comm)?;
        comm.errhandler.set(errhandler.0);
        Ok(())
    }

    /// Gives up a handle of an error handler. MPI 5.0, 9.3.4.
    fn MPI_Errhandler_free(errhandler: InOut<Errhandler>) {
        errhandler::free(errhandler.value.0)?;
        errhandler.set(abi::MPI_ERRHANDLER_NULL)
    }

    /// The class of an error code. MPI 5.0, 9.4.
    fn MPI_Error_class(errorcode: Code, errorclass: Out<Code>) {
        let class = class_of(errorcode.0)?;
        errorclass.set(class)
    }

    /// The text of an error code. MPI 5.0, 9.3.4.
    fn MPI_Error_string(errorcode: Code, string: TextOut, resultlen: Out<Int>) {
        let text = text_of(errorcode.0)?;
        resultlen.set(string.set(&text, abi::MPI_MAX_ERROR_STRING as usize)?)
    }

    /// Calls the error handler of a file. MPI 5.0, 9.5.
    fn MPI_File_call_errhandler(fh: File, errorcode: Code) {
        call_handler(fh.errhandler().get(), fh.handle, errorcode.0)
    }

    /// Makes an error handler for files. MPI 5.0, 9.3.3.
    fn MPI_File_create_errhandler(
        file_errhandler_fn: FileErrhandlerFn, errhandler: Out<Errhandler>
    ) {
        errhandler.set(errhandler::create(file_errhandler_fn.0, Kind::File)?)
    }

    /// The error handler of a file; that of `MPI_FILE_NULL` is the default one. MPI 5.0, 9.3.3.
    fn MPI_File_get_errhandler(file: File, errhandler: Out<Errhandler>) {
        errhandler.set(file.errhandler().held())
    }

    /// Puts an error handler in charge of a file. MPI 5.0, 9.3.3.
    fn MPI_File_set_errhandler(file: File, errhandler: Errhandler) {
        errhandler::check(errhandler.0, Kind::File)?;
        file.errhandler().set(errhandler.0);
        Ok(())
    }

    /// Takes an added error class away. MPI 5.0, 9.5.
    fn MPI_Remove_error_class(errorclass: Code) {
        CODES.lock().remove(errorclass.0)
    }

    /// Takes an added error code away. MPI 5.0, 9.5.
    fn MPI_Remove_error_code(errorcode: Code) {
        CODES.lock().remove(errorcode.0)
    }

    /// Takes the text of an added class or code away. MPI 5.0, 9.5.
    fn MPI_Remove_error_string(errorcode: Code) {
        CODES.lock().set_text(errorcode.0, b"")
    }

    /// Calls the error handler of a session. MPI 5.0, 9.5.
    fn MPI_Session_call_errhandler(session: Session, errorcode: Code) {
        call_handler(session.errhandler.get(), session.handle, errorcode.0)
    }

    /// Makes an error handler for sessions. MPI 5.0, 9.3.4.
    fn MPI_Session_create_errhandler(
        session_errhandler_fn: SessionErrhandlerFn, errhandler: Out<Errhandler>
    ) {
        errhandler.set(errhandler::create(session_errhandler_fn.0, Kind::Session)?)
    }

    /// The error handler of a session. MPI 5.0, 9.3.4.
    fn MPI_Session_get_errhandler(session: Session, errhandler: Out<Errhandler>) {
        errhandler.set(session.errhandler.held())
    }

    /// Puts an error handler in charge of a session. MPI 5.0, 9.3.4.
    fn MPI_Session_set_errhandler(session: Session, errhandler: Errhandler) {
        errhandler::check(errhandler.0, Kind::Session)?;
        session.errhandler.set(errhandler.0);
        Ok(())
    }

    /// Calls the error handler of a window. MPI 5.0, 9.5.
    fn MPI_Win_call_errhandler(win: Win, errorcode: Code) {
        call_handler(win.get()?.errhandler.get(), win.handle, errorcode.0)
    }

    /// Makes an error handler for windows. MPI 5.0, 9.3.2.
    fn MPI_Win_create_errhandler(win_errhandler_fn: WinErrhandlerFn, errhandler: Out<Errhandler>) {
        errhandler.set(errhandler::create(win_errhandler_fn.0, Kind::Win)?)
    }

    /// The error handler of a window. MPI 5.0, 9.3.2.
    fn MPI_Win_get_errhandler(win: Win, errhandler: Out<Errhandler>) {
        errhandler.set(win.get()?.errhandler.held())
    }

    /// Puts an error handler in charge of a window. MPI 5.0, 9.3.2.
    fn MPI_Win_set_errhandler(win: Win, errhandler: Errhandler) {
        let object = win.get()?;
        errhandler::check(errhandler.0, Kind::Win)?;
        object.errhandler.set(errhandler.0);
        Ok(())
    }
}

/// Does with `code` what the handler does with errors; the call itself succeeds if it returns.
fn call_handler(handler: Handle, object: Handle, code: c_int) -> Result<()> {
    match handler {
        abi::MPI_ERRORS_RETURN => Ok(()),
        abi::MPI_ERRORS_ARE_FATAL | abi::MPI_ERRORS_ABORT => Err(raised(code)),
        _ => {
            errhandler::call(handler, object, code);
            Ok(())
        }
    }
}

/// The class of a code.
fn class_of(code: c_int) -> Result<c_int> {
    match missing::function(code) {
        Some(_) => Ok(abi::MPI_ERR_UNSUPPORTED_OPERATION),
        None => CODES.lock().class_of(code),
    }
}

/// The text of a code.
fn text_of(code: c_int) -> Result<Vec<u8>> {
    match missing::function(code) {
        Some(function) => Ok(missing::text_of(function).into_bytes()),
        None => CODES.lock().text_of(code),
    }
}

/// The error of a program that raises `code`.
fn raised(code: c_int) -> Error {
    let text = match text_of(code) {
        Ok(text) if text.is_empty() => String::from("it has no text"),
        Ok(text) => String::from_utf8_lossy(&text).escape_debug().to_string(),
        Err(_) => String::from("there is no such code"),
    };
    let class = class_of(code).unwrap_or(code);
    Cause::Raised { code, class, text }.into()
}
