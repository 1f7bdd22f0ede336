//! A process whose memory can be reached: by address, as the system does it.

use std::io;

use crate::memory::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalPeer {
    /// Below this address the system does not write.
    pub(super) writable_from: u64,
}

impl LocalPeer {
    pub(super) fn read(self, address: u64, to: Span) -> io::Result<()> {
        to.copy_from(Span::at(address, to.len()));
        Ok(())
    }

    pub(super) fn write(self, address: u64, from: Span) -> io::Result<()> {
        if address < self.writable_from {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Span::at(address, from.len()).copy_from(from);
        Ok(())
    }
}
