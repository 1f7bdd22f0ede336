//! How long datagrams are, and what stands around their packets.

/// Bytes in front of the packets of a datagram.
pub(super) const WRAP_BYTES: usize = 16;

/// The greatest UDP payload over IPv4 (RFC 768, RFC 791).
pub(super) const DATAGRAM_MAX: usize = 65_507;
