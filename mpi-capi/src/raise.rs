//! What happens when a call fails: the error handler in charge, and the line for humans.

use core::cell::Cell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::abi::Handle;
use crate::entry::Symbol;
use crate::error::{Error, Result};
use crate::global::{self, Stage};

/// The symbol that was entered last: what a panic or a stuck report names.
static LAST: AtomicPtr<Symbol> = AtomicPtr::new(core::ptr::null_mut());

/// One running call of a C function.
#[derive(Debug)]
pub struct Call {
    symbol: &'static Symbol,
    comm: Cell<Option<Handle>>,
}

impl Call {
    /// Notes that `symbol` is entered.
    #[inline]
    pub fn enter(symbol: &'static Symbol) -> Self {
        LAST.store(core::ptr::from_ref(symbol).cast_mut(), Ordering::Relaxed);
        Self {
            symbol,
            comm: Cell::new(None),
        }
    }

    /// Notes the communicator whose error handler is in charge.
    #[inline]
    pub fn note_comm(&self, comm: Handle) {
        self.comm.set(Some(comm));
    }

    /// Refuses the call before `MPI_Init` and after `MPI_Finalize`, unless it is always allowed.
    ///
    /// # Errors
    /// `Error::BeforeInit`, `Error::AfterFinalize`.
    #[inline]
    pub fn check_running(&self) -> Result<()> {
        if self.symbol.any_time {
            return Ok(());
        }
        match global::stage() {
            Stage::Running => Ok(()),
            Stage::Before => Err(Error::BeforeInit),
            Stage::After => Err(Error::AfterFinalize),
        }
    }

    /// The answer of a function without a body.
    ///
    /// # Errors
    /// Always.
    pub fn unsupported(&self) -> Result<()> {
        self.check_running()?;
        Err(Error::Unsupported)
    }

    /// Hands the error to the handler in charge; returns what the C function returns.
    #[cold]
    pub fn raise(&self, error: Error, show: &dyn Fn(&mut String)) -> c_int {
        let mut line = format!("{}(", self.symbol.name);
        show(&mut line);
        eprintln!("MPI error in {line}): {error}");
        error.class()
    }
}
