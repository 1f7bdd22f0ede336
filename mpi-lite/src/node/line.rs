//! Lines of the shared memory: what a member of an epoch writes there, and payloads that do not
//! fit.

use core::sync::atomic::Ordering::{Relaxed, Release};

use super::about::About;
use super::segment::{RingSlot, WORDS};
use crate::memory::Span;

/// Bytes that fit a line.
pub const LINE_BYTES: usize = (WORDS - 1) * 8;

/// The contents of a line behind its sequence word, aligned as functions of the program may
/// require.
#[derive(Debug)]
#[repr(align(16))]
pub struct Line(pub [u8; LINE_BYTES]);

impl Line {
    #[inline]
    pub(crate) fn read(line: &RingSlot) -> Self {
        let mut bytes = [0; LINE_BYTES];
        let places = bytes.as_chunks_mut::<8>().0.iter_mut();
        for (place, word) in places.zip(&line.words[1..]) {
            *place = word.load(Relaxed).to_ne_bytes();
        }
        Self(bytes)
    }

    #[inline]
    fn write(&self, line: &RingSlot) {
        let words = self.0.as_chunks::<8>().0.iter();
        for (word, place) in words.zip(&line.words[1..]) {
            place.store(u64::from_ne_bytes(*word), Relaxed);
        }
    }
}

/// Writes a line, or a payload that belongs to the line.
#[inline]
pub(crate) fn put(
    line: &RingSlot,
    payload: Span,
    sequence: u64,
    (about, fill): (About, impl FnOnce(&mut [u8])),
) {
    if payload.len() > LINE_BYTES {
        payload.update(fill);
    } else if !payload.is_empty() {
        let mut words = Line([0; LINE_BYTES]);
        fill(&mut words.0[..payload.len()]);
        words.write(line);
    }
    line.words[0].store(about.encode(), Relaxed);
    line.sequence.store(sequence, Release);
}

/// Reads what `put` has written. Memory that local peers can write is copied before it is used.
#[inline]
pub(crate) fn get<R>(line: &RingSlot, payload: Span, read: impl FnOnce(&[u8]) -> R) -> R {
    if payload.len() > LINE_BYTES {
        let mut copy = Vec::with_capacity(payload.len());
        payload.append_to(&mut copy);
        return read(&copy);
    }
    read(&Line::read(line).0[..payload.len()])
}
