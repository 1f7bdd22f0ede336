//! A turn: each link makes progress.

use super::Lane;
use crate::clock::Instant;
use crate::transport::{Links, Progress};

impl Lane {
    /// Takes a turn: each link makes progress.
    pub fn turn(&mut self, now: Instant) -> Progress {
        self.turn_until(now, &mut |_: &mut Self| None::<()>).0
    }

    /// Takes a turn, and returns what `ready` returns after it.
    #[inline(always)]
    pub(crate) fn turn_whole<T>(
        &mut self,
        now: Instant,
        ready: &mut impl FnMut(&mut Self) -> Option<T>,
    ) -> (Progress, Option<T>) {
        let progress = self.turn(now);
        (progress, ready(self))
    }

    /// Takes a turn that ends as soon as `ready` returns something. `ready` is called each time
    /// that an operation has finished, and at the end. The rest is left for the next turn: a thread
    /// that waits for a message should answer it first.
    #[inline(always)]
    pub(crate) fn turn_until<T>(
        &mut self,
        now: Instant,
        ready: &mut impl FnMut(&mut Self) -> Option<T>,
    ) -> (Progress, Option<T>) {
        self.flush();
        let mut progress = Progress::Idle;
        let first = usize::from(!self.links.own_is_busy());
        for link in first..self.links.count() {
            let mut told = 0;
            loop {
                let pass = self.pass(link, now, told);
                progress = progress.max(pass.progress);
                if pass.has_finished
                    && let Some(answer) = ready(self)
                {
                    return (Progress::Delivered, Some(answer));
                }
                if !pass.has_more {
                    break;
                }
                told = pass.told;
            }
            if link == Links::OWN {
                self.links.note_own_turn();
            }
        }
        (progress, ready(self))
    }

    /// Lets the links make progress that a turn does not reach if it ends early, with the awaited
    /// message. The link through memory is left out: what arrives there is most likely for the
    /// receive that is about to look.
    pub(crate) fn look_around(&mut self, now: Instant) {
        self.shrink();
        for link in 0..self.links.count() {
            if Some(link) != self.links.memory() {
                self.pass(link, now, 0);
            }
        }
    }

    /// Prepares the links for a sleep of the program. Returns true if nothing has come meanwhile.
    pub(crate) fn begin_sleep(&mut self) -> bool {
        self.shrink();
        self.links.set_asleep(true)
    }

    /// Ends the sleep of the program.
    pub(crate) fn end_sleep(&mut self) {
        self.links.set_asleep(false);
    }

    /// Frees the memory of long queues that are empty. Called now and then: to call it for each
    /// message would cost too much.
    pub fn shrink(&mut self) {
        self.parts.requests.shrink();
        self.parts.inbox.shrink();
        self.parts.outbox.shrink();
    }
}
