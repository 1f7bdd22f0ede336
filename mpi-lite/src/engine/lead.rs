//! Several threads of the program that wait at once: one of them leads, the others follow.
//!
//! The leader takes turns for all, as a single thread would (`wait`); only it sleeps on the links'
//! descriptors and on the bell. A follower says what it waits for, and sleeps until that may have
//! happened, or until it is to lead. All of it is under the lane's lock: a follower is in the list
//! before it leaves the lock under which it looked, and whoever leaves the lock wakes those for
//! whom something has changed under it (`Lane::before_leave`). So no wakeup is lost, whoever it is
//! that changes something: the leader, a thread that tests or sends, or the ticker.
//!
//! Programs that did not ask for `MPI_THREAD_MULTIPLE` have neither. Decision 0046.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Engine;
use super::crew::{Bed, Follower, Seen, Sleep, Until};
use super::lane::Lane;
use super::lock::{Guard, Leave};
use super::request::{Request, Stand};
use crate::clock::Instant;
use crate::transport::Progress;

/// How often a leader that does not sleep wakes those who wait for any change.
const CALL: Duration = Duration::from_micros(100);

/// So often who waits for any change looks before it sleeps.
const LOOKS_OF_FOLLOWER: u32 = 16;

/// What a thread waits for answers something.
// Not generic: a thread that is alone has the code of its turns to itself, as it must be quick.
type Ready<'a, T> = &'a mut dyn FnMut(&mut Lane) -> Option<T>;

/// How the leader takes a turn.
type Turn<T> = fn(&mut Lane, Instant, &mut Ready<'_, T>) -> (Progress, Option<T>);

impl Leave for Lane {
    #[inline]
    fn before_leave(&mut self) {
        if self.crew.is_led {
            self.tell_crew();
        }
    }
}

impl Lane {
    /// Who waits for so many more operations to finish looks when they have. One thread alone also
    /// takes in so many before it looks; several would keep each other from looking.
    pub(super) fn await_more(&mut self, count: u64) -> u64 {
        let requests = &mut self.delivery.requests;
        match self.crew.bell {
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

    /// Calls those followers for whom something may have changed; wakes a leader who sleeps and has
    /// something to do.
    #[cold]
    fn tell_crew(&mut self) {
        let seen = self.seen();
        if seen != self.crew.seen {
            self.crew.seen = seen;
            let requests = &self.delivery.requests;
            self.crew.call_if(|until| match until {
                Until::Finished(one) => !matches!(requests.stand(Request(one)), Ok(Stand::Pending)),
                Until::Count(count) => count <= seen.finished,
                Until::Change => true,
            });
        }
        let Some(sleep) = self.crew.sleep else {
            return;
        };
        // Nobody else sends on what a thread held back that computes now.
        self.flush();
        let is_earlier = |at| sleep.until.is_none_or(|until| at < until);
        let has_more = self.wake_at().is_some_and(is_earlier)
            || self.delivery.requests.has_woken()
            || (self.delivery.taken.wants_room() && !sleep.wants_room);
        if has_more && let Some(bell) = &self.crew.bell {
            self.crew.sleep = None;
            let _ = rustix::io::write(bell.as_fd(), &1u64.to_ne_bytes());
        }
    }

    /// After a turn of the leader.
    pub(super) fn lead_crew(&mut self, progress: Progress, now: Instant) {
        if progress != Progress::Idle {
            self.tell_crew();
        }
        let is_due = |at: Instant| now.since(at) >= CALL;
        if self.crew.called_at.is_none_or(is_due) {
            self.crew.called_at = Some(now);
            self.tell_crew();
            self.crew.call_to_look();
        }
    }

    /// The leader is about to sleep until then; neighbours know already that they are to wake it.
    pub(super) fn begin_sleep_of_leader(&mut self, until: Option<Instant>) {
        let wants_room = self.delivery.taken.wants_room();
        self.crew.sleep = Some(Sleep { until, wants_room });
        self.crew.call_to_look();
    }

    pub(super) fn end_sleep_of_leader(&mut self) {
        self.crew.sleep = None;
        self.crew.call_to_look();
    }
}

impl Engine {
    /// From now on several threads may be inside at once. The thread that made the engine calls it
    /// before another one is inside.
    ///
    /// # Errors
    /// The system has no more file descriptors.
    pub fn allow_threads(&self) -> std::io::Result<()> {
        let bell = self.bell.try_clone()?;
        self.lane.share();
        self.with(|lane| lane.crew.bell = Some(bell));
        self.is_threaded.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Several threads may be inside at once.
    #[inline(always)]
    #[must_use]
    pub fn is_threaded(&self) -> bool {
        self.is_threaded.load(Ordering::Relaxed)
    }

    /// Waits as one of several threads, after it has looked: leads, or follows.
    #[inline(never)]
    pub(super) fn wait_in_crew<T>(
        &self,
        mut lane: Guard<'_, Lane>,
        until: &dyn Fn(&Lane) -> Until,
        mut ready: Ready<'_, T>,
        turn: Turn<T>,
    ) -> T {
        loop {
            if !lane.crew.is_led {
                lane.crew.is_led = true;
                let answer = self.take_turns::<true, _, _>(&mut lane, &mut ready, turn);
                lane.tell_crew();
                lane.crew.is_led = false;
                lane.crew.pass_on();
                return answer;
            }
            let until = until(&lane);
            let early = match until {
                Until::Change => look_again(&mut lane, &mut ready),
                _ => None,
            };
            let answer = early.or_else(|| {
                self.follow(&mut lane, until);
                ready(&mut lane)
            });
            if let Some(answer) = answer {
                lane.crew.pass_on();
                return answer;
            }
        }
    }

    /// Sleeps as a follower.
    fn follow(&self, lane: &mut Guard<'_, Lane>, until: Until) {
        if !lane.crew.is_led {
            return;
        }
        // Set by who looks, for itself.
        let look_again_at = lane.look_again_at.take();
        let most = look_again_at.filter(|_| until == Until::Change);
        let most = most.map(|at| at.since(self.clock.now()));
        let bed = Arc::new(Bed::default());
        let follower = Follower {
            bed: Arc::clone(&bed),
            until,
        };
        lane.crew.followers.push(follower);
        lane.delivery.counters.sleeps += 1;
        lane.unlocked(|| bed.sleep(most));
        lane.crew.is_heir_called = false;
        let is_other = |follower: &Follower| !Arc::ptr_eq(&follower.bed, &bed);
        lane.crew.followers.retain(is_other);
    }
}

/// Looks a few times, with the lane left to others between.
fn look_again<T>(
    lane: &mut Guard<'_, Lane>,
    ready: &mut impl FnMut(&mut Lane) -> Option<T>,
) -> Option<T> {
    for _ in 0..LOOKS_OF_FOLLOWER {
        lane.unlocked(std::thread::yield_now);
        if let Some(answer) = ready(lane) {
            return Some(answer);
        }
    }
    None
}
