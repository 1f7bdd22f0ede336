//! Memory that comes to a window and leaves it. Source: MPI 5.0, 12.2.4.

use super::errors::wrong;
use super::extent::Flavor;
use super::means::Means;
use super::window::Window;
use crate::error::{Class, Result};
use crate::memory::Span;

impl Window {
    /// Attaches the memory at `address` to a dynamic window. Local. No bytes are no error.
    ///
    /// # Errors
    /// `RmaFlavor`: the window is not dynamic. `RmaAttach`: some of it is attached.
    ///
    /// Source: MPI 5.0, 12.2.4.
    pub fn attach(&self, address: u64, memory: Span) -> Result<()> {
        self.check_dynamic("MPI_Win_attach")?;
        self.inner.attached.lock().attach(address, memory)
    }

    /// Detaches the memory that was attached at this address. Local.
    ///
    /// # Errors
    /// `RmaFlavor`: the window is not dynamic. `RmaAttach`: none was.
    ///
    /// Source: MPI 5.0, 12.2.4.
    pub fn detach(&self, address: u64) -> Result<()> {
        self.check_dynamic("MPI_Win_detach")?;
        let Some(memory) = self.inner.attached.lock().detach(address) else {
            let why = format!("no memory was attached at {address:#x}");
            return Err(wrong(Class::RmaAttach, why));
        };
        // A link may still read it for an answer that another process has.
        match &self.inner.means {
            Means::Far(far) => far.end_answers(&memory),
            Means::Near(_) => {}
        }
        Ok(())
    }

    fn check_dynamic(&self, call: &str) -> Result<()> {
        match self.inner.flavor {
            Flavor::Dynamic => Ok(()),
            _ => Err(wrong(
                Class::RmaFlavor,
                format!("{call} is for windows of MPI_Win_create_dynamic"),
            )),
        }
    }
}
