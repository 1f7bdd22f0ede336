//! Packets as they come: found at the beginning of a datagram, by their headers alone.

use super::Header;

/// The beginning of a datagram: a packet, several that follow each other and differ in their
/// numbers alone (see [`Run`](super::Run)), or nothing that could be one.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The decoded header of the first packet; meaningless if `packets` is 0.
    pub(crate) header: Header,
    /// Its bytes as received; all received bytes if `packets` is 0.
    pub(crate) head: &'a [u8],
    /// Bytes that follow it.
    pub(crate) payload_bytes: usize,
    /// How many packets these are; 0: this is none.
    pub(crate) packets: u32,
}

impl<'a> Packet<'a> {
    /// The packet at the beginning of `bytes` bytes, of which `head` are the first ones. With
    /// `coalesces` another one may follow. `payload_bytes` returns the length of the payload of a
    /// header, or that there is no such header.
    // Rule J.
    #[inline]
    pub(crate) fn cut(
        (head, bytes): (&'a [u8], usize),
        coalesces: bool,
        payload_bytes: impl FnOnce(&Header) -> Option<usize>,
    ) -> Option<Self> {
        let header = Header::decode(head)?;
        let payload_bytes = payload_bytes(&header)?;
        let header_bytes = header.bytes();
        let sum = header_bytes + payload_bytes;
        let is_whole = sum == bytes || coalesces && sum < bytes;
        let head = head.get(..header_bytes).filter(|_| is_whole)?;
        Some(Self {
            header,
            head,
            payload_bytes,
            packets: 1,
        })
    }

    /// Stands for `bytes` bytes that do not begin with a packet.
    #[cold]
    pub(crate) fn none(head: &'a [u8], bytes: usize) -> Self {
        Self {
            header: Header::NONE,
            head,
            payload_bytes: bytes.saturating_sub(head.len()),
            packets: 0,
        }
    }

    /// Returns true if it is a packet. If not it is dropped with all that follows it.
    #[inline]
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.packets > 0
    }

    /// Bytes of the header.
    #[inline]
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        self.head.len()
    }

    /// Bytes of header and payload together, of one packet: the next one begins behind them.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.head.len() + self.payload_bytes
    }
}
