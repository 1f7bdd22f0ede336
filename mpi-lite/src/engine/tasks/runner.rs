//! Polls tasks: in calls of the program that wait or test, and in the ticker.

use crate::engine::lane::Lane;
use crate::engine::tasks::book::{Runner, Tasks};
use crate::engine::waiting::Guard;

impl Tasks {
    /// Returns true if a task may be able to go on; costs a few instructions.
    #[inline(always)]
    pub(crate) fn is_due(&self, lane: &Lane) -> bool {
        lane.requests().has_woken() || self.needs_look()
    }

    /// Lets the tasks go on that can. Returns true if any may have gone on, so that requests may
    /// have finished. The lane is left to others meanwhile.
    pub(crate) fn advance(&self, lane: &mut Guard<'_, Lane>) -> bool {
        if !self.may_advance(lane) {
            return false;
        }
        while let Some((number, work)) = self.next(lane, Runner::Program) {
            lane.unlocked(|| self.poll(number, work));
        }
        true
    }

    /// Lets the tasks go on for the ticker, which visits the lane by `visit`: a program that has
    /// come back does it itself. Returns whether it has polled any; `None` if none is due.
    pub(crate) fn advance_as_ticker<'a>(
        &self,
        mut lane: Guard<'a, Lane>,
        visit: impl Fn() -> Option<Guard<'a, Lane>>,
    ) -> Option<bool> {
        if !self.may_advance(&lane) {
            return None;
        }
        let mut has_polled = false;
        while let Some((number, work)) = self.next(&mut lane, Runner::Ticker) {
            drop(lane);
            self.poll(number, work);
            has_polled = true;
            match visit() {
                Some(again) => lane = again,
                None => {
                    self.leave();
                    break;
                }
            }
        }
        Some(has_polled)
    }

    /// A task can go on, and this thread polls: no other one does.
    fn may_advance(&self, lane: &Lane) -> bool {
        let is_due = lane.requests().has_woken() || self.look_again();
        is_due && self.begin()
    }
}
