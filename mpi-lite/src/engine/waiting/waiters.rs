//! Several threads of the program that wait at once: one of them leads, the others follow.
//!
//! The leader takes turns for all. A follower notes what it waits for, and sleeps until that may
//! have happened, or until it must lead. One lock covers all of it: a follower enters the list
//! before it leaves the lock under which it looked, and a thread that leaves the lock calls the
//! followers for which something has changed under it. So no call is lost, whichever thread makes
//! the change.
//!
//! `lead` defines what is behind the lock, and how a thread leads. Decision 0046.

use std::os::fd::OwnedFd;

use super::lock::{Guard, Leave};
use crate::clock::Instant;
use crate::slab::Key;
use crate::sync::{Thread, current_thread, yield_now};

/// What a follower waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// The operation of this request has finished.
    Finished(Key),
    /// This many operations of the lane have finished.
    Count(u64),
    /// Anything has changed, in the lane or in the memory of the node. The leader does not watch
    /// the memory for others: it calls these before and after each sleep, and now and then.
    Change,
}

/// How often a thread that waits for any change looks before it sleeps.
const LOOKS_OF_FOLLOWER: u32 = 16;

/// A thread that sleeps until it is called.
#[derive(Debug)]
struct Follower {
    thread: Thread,
    until: Until,
}

/// The threads of the program that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// One of them takes turns.
    is_led: bool,
    /// A follower was called to lead, and has not woken yet.
    is_next_leader_called: bool,
    followers: Vec<Follower>,
}

/// What followers may wait for, as far as the lane can check it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) finished: u64,
    pub(crate) unexpected: u64,
    pub(crate) sends: usize,
    pub(crate) lost: usize,
}

/// What a leader that went to sleep waits for, and the state of the lane then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep {
    pub(crate) awaits: Until,
    pub(crate) until: Option<Instant>,
    pub(crate) wants_room: bool,
}

/// What the leader keeps in the lane.
#[derive(Debug, Default)]
pub(crate) struct Lead {
    /// The state of the lane when followers were last called.
    pub(crate) seen: Seen,
    /// The leader sleeps, and must be woken if this changes.
    pub(crate) sleep: Option<Sleep>,
    /// When the followers that wait for any change were last called.
    pub(crate) called_at: Option<Instant>,
    /// Wakes the leader. There is one if several threads may wait.
    pub(crate) doorbell: Option<OwnedFd>,
}

#[cfg(test)]
impl Lead {
    pub(crate) fn is_asleep(&self) -> bool {
        self.sleep.is_some()
    }

    pub(crate) fn has_doorbell(&self) -> bool {
        self.doorbell.is_some()
    }
}

/// Returns something if what a thread waits for has happened.
// Not generic: a thread that is alone has the code of its turns to itself, as it must be quick.
pub(crate) type Ready<'a, L, T> = &'a mut dyn FnMut(&mut L) -> Option<T>;

/// What is behind the lock under which threads wait.
pub(crate) trait Shared: Leave {
    /// The threads that wait.
    fn waiters(&mut self) -> &mut Waiters;

    /// Calls the followers for which something may have changed.
    fn tell_waiters(&mut self);

    /// Notes that a follower that waits for `until` is about to sleep. Returns when it must look
    /// again at the latest.
    fn note_follower(&mut self, until: Until) -> Option<Instant>;
}

impl Waiters {
    /// Returns true if a thread leads.
    #[inline]
    pub(crate) fn is_led(&self) -> bool {
        self.is_led
    }

    /// How many threads follow.
    pub(crate) fn followers(&self) -> usize {
        self.followers.len()
    }

    /// Calls the followers for whose condition `is_met` holds.
    pub(crate) fn call_if(&mut self, mut is_met: impl FnMut(Until) -> bool) {
        self.followers.retain(|follower| {
            let is_met = is_met(follower.until);
            if is_met {
                follower.thread.unpark();
            }
            !is_met
        });
    }

    /// Nobody leads any more, or the thread that may have been called to lead does not: calls
    /// another one.
    fn pass_on(&mut self) {
        if self.is_led || self.is_next_leader_called {
            return;
        }
        if let Some(next) = self.followers.pop() {
            self.is_next_leader_called = true;
            next.thread.unpark();
        }
    }
}

/// Waits as one of several threads, after it has looked in vain. If no thread leads this one does,
/// by `lead`, which returns what it is `ready` with; else it follows, and sleeps in `park`, which
/// returns when the thread is unparked, at that time at the latest, or earlier.
pub(crate) fn wait<L: Shared, T>(
    lane: &mut Guard<'_, L>,
    until: &dyn Fn(&L) -> Until,
    ready: Ready<'_, L, T>,
    park: &dyn Fn(Option<Instant>),
    lead: impl FnOnce(&mut Guard<'_, L>, Ready<'_, L, T>) -> T,
) -> T {
    while lane.waiters().is_led {
        let until = until(lane);
        if let Some(answer) = follow(lane, until, ready, park) {
            lane.waiters().pass_on();
            return answer;
        }
    }
    lane.waiters().is_led = true;
    let answer = lead(lane, ready);
    lane.tell_waiters();
    lane.waiters().is_led = false;
    lane.waiters().pass_on();
    answer
}

/// Sleeps as a follower, and looks.
fn follow<L: Shared, T>(
    lane: &mut Guard<'_, L>,
    until: Until,
    ready: Ready<'_, L, T>,
    park: &dyn Fn(Option<Instant>),
) -> Option<T> {
    if until == Until::Change {
        for _ in 0..LOOKS_OF_FOLLOWER {
            lane.unlocked(yield_now);
            if let Some(answer) = ready(lane) {
                return Some(answer);
            }
        }
        if !lane.waiters().is_led {
            return None;
        }
    }
    let latest = lane.note_follower(until);
    let thread = current_thread();
    let me = thread.id();
    lane.waiters().followers.push(Follower { thread, until });
    lane.unlocked(|| park(latest));
    let waiters = lane.waiters();
    waiters.is_next_leader_called = false;
    waiters.followers.retain(|other| other.thread.id() != me);
    ready(lane)
}
