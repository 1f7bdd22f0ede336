//! Where the body of an unexpected message is.

use crate::engine::requests::Request;
use crate::memory::Span;
use crate::pool::Pool;
use crate::transport::{Arrival, PeerId};

/// A message on its way in: the link and the link's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inbound {
    /// Index of the link.
    pub(crate) link: usize,
    /// The link's name.
    pub(crate) arrival: Arrival,
}

/// Where the body of an unexpected message is.
#[derive(Debug)]
pub enum Body {
    /// Left with its sender, until it lands.
    Held(Inbound),
    /// On its way into this buffer.
    Coming(Vec<u8>),
    /// On its way into this buffer; this receive has matched the message already.
    Claimed(Request, Vec<u8>),
    /// On its way into this buffer; no receive will match it any more.
    Dropped(Vec<u8>),
    /// In this process.
    Whole(Buffered),
    /// Nowhere: this peer was lost before all of it came.
    Lost(PeerId),
}

/// The body of a message that has arrived.
#[derive(Debug)]
pub enum Buffered {
    /// A few bytes, which need no memory of their own.
    Few([u8; FEW_BYTES], u8),
    /// More of them.
    Buffer(Vec<u8>),
}

/// A body of up to this many bytes is kept in place of an address.
const FEW_BYTES: usize = 32;

impl Buffered {
    /// Room for `len` bytes.
    #[inline]
    pub(crate) fn new(len: usize, pool: &mut Pool) -> Self {
        if len <= FEW_BYTES {
            Self::Few([0; FEW_BYTES], len as u8)
        } else {
            Self::Buffer(pool.take_filled(len))
        }
    }

    /// The memory. It moves with the message if there are few bytes.
    #[inline]
    pub(crate) fn span(&mut self) -> Span {
        match self {
            Self::Few(bytes, len) => Span::held(&mut bytes[..usize::from(*len)]),
            Self::Buffer(buffer) => Span::held(buffer),
        }
    }

    /// The bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Few(bytes, len) => &bytes[..usize::from(*len)],
            Self::Buffer(buffer) => buffer,
        }
    }

    /// Gives the memory to the pool, for the next body.
    #[inline]
    pub(crate) fn release(self, pool: &mut Pool) {
        if let Self::Buffer(buffer) = self {
            pool.keep(buffer);
        }
    }
}
