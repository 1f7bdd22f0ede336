//! Windows and files: what every object of the two kinds has. No call makes one yet.

use crate::abi;
use crate::objects::errhandler::{Attached, OF_NO_FILE};
use crate::registry::registered;

/// A window. Source: MPI 5.0, chapter 12.
#[derive(Debug)]
pub struct WinObject {
    /// The error handler in charge.
    pub errhandler: Attached,
}

/// A file. Source: MPI 5.0, chapter 14.
#[derive(Debug)]
pub struct FileObject {
    /// The error handler in charge.
    pub errhandler: Attached,
}

/// Its errors are fatal at first. Source: MPI 5.0, 9.3.
impl Default for WinObject {
    fn default() -> Self {
        let errhandler = Attached::new(abi::MPI_ERRORS_ARE_FATAL);
        Self { errhandler }
    }
}

/// It begins with the error handler of `MPI_FILE_NULL`. Source: MPI 5.0, 14.7.
impl Default for FileObject {
    fn default() -> Self {
        let errhandler = Attached::new(OF_NO_FILE.get());
        Self { errhandler }
    }
}

registered!(WinObject: Win, counted, errhandler);
registered!(FileObject: File, counted, errhandler);
