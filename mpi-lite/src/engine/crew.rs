//! The threads of the program that wait, as the lane knows them: `lead` says what they do.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::clock::Instant;
use crate::slab::Key;

/// What a follower waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The operation of this request has finished.
    Finished(Key),
    /// So many operations of the lane have finished.
    Count(u64),
    /// Anything has changed, in the lane or in the memory of the node. The leader sees no memory
    /// for others: it wakes these before and after each sleep, and now and then.
    Change,
}

/// On what a follower sleeps.
#[derive(Debug, Default)]
pub(super) struct Bed {
    is_called: Mutex<bool>,
    called: Condvar,
}

impl Bed {
    pub(super) fn call(&self) {
        *self.is_called.lock() = true;
        self.called.notify_one();
    }

    /// Sleeps until it is called, or for so long.
    pub(super) fn sleep(&self, most: Option<Duration>) {
        let mut is_called = self.is_called.lock();
        while !*is_called {
            let Some(most) = most else {
                self.called.wait(&mut is_called);
                continue;
            };
            if self.called.wait_for(&mut is_called, most).timed_out() {
                break;
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Follower {
    pub(super) bed: Arc<Bed>,
    pub(super) until: Until,
}

/// What followers may wait for, as far as the lane knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) finished: u64,
    pub(super) unexpected: u64,
    pub(super) sends: usize,
    pub(super) lost: usize,
}

/// What a leader knew when it went to sleep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleep {
    pub(super) until: Option<Instant>,
    pub(super) wants_room: bool,
}

/// The threads of the program that wait.
#[derive(Debug, Default)]
pub(super) struct Crew {
    /// One of them takes turns.
    pub(super) is_led: bool,
    /// A follower was called that may lead, and has not come yet.
    pub(super) is_heir_called: bool,
    pub(super) followers: Vec<Follower>,
    /// What was known when followers were last called.
    pub(super) seen: Seen,
    pub(super) sleep: Option<Sleep>,
    /// When those who wait for any change were last called.
    pub(super) called_at: Option<Instant>,
    /// Wakes the leader. There is one if several threads may wait.
    pub(super) bell: Option<OwnedFd>,
}

impl Crew {
    /// Nobody leads any more, or who may have been called to lead has not: calls another one.
    pub(super) fn pass_on(&mut self) {
        if self.is_led || self.is_heir_called {
            return;
        }
        if let Some(heir) = self.followers.pop() {
            self.is_heir_called = true;
            heir.bed.call();
        }
    }

    pub(super) fn call_if(&mut self, mut is_met: impl FnMut(Until) -> bool) {
        self.followers.retain(|follower| {
            let is_met = is_met(follower.until);
            if is_met {
                follower.bed.call();
            }
            !is_met
        });
    }

    /// Those look who wait for what the lane does not know.
    pub(super) fn call_to_look(&mut self) {
        self.call_if(|until| until == Until::Change);
    }
}
