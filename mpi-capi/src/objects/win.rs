//! Windows and files: what every object of the two kinds has. No call makes one yet.

use std::sync::Arc;

use crate::abi::{self, Handle};
use crate::handle::Kind;
use crate::object::Object;
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

impl WinObject {
    /// Its errors are fatal at first. Source: MPI 5.0, 9.3.
    pub fn new() -> Self {
        let errhandler = Attached::new(abi::MPI_ERRORS_ARE_FATAL);
        Self { errhandler }
    }
}

impl FileObject {
    /// It begins with the error handler of `MPI_FILE_NULL`. Source: MPI 5.0, 14.7.
    pub fn new() -> Self {
        let errhandler = Attached::new(OF_NO_FILE.get());
        Self { errhandler }
    }
}

impl Default for WinObject {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for FileObject {
    fn default() -> Self {
        Self::new()
    }
}

impl Object for WinObject {
    const KIND: Kind = Kind::Win;

    fn handler(&self) -> Option<Handle> {
        Some(self.errhandler.get())
    }
}

impl Object for FileObject {
    const KIND: Kind = Kind::File;

    fn handler(&self) -> Option<Handle> {
        Some(self.errhandler.get())
    }
}

registered!(Arc<WinObject>);
registered!(Arc<FileObject>);
