//! A stream of bytes to and from a peer, and what is to be written into it.

use std::collections::VecDeque;
use std::io::IoSlice;

use super::record::HEADER_BYTES;
use crate::data::Area;
use crate::transport::{Arrival, PeerId, Token};

/// Data with gaps is packed in pieces of this many bytes, which stay in the caches.
const STAGED_BYTES: usize = 1 << 16;

/// The name of a stream in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ChannelId(pub(crate) u32);

/// A stream to and from a peer.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) peer: PeerId,
    pub(super) key: u32,
    pub(super) queue: VecDeque<Record>,
    /// Bytes of the first record that the carrier has taken.
    pub(super) taken: u64,
    /// Packed bytes of the first record's body, if that has gaps, and which they are.
    pub(super) staged: Vec<u8>,
    pub(super) staged_at: u64,
    /// The message whose body comes, and the bytes of it that are missing.
    pub(super) body: Option<(Arrival, u64)>,
}

/// Something to be written.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) header: [u8; HEADER_BYTES],
    pub(super) body: Area,
    /// The send that is finished once it is written.
    pub(super) token: Option<Token>,
}

impl Record {
    pub(super) fn len(&self) -> u64 {
        HEADER_BYTES as u64 + self.body.len()
    }
}

impl Channel {
    /// Packs the next bytes of the first record's body, if that has gaps.
    pub(super) fn stage(&mut self) {
        let Some(record) = self.queue.front().filter(|record| !record.is_plain()) else {
            return;
        };
        let at = self.taken.saturating_sub(HEADER_BYTES as u64);
        let is_staged = at >= self.staged_at && at < self.staged_at + self.staged.len() as u64;
        if !is_staged {
            self.staged.clear();
            self.staged_at = at;
            let bytes = (record.body.len() - at).min(STAGED_BYTES as u64) as usize;
            record
                .body
                .part(at as usize, bytes)
                .append_to(&mut self.staged);
        }
    }
}

impl Record {
    /// Returns true if the body is one run of bytes.
    pub(super) fn is_plain(&self) -> bool {
        self.body.io_slice().is_some()
    }

    /// The bytes from `taken` on: of the header, and of the body, or as many as are staged.
    pub(super) fn slices<'a>(&'a self, taken: usize, channel: &'a Channel) -> [IoSlice<'a>; 2] {
        let head = IoSlice::new(self.header.get(taken..).unwrap_or(&[]));
        let at = taken.saturating_sub(HEADER_BYTES);
        let body = match self.body.io_slice() {
            Some(mut body) => {
                body.advance(at);
                body
            }
            // Only the first record of a queue is staged.
            None if at >= channel.staged_at as usize => {
                let from = at - channel.staged_at as usize;
                IoSlice::new(channel.staged.get(from..).unwrap_or(&[]))
            }
            None => IoSlice::new(&[]),
        };
        [head, body]
    }
}
