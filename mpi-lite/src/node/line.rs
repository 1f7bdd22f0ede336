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

/// Writes a line, or the payload that belongs to the line if that is too short.
#[inline]
pub(crate) fn put(
    line: &RingSlot,
    payload: impl FnOnce(usize) -> Span,
    sequence: u64,
    (about, fill): (About, impl FnOnce(&mut [u8])),
) {
    let bytes = about.bytes() as usize;
    if bytes > LINE_BYTES {
        payload(bytes).update(fill);
    } else if bytes > 0 {
        let mut words = Line([0; LINE_BYTES]);
        fill(&mut words.0[..bytes]);
        words.write(line);
    }
    tell(line, sequence, about);
}

/// Writes a line without data.
#[inline]
pub(crate) fn tell(line: &RingSlot, sequence: u64, about: About) {
    line.words[0].store(about.encode(), Relaxed);
    line.sequence.store(sequence, Release);
}

/// Reads the `bytes` bytes that `put` has written. Memory that local peers can write is copied
/// before it is used.
#[inline]
pub(crate) fn get<R>(
    line: &RingSlot,
    payload: impl FnOnce(usize) -> Span,
    bytes: usize,
    read: impl FnOnce(&[u8]) -> R,
) -> R {
    if bytes > LINE_BYTES {
        let mut copy = Vec::with_capacity(bytes);
        payload(bytes).append_to(&mut copy);
        return read(&copy);
    }
    read(&Line::read(line).0[..bytes])
}
