//! What a packet protocol and that which carries its packets must know of each other: the one knows
//! messages and no sockets, the other sockets and no messages.

use core::ops::Deref;

use crate::transport::Peer;

/// Bytes of the header that most packets have.
pub(crate) const HEADER_BYTES: usize = 36;

/// The header of a packet on its way out.
pub(crate) trait Header: Deref<Target = [u8]> {
    /// That of the packet which comes `count` behind this one in a run of packets.
    fn behind(&self, count: u32) -> Self;
}

/// A packet that is expected: where its payload belongs is known before it comes.
pub(crate) trait Expected {
    /// Bytes of its header.
    fn header_bytes(&self) -> usize;

    /// Bytes of its payload.
    fn payload_bytes(&self) -> usize;

    /// Returns true if `packet`, which `from` has sent, begins as this one does.
    fn is(&self, from: Peer, packet: &[u8]) -> bool;
}
