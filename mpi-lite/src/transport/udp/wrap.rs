//! How long datagrams are, and what stands around their packets.

/// Bytes in front of the packets of a datagram.
pub(super) const WRAP_BYTES: usize = 16;

/// The greatest UDP payload over IPv4 (RFC 768, RFC 791).
pub(super) const DATAGRAM_MAX: usize = 65_507;

/// Why the length of a datagram has room in its wrap, and in a control message of the system.
pub(super) const FITS: &str = "a datagram has at most DATAGRAM_MAX bytes";

/// Bytes of cookie, tag or number.
pub(super) const MARK_BYTES: usize = 8;

/// Bytes of the job's key.
pub(crate) const KEY_BYTES: usize = 32;
