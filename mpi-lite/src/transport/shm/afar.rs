//! How a sender writes bodies to the ring: by plain stores, or past the caches
//! (`Span::stream_from`).
//!
//! The receiver has the lines of the ring in its cache, since it has read them a lap before. Plain
//! stores fetch each of them back. Between cores that share a cache that takes less time than
//! memory does. Between cores that share none each line crosses twice, and stores past the caches
//! take a third to a sixth of the time. No table can know where the cores lie, and in a virtual
//! machine it changes within seconds. So the sender measures: now and then it writes a body by
//! plain stores, and looks how long that took.

use crate::clock::{Clock, Instant};
use crate::memory::Span;

/// The shortest body that is measured, and that goes past the caches. Stores of a shorter one wait
/// in the processor, and take no time that could be seen.
pub(super) const STREAMED_BYTES: usize = 4096;

/// Bodies from one that is measured to the next: while all go by plain stores, and while they go
/// past the caches. Measuring costs two looks at the clock; a plain copy afar costs three of the
/// others.
const PERIOD_NEAR: u32 = 16;
const PERIOD_FAR: u32 = 64;

/// Bytes in a nanosecond. Plain stores to cores that share a cache reach 13 to 17; to others 4 or
/// 5.
const SLOW: u64 = 8;
const FAST: u64 = 11;

/// So many measurements in a row must agree: a single one may have been interrupted.
const AGREE: u32 = 3;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    Plain,
    /// Plain, and measured.
    Timed(Instant),
    /// Past the caches.
    Stream,
}

impl Store {
    /// Copies `body` to `room`, which is as long.
    pub(super) fn copy(self, room: Span, body: Span) {
        match self {
            Self::Plain | Self::Timed(_) => room.copy_from(body),
            Self::Stream => room.stream_from(body),
        };
    }
}

/// What a sender knows of the way to the receiver's core.
#[derive(Debug)]
pub(super) struct Afar {
    clock: Clock,
    is_far: bool,
    /// Bodies since the last one that was measured.
    count: u32,
    /// Measurements in a row that speak against `is_far`.
    against: u32,
}

impl Afar {
    pub(super) fn new() -> Self {
        Self {
            clock: Clock::start(),
            is_far: false,
            count: 0,
            against: 0,
        }
    }

    /// How the next body of `bytes` bytes is written. A timed one begins now.
    pub(super) fn next(&mut self, bytes: usize) -> Store {
        if bytes < STREAMED_BYTES {
            return Store::Plain;
        }
        self.count += 1;
        match self.is_far {
            false if self.count < PERIOD_NEAR => Store::Plain,
            true if self.count < PERIOD_FAR => Store::Stream,
            _ => Store::Timed(self.clock.now()),
        }
    }

    /// Notes that a body of `bytes` bytes has been written.
    #[inline]
    pub(super) fn note(&mut self, store: Store, bytes: usize) {
        if let Store::Timed(begun) = store {
            let took = self.clock.now().0.saturating_sub(begun.0);
            self.measured(bytes as u64, took);
        }
    }

    fn measured(&mut self, bytes: u64, nanoseconds: u64) {
        self.count = 0;
        let speaks_against = if self.is_far {
            bytes > FAST * nanoseconds
        } else {
            bytes < SLOW * nanoseconds
        };
        self.against = if speaks_against { self.against + 1 } else { 0 };
        if self.against == AGREE {
            (self.is_far, self.against) = (!self.is_far, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 8192;

    /// Sends `count` bodies; a plain one takes `nanoseconds`. Returns how many went past the
    /// caches.
    fn send(afar: &mut Afar, count: u32, nanoseconds: u64) -> u32 {
        let mut streamed = 0;
        for _ in 0..count {
            match afar.next(BYTES) {
                Store::Plain => {}
                Store::Timed(_) => afar.measured(BYTES as u64, nanoseconds),
                Store::Stream => streamed += 1,
            }
        }
        streamed
    }

    const NEAR: u64 = 500;
    const FAR: u64 = 1900;

    #[test]
    fn bodies_go_past_the_caches_while_plain_stores_are_slow() {
        let mut afar = Afar::new();
        assert_eq!(send(&mut afar, 1000, NEAR), 0);
        send(&mut afar, AGREE * PERIOD_NEAR, FAR);
        assert_eq!(send(&mut afar, 640, FAR), 630);
        send(&mut afar, AGREE * PERIOD_FAR, NEAR);
        assert_eq!(send(&mut afar, 1000, NEAR), 0);
    }

    #[test]
    fn an_interruption_and_a_figure_between_change_nothing() {
        let mut afar = Afar::new();
        for _ in 0..10 {
            send(&mut afar, (AGREE - 1) * PERIOD_NEAR, 1_000_000);
            assert_eq!(send(&mut afar, PERIOD_NEAR, NEAR), 0);
        }
        send(&mut afar, AGREE * PERIOD_NEAR, FAR);
        let between = BYTES as u64 / (SLOW + 1);
        assert!(send(&mut afar, 1000, between) > 900);
    }

    #[test]
    fn short_bodies_are_written_by_plain_stores_and_not_measured() {
        let mut afar = Afar::new();
        send(&mut afar, AGREE * PERIOD_NEAR, FAR);
        for _ in 0..100 {
            assert_eq!(afar.next(STREAMED_BYTES - 1), Store::Plain);
        }
        assert_eq!(afar.count, 0);
    }
}
