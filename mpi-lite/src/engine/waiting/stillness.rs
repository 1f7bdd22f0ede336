//! The ticker stands still while a thread of the program wants to be alone.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

use crate::clock::Instant;
use crate::sync::{sleep_on, wake_from};

/// The ticker comes within this time, or the moment does not.
const PATIENCE: Duration = Duration::from_millis(100);

/// So long a thread sleeps at most before it looks again.
const A_WHILE: Duration = Duration::from_millis(1);

/// Whether the ticker stands still. While it does, it reads one word and writes none.
#[derive(Debug, Default)]
pub(crate) struct Stillness {
    asked: AtomicU32,
    tickers: AtomicU32,
}

const NO: u32 = 0;
const ASKED: u32 = 1;
const STANDS: u32 = 2;

/// A ticker runs.
pub(super) struct Ticks<'a>(&'a Stillness);

impl Drop for Ticks<'_> {
    fn drop(&mut self) {
        self.0.tickers.fetch_sub(1, AcqRel);
    }
}

/// The ticker stands still while this lives.
pub(crate) struct Stands<'a>(&'a Stillness);

impl Drop for Stands<'_> {
    fn drop(&mut self) {
        self.0.asked.store(NO, Release);
    }
}

impl Stillness {
    /// Notes that a ticker begins to run.
    pub(super) fn begin(&self) -> Ticks<'_> {
        self.tickers.fetch_add(1, AcqRel);
        Ticks(self)
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Acquire) == ASKED
    }

    /// For the ticker: stands still as long as a thread wants it.
    pub(super) fn stand_still_if_asked(&self) {
        // A load leaves the line to the threads that count their turns beside it.
        if !self.is_asked() {
            return;
        }
        let stands = self.asked.compare_exchange(ASKED, STANDS, AcqRel, Relaxed);
        wake_from(&self.asked);
        while stands.is_ok() && self.asked.load(Acquire) == STANDS {
            // Not for long: the word may be moved meanwhile, and nobody wakes this thread then.
            sleep_on(&self.asked, STANDS, A_WHILE);
        }
    }

    /// How many tickers run: one as a rule.
    pub(crate) fn tickers(&self) -> usize {
        self.tickers.load(Acquire) as usize
    }

    /// Makes the ticker stand still, if there is one; `wake` wakes it. `None`: it does not come.
    pub(crate) fn ask(&self, wake: impl FnOnce(), now: impl Fn() -> Instant) -> Option<Stands<'_>> {
        let stands = Stands(self);
        if self.tickers() == 0 {
            return Some(stands);
        }
        self.asked.store(ASKED, Release);
        wake();
        let deadline = now().plus(PATIENCE);
        while self.asked.load(Acquire) != STANDS {
            if now() >= deadline {
                let given_up = self.asked.compare_exchange(ASKED, NO, AcqRel, Relaxed);
                return given_up.is_err().then_some(stands);
            }
            sleep_on(&self.asked, ASKED, A_WHILE);
        }
        Some(stands)
    }
}
