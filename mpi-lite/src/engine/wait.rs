//! The only file that blocks.
//!
//! Who waits takes turns itself: it spins for a while, because an answer within microseconds is
//! the common case and waking a sleeping process costs ten times as much; then it gives the core
//! to others a few times; then it sleeps on the links' descriptors until something arrives or a
//! deadline of the protocol is due.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::Engine;
use super::lane::Lane;
use super::lock::Guard;
use crate::clock::Instant;

/// How long a waiting thread stays awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Time to spin, before it sleeps.
    pub spin: Duration,
    /// Time of that in which it keeps its core; from then on it offers it to others at each turn.
    pub hold: Duration,
    /// How often it offers its core at least, before it sleeps.
    pub yields: u32,
}

impl Patience {
    /// Whoever waits keeps its core for ever.
    pub const SPINNING: Self = Self {
        spin: Duration::MAX,
        hold: Duration::MAX,
        yields: 0,
    };

    /// Whoever waits offers its core at each look.
    pub const YIELDING: Self = Self {
        spin: Duration::MAX,
        hold: Duration::ZERO,
        yields: 0,
    };

    /// Whoever waits sleeps at once.
    pub const BLOCKING: Self = Self {
        spin: Duration::ZERO,
        hold: Duration::ZERO,
        yields: 0,
    };

    /// The policy for `local` ranks on `cores` cores: with a core each, spinning disturbs nobody;
    /// otherwise whoever we wait for needs our core.
    #[must_use]
    pub fn of(local: usize, cores: usize) -> Self {
        if local <= cores {
            // A blocked rank is to be quiet after its first millisecond. And cores are never
            // quite ours: two ranks that happen to share one must not spin against each other.
            Self {
                spin: Duration::from_millis(1),
                hold: Duration::from_micros(20),
                yields: 0,
            }
        } else {
            Self {
                spin: Duration::ZERO,
                hold: Duration::ZERO,
                yields: 2,
            }
        }
    }
}

/// A descriptor on which threads sleep until another rings it.
pub(super) fn bell() -> std::io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)
}

/// How often a spinning thread looks before it reads the clock again: reading it takes about a
/// tenth as long as looking.
const LOOKS_PER_TIME: u32 = 8;

impl Engine {
    /// Takes turns until `ready` answers something.
    #[inline(always)]
    pub fn wait_until<T>(&self, mut ready: impl FnMut(&mut Lane) -> Option<T>) -> T {
        let mut lane = self.lane.lock();
        lane.flush();
        match ready(&mut lane) {
            Some(answer) => answer,
            None => self.take_turns(lane, ready, Lane::turn_whole),
        }
    }

    /// The same for who has the lane already; the turn ends as soon as `ready` answers, which is
    /// asked whenever an operation has finished and must be quick.
    #[inline(always)]
    pub(super) fn wait_in<T>(
        &self,
        mut lane: Guard<'_, Lane>,
        mut ready: impl FnMut(&mut Lane) -> Option<T>,
    ) -> T {
        lane.flush();
        match ready(&mut lane) {
            Some(answer) => answer,
            None => self.take_turns(lane, ready, Lane::turn_until),
        }
    }

    #[inline(never)]
    fn take_turns<T, Ready: FnMut(&mut Lane) -> Option<T>>(
        &self,
        mut lane: Guard<'_, Lane>,
        mut ready: Ready,
        turn: impl Fn(&mut Lane, Instant, &mut Ready) -> (bool, Option<T>),
    ) -> T {
        let mut now = self.clock.now();
        let mut begin = None;
        let (mut yields, mut looks) = (0, 0_u32);
        loop {
            self.count_turn();
            let (worked, answer) = turn(&mut lane, now, &mut ready);
            if let Some(answer) = answer {
                lane.note_wait(yields > 0);
                return answer;
            }
            looks += 1;
            if worked || yields > 0 || looks.is_multiple_of(LOOKS_PER_TIME) {
                now = self.clock.now();
            }
            if worked {
                begin = None;
                yields = 0;
                continue;
            }
            let waited = now.since(*begin.get_or_insert(now));
            if waited < self.patience.hold && !lane.gives_way() {
                // Asking the system is pause enough.
                continue;
            }
            if waited < self.patience.spin || yields < self.patience.yields {
                yields += 1;
                lane.unlocked(std::thread::yield_now);
            } else {
                if let Some(answer) = self.sleep(&mut lane, &mut ready) {
                    return answer;
                }
                now = self.clock.now();
            }
        }
    }

    /// Notes that somebody takes a turn; who has the lane is the only one who writes.
    #[inline]
    pub(super) fn count_turn(&self) {
        let turns = self.turns.load(Ordering::Relaxed);
        self.turns.store(turns + 1, Ordering::Relaxed);
    }

    /// Takes one turn and looks: for the calls that test.
    #[inline]
    pub fn look<T>(&self, look: impl FnOnce(&mut Lane) -> T) -> T {
        let mut lane = self.lane.lock();
        self.count_turn();
        let now = self.clock.now();
        let worked = lane.turn(now);
        if !worked && self.patience.hold.is_zero() && lane.is_tested_in_vain() {
            // A program that tests in a loop keeps those from their core that it waits for.
            lane.unlocked(std::thread::yield_now);
        }
        look(&mut lane)
    }

    /// Sleeps, unless there is something to do. Looks once more before that, now that others know
    /// whom they have to wake.
    fn sleep<T>(
        &self,
        lane: &mut Guard<'_, Lane>,
        ready: &mut impl FnMut(&mut Lane) -> Option<T>,
    ) -> Option<T> {
        let wake_at = lane.wake_at();
        if wake_at == Some(Instant::ZERO) {
            // There is something to do already, perhaps for somebody who needs this core first.
            lane.unlocked(std::thread::yield_now);
            return None;
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let is_quiet = lane.begin_rest();
        let answer = ready(lane);
        if is_quiet && answer.is_none() {
            lane.counters.sleeps += 1;
            lane.unlocked(|| self.doze(wake_at));
        }
        if self.sleepers.fetch_sub(1, Ordering::SeqCst) == 1 {
            lane.end_rest();
        }
        answer
    }

    /// Sleeps until a link has something, the bell rings, or `until`. Answers whether it was woken
    /// before.
    #[expect(clippy::disallowed_methods, reason = "this file blocks")]
    pub(super) fn doze(&self, until: Option<Instant>) -> bool {
        let timeout = until.map(|until| {
            let left = until.since(self.clock.now());
            Timespec::try_from(left).unwrap_or(Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            })
        });
        let watched = self.doorbells.iter().chain([&self.bell]);
        let mut watched: Vec<_> = watched.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        // Interrupted by a signal: the caller looks again.
        let woken = poll(&mut watched, timeout.as_ref()).unwrap_or(0);
        let rung = watched
            .last()
            .is_some_and(|bell| !bell.revents().is_empty());
        if rung {
            let _ = rustix::io::read(self.bell.as_fd(), &mut [0; 8]);
        }
        woken > 0
    }

    /// Wakes all sleepers, if there are any.
    pub(super) fn ring(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _ = rustix::io::write(self.bell.as_fd(), &1u64.to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_core_of_its_own_does_not_spin() {
        assert!(Patience::of(3, 2).spin.is_zero());
        assert!(!Patience::of(2, 2).spin.is_zero());
    }
}
