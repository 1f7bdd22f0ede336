//! What the objects behind handles have in common.

use crate::abi::Handle;
use crate::handle::Kind;

/// An object that the program names by a handle.
pub trait Object: Sized + Send + 'static {
    /// What its handles say of it.
    const KIND: Kind;

    /// The error handler in charge of calls on it; `None` for a kind that has none. Source: MPI
    /// 5.0, 9.3: communicators, windows, files and sessions have one.
    fn handler(&self) -> Option<Handle> {
        None
    }
}
