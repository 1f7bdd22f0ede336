//! How one of several waiting threads leads, and when the lane calls the others (`waiters`).
//!
//! The leader takes turns as a single thread would (`wait`). Only the leader sleeps on the links'
//! descriptors and on the doorbell. Each thread that leaves the lane by its mutex calls the waiting
//! threads: the leader, a thread that tests or sends, or the ticker.
//!
//! Programs without `MPI_THREAD_MULTIPLE` have no leader and no followers. Decision 0046.

use std::cell::Cell;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::clock::Instant;
use crate::engine::Engine;
use crate::engine::lane::Lane;
use crate::engine::report::waits::{Blockage, Describe};
use crate::engine::requests::operation::CompletionState;
use crate::engine::requests::request::Request;
use crate::engine::waiting::lock::{Guard, Leave};
use crate::engine::waiting::wait::Role;
use crate::engine::waiting::waiters::{self, Ready, Seen, Shared, Sleep, Until, Waiters};
use crate::transport::Progress;

/// How often a leader that does not sleep wakes the followers that wait for any change.
const CALL: Duration = Duration::from_micros(100);

/// How the leader takes a turn.
type Turn<T> = fn(&mut Lane, Instant, &mut Ready<'_, Lane, T>) -> (Progress, Option<T>);

/// A thread that leads, and what it waits for.
struct Leader<'a>(&'a dyn Fn(&Lane) -> Until);

impl Role for Leader<'_> {
    const LEADS: bool = true;

    fn awaits(&self, lane: &Lane) -> Until {
        self.0(lane)
    }
}

impl Leave for Lane {
    #[inline]
    fn before_leave(&mut self) {
        if self.waiters.is_led() {
            self.tell_waiters();
        }
    }
}

impl Shared for Lane {
    fn waiters(&mut self) -> &mut Waiters {
        &mut self.waiters
    }

    /// Calls the followers for which something may have changed; wakes a sleeping leader if its
    /// operation has finished or it has something to do.
    #[cold]
    fn tell_waiters(&mut self) {
        let seen = self.seen();
        let has_changed = seen != self.lead.seen;
        let requests = &self.delivery.requests;
        let may_be_over = |until| match until {
            Until::Finished(one) => {
                !matches!(requests.state(Request(one)), Ok(CompletionState::Pending))
            }
            Until::Count(count) => count <= seen.finished,
            Until::Change => true,
        };
        if has_changed {
            self.lead.seen = seen;
            self.waiters.call_if(may_be_over);
        }
        let Some(sleep) = self.lead.sleep else {
            return;
        };
        let is_over = has_changed && may_be_over(sleep.awaits);
        // A thread that computes now may have kept messages back. Nobody else would send them.
        self.flush();
        let is_earlier = |at| sleep.until.is_none_or(|until| at < until);
        let has_more = is_over
            || self.wake_at().is_some_and(is_earlier)
            || self.delivery.requests.has_woken()
            || (self.delivery.taken.wants_room() && !sleep.wants_room);
        if has_more && let Some(doorbell) = &self.lead.doorbell {
            self.lead.sleep = None;
            let _ = rustix::io::write(doorbell.as_fd(), &1u64.to_ne_bytes());
        }
    }

    fn note_follower(&mut self, until: Until) -> Option<Instant> {
        self.delivery.counters.sleeps += 1;
        // The thread that looks sets it for itself.
        let look_again_at = self.look_again_at.take();
        look_again_at.filter(|_| until == Until::Change)
    }
}

impl Lane {
    /// Returns how many operations must have finished before a thread that waits for `count` more
    /// looks again. A single thread also takes in that many before it looks. Several threads do
    /// not: they would keep each other from looking.
    pub(crate) fn await_more(&mut self, count: u64) -> u64 {
        let requests = &mut self.delivery.requests;
        match self.lead.doorbell {
            None => requests.await_more(count),
            Some(_) => requests.finished() + count,
        }
    }

    fn seen(&self) -> Seen {
        Seen {
            finished: self.delivery.requests.finished(),
            unexpected: self.delivery.counters.unexpected,
            sends: self.delivery.sends.len(),
            lost: self.delivery.peers.lost().len(),
        }
    }

    /// Calls the followers whose condition the lane cannot check.
    fn call_to_look(&mut self) {
        self.waiters.call_if(|until| until == Until::Change);
    }

    /// Calls the followers after a turn of the leader.
    pub(crate) fn tell_after_turn(&mut self, progress: Progress, now: Instant) {
        if progress != Progress::Idle {
            self.tell_waiters();
        }
        let is_due = |at: Instant| now.since(at) >= CALL;
        if self.lead.called_at.is_none_or(is_due) {
            self.lead.called_at = Some(now);
            self.tell_waiters();
            self.call_to_look();
        }
    }

    /// Notes that the leader, which waits for `awaits`, is about to sleep until then. Local peers
    /// wake it already.
    pub(crate) fn begin_sleep_of_leader(&mut self, awaits: Until, until: Option<Instant>) {
        self.lead.sleep = Some(Sleep {
            awaits,
            until,
            wants_room: self.delivery.taken.wants_room(),
        });
        self.call_to_look();
    }

    pub(crate) fn end_sleep_of_leader(&mut self) {
        self.lead.sleep = None;
        self.call_to_look();
    }
}

impl Engine {
    /// Allows several threads inside at once. The thread that made the engine must call it before
    /// another one is inside.
    ///
    /// # Errors
    /// The system has no more file descriptors.
    pub fn allow_threads(&self) -> std::io::Result<()> {
        let doorbell = self.own_doorbell.try_clone()?;
        self.lane.share();
        self.with(|lane| lane.lead.doorbell = Some(doorbell));
        self.is_threaded.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Returns true if several threads may be inside at once.
    #[inline(always)]
    #[must_use]
    pub fn is_threaded(&self) -> bool {
        self.is_threaded.load(Ordering::Relaxed)
    }

    /// Waits as one of several threads, after a check in vain: leads, or follows.
    #[inline(never)]
    pub(crate) fn wait_with_others<T>(
        &self,
        mut lane: Guard<'_, Lane>,
        (until, subject): (&dyn Fn(&Lane) -> Until, Describe<'_>),
        ready: Ready<'_, Lane, T>,
        turn: Turn<T>,
    ) -> T {
        let begin = self.clock.now();
        let blockage = Cell::new(Blockage::default());
        let park = |latest: Option<Instant>| match latest {
            None => std::thread::park(),
            Some(at) => std::thread::park_timeout(at.since(self.clock.now())),
        };
        let until = |lane: &Lane| {
            blockage.set(self.describe_if_asked((lane, subject), blockage.get(), begin));
            until(lane)
        };
        waiters::wait(&mut lane, &until, ready, &park, |lane, mut ready| {
            let role = Leader(&until);
            self.take_turns(role, (lane, &subject), &mut ready, turn)
        })
    }
}
