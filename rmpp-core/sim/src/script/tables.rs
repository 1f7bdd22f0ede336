//! The state of a driver of the rig: packets in its hand, and the names of its messages.

use std::iter::Sum;
use std::ops::AddAssign;

use rmpp_core::{Instant, MAX_HEADER_BYTES};

use super::{Change, FIELDS};

/// Bytes of the longest header that a script can write.
pub(super) const HEADER_ROOM: usize = 72;
const _: () = assert!(MAX_HEADER_BYTES <= HEADER_ROOM);

/// A packet that was taken from a node, or made up.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) header: [u8; HEADER_ROOM],
    pub(super) header_len: usize,
    pub(super) len: usize,
    /// Which message its payload is of.
    pub(super) tag: Option<u32>,
    pub(super) at: Instant,
}

impl Packet {
    /// Its header as it goes on the wire.
    pub(super) fn head(&self) -> &[u8] {
        &self.header[..self.header_len]
    }

    /// Bytes of header and payload together.
    pub(super) fn bytes(&self) -> usize {
        self.header_len + self.len
    }

    pub(super) fn lie(&mut self, change: Change) {
        let Change { field, adds, value } = change;
        let Some((_, first, count)) = field.map(|field| FIELDS[field]) else {
            let old = if adds { self.len } else { 0 };
            self.len = old.saturating_add(value as usize);
            return;
        };
        if first + count > self.header_len {
            return;
        }
        let bytes = &mut self.header[first..first + count];
        let old = bytes
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let new = if adds { old.wrapping_add(value) } else { value };
        bytes.copy_from_slice(&new.to_be_bytes()[8 - count..]);
    }
}

/// The node that a message is from or to, and its tag.
pub(super) type Entry = (u32, u32);

/// The totals of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Lines of scripts.
    pub lines: u64,
    /// Messages sent.
    pub messages: u64,
    /// Packets that came, true or not.
    pub packets: u64,
}

impl AddAssign for Played {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.messages += other.messages;
        self.packets += other.packets;
    }
}

impl Sum for Played {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}
