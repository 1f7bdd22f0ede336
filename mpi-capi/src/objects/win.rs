//! Windows: what every one has. No call makes one yet.

use crate::abi;
use crate::objects::errhandler::Attached;
use crate::registry::registered;

/// A window. Source: MPI 5.0, chapter 12.
#[derive(Debug)]
pub struct WinObject {
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

registered!(WinObject: Win, counted, errhandler);
