//! Communicators as the program knows them: mpi-lite's, and what C attaches to them.

use core::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::attributes::{Attributes, Owner};
use crate::errhandler;

/// A communicator behind a handle.
#[derive(Debug)]
pub struct CommObject {
    handle: AtomicUsize,
    errhandler: AtomicUsize,
    /// What `MPI_Comm_get_name` tells.
    pub name: Mutex<Vec<u8>>,
    /// What the program caches with it.
    pub attributes: Attributes,
}

impl CommObject {
    /// A communicator that inherits the error handler of `parent`.
    pub fn new(errhandler: Handle, name: &str) -> Self {
        errhandler::attach(errhandler);
        Self {
            handle: AtomicUsize::new(abi::MPI_COMM_NULL.0),
            errhandler: AtomicUsize::new(errhandler.0),
            name: Mutex::new(name.as_bytes().to_vec()),
            attributes: Attributes::new(Owner::Comm),
        }
    }

    /// The handle that the program knows.
    pub fn handle(&self) -> Handle {
        Handle(self.handle.load(Ordering::Relaxed))
    }

    /// Sets the handle, once.
    pub fn set_handle(&self, handle: Handle) {
        self.handle.store(handle.0, Ordering::Relaxed);
    }

    /// The error handler in charge.
    pub fn errhandler(&self) -> Handle {
        Handle(self.errhandler.load(Ordering::Relaxed))
    }

    /// Puts another error handler in charge.
    pub fn set_errhandler(&self, handler: Handle) {
        errhandler::attach(handler);
        let old = self.errhandler.swap(handler.0, Ordering::Relaxed);
        errhandler::detach(Handle(old));
    }
}

impl Drop for CommObject {
    fn drop(&mut self) {
        errhandler::detach(self.errhandler());
    }
}
