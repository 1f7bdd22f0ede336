//! The memory of another process: by address, as the system copies it.

use crate::memory::Span;

/// The system does not copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unreachable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerMemory {
    /// Below this address the system does not write.
    pub(crate) writable_from: u64,
}

impl PeerMemory {
    pub(crate) fn read(self, address: u64, to: Span) -> Result<(), Unreachable> {
        to.copy_from(Span::at(address, to.len()));
        Ok(())
    }

    pub(crate) fn write(self, address: u64, from: Span) -> Result<(), Unreachable> {
        if address < self.writable_from {
            return Err(Unreachable);
        }
        Span::at(address, from.len()).copy_from(from);
        Ok(())
    }
}
