//! What a program asks a window. Source: MPI 5.0, 12.2.

use super::errors::wrong;
use super::extent::{Extent, Flavor};
use super::hints::Hints;
use super::window::Window;
use crate::comm::Communicator;
use crate::error::{Class, Result};

impl Window {
    /// Its communicator, which is its own.
    #[must_use]
    pub fn communicator(&self) -> &Communicator {
        &self.inner.communicator
    }

    /// How it got its memory.
    #[must_use]
    pub fn flavor(&self) -> Flavor {
        self.inner.flavor
    }

    fn extent(&self) -> Extent {
        let rank = self.inner.communicator.rank();
        self.inner.extents[rank as usize]
    }

    /// The memory of this process: where it begins. Null in a dynamic window.
    #[must_use]
    pub fn base(&self) -> *mut u8 {
        match self.inner.flavor {
            Flavor::Dynamic => core::ptr::null_mut(),
            _ => self.inner.memory.base(),
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.extent().size
    }

    /// What a displacement counts in it, in bytes.
    #[must_use]
    pub fn unit(&self) -> u32 {
        self.extent().unit
    }

    /// The memory of a rank, or of the first one that has some: its bytes, its unit, and where it
    /// begins in this process; no bytes and null if it is not shared with this process.
    ///
    /// # Errors
    /// `Rank`; `RmaFlavor`: the window is dynamic.
    ///
    /// Source: MPI 5.0, 12.2.3.
    pub fn shared_query(&self, rank: Option<u32>) -> Result<(u64, u32, *mut u8)> {
        let inner = &*self.inner;
        if inner.flavor == Flavor::Dynamic {
            let why = "a window of MPI_Win_create_dynamic has no shared memory";
            return Err(wrong(Class::RmaFlavor, why));
        }
        let is_there = |rank: &u32| inner.extents[*rank as usize].size > 0;
        let rank = match rank {
            Some(rank) => rank,
            None => inner.ranks().find(is_there).unwrap_or(0),
        };
        inner.check_rank(rank)?;
        let Extent { size, unit } = inner.extents[rank as usize];
        Ok(match inner.memory.mapped(rank) {
            Some(address) => (size, unit, address),
            None => (0, unit, core::ptr::null_mut()),
        })
    }

    /// The hints in use, as key and value.
    #[must_use]
    pub fn hints(&self) -> Vec<(&'static str, String)> {
        self.inner.hints.lock().in_use(self.inner.flavor)
    }

    /// Changes the hints. Collective, but nobody waits.
    ///
    /// # Errors
    /// None.
    ///
    /// Source: MPI 5.0, 12.2.7.
    pub fn set_hints(&self, change: impl FnOnce(&mut Hints)) -> Result<()> {
        change(&mut self.inner.hints.lock());
        Ok(())
    }

    /// Gives it a name, for messages.
    pub fn set_name(&self, name: &str) {
        self.inner.title.set(name);
    }
}
