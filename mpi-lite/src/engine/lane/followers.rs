//! What threads that wait at once find behind the lock of the lane (`waiting::waiters`): when it
//! calls them. Each thread that leaves the lane by its mutex calls: the leader, a thread that tests
//! or sends, or the ticker.

use super::Lane;
use crate::clock::Instant;
use crate::engine::requests::CompletionState;
use crate::engine::requests::Request;
use crate::engine::waiting::Leave;
use crate::engine::waiting::WaitHistory;
use crate::engine::waiting::{Seen, Shared, Until, Waiters};
use crate::transport::Progress;

impl Leave for Lane {
    #[inline]
    fn before_leave(&mut self) {
        if self.waiters.is_led() {
            self.tell_waiters();
        }
    }
}

impl Shared for Lane {
    #[inline]
    fn waiters(&mut self) -> &mut Waiters {
        &mut self.waiters
    }

    /// Calls the followers for which something may have changed; wakes a sleeping leader if its
    /// operation has finished or it has something to do.
    #[cold]
    fn tell_waiters(&mut self) {
        let seen = self.seen();
        let requests = &self.traffic.parts.requests;
        let is_over = self.waiters.tell(seen, |one| {
            !matches!(requests.state(Request(one)), Ok(CompletionState::Pending))
        });
        if !self.waiters.is_leader_asleep() {
            return;
        }
        // A thread that computes now may have kept messages back. Nobody else would send them.
        self.flush();
        let (wake_at, wants_room) = (self.links.wake_at(), self.parts.inbox.wants_room());
        let has_more = is_over
            || self.parts.requests.has_woken()
            || self.waiters.oversleeps(wake_at, wants_room);
        if has_more {
            self.waiters.wake_leader();
        }
    }

    fn note_follower(&mut self, until: Until) -> Option<Instant> {
        self.waiters.note_sleep();
        self.waiters.take_look_again(until)
    }
}

impl Lane {
    /// Returns how many operations must have finished before a thread that waits for `count` more
    /// looks again. A single thread also takes in that many before it looks. Several threads do
    /// not: they would keep each other from looking.
    pub(crate) fn await_more(&mut self, count: u64) -> u64 {
        let requests = &mut self.traffic.parts.requests;
        match self.waiters.may_be_several() {
            false => requests.await_more(count),
            true => requests.finished() + count,
        }
    }

    fn seen(&self) -> Seen {
        let parts = &self.parts;
        let unexpected = parts.inbox.unexpected_count();
        let (sends, lost) = (parts.outbox.len(), parts.peers.lost().len());
        Seen::new(
            parts.requests.finished(),
            [unexpected, sends as u64, lost as u64],
        )
    }

    /// Calls the followers after a turn of the leader.
    pub(crate) fn tell_after_turn(&mut self, progress: Progress, now: Instant) {
        if self.waiters.call_now_and_then(now) || progress != Progress::Idle {
            self.tell_waiters();
        }
    }

    /// What the waits of this process have shown of its core.
    #[inline(always)]
    pub(crate) fn history(&mut self) -> &mut WaitHistory {
        &mut self.history
    }
}
