//! Receives that wait for their message, and what takes a request back.

use crate::engine::Engine;
use crate::engine::lane::{Early, Lane};
use crate::engine::report::Subject;
use crate::engine::requests::{Completion, Request};
use crate::engine::tasks::ReceivePlan;
use crate::engine::waiting::{Guard, Until};
use crate::error::Result;
use crate::transport::Progress;

/// How often a thread looks for a message before it checks whether the message will come at all.
const LOOKS_BEFORE_DOUBT: u32 = 1000;

impl Engine {
    /// Starts a receive. Inlined so that the request is built in place: to copy data that was just
    /// written stalls on the store buffer.
    #[inline(always)]
    pub fn start_receive(&self, plan: ReceivePlan) -> Request {
        self.lane.lock().receive(plan)
    }

    /// Receives and waits for the message.
    ///
    /// # Errors
    /// None. The error of the operation is in the completion.
    pub fn receive(&self, plan: ReceivePlan) -> Result<Completion> {
        let mut lane = self.lane.lock();
        let early = self.receive_early(&mut lane, &plan);
        let request = match early {
            Early::Done(completion) => return Ok(completion),
            Early::Coming(request) => request,
            Early::Nothing => lane.receive(plan),
        };
        self.waiting.wait_with(lane, Some(request))
    }

    /// Looks for the message of a receive on the link through memory.
    #[inline(always)]
    fn receive_early(&self, lane: &mut Lane, plan: &ReceivePlan) -> Early {
        lane.flush();
        self.waiting.count_turn(lane);
        match lane.links().memory() {
            None => Early::Nothing,
            Some(link) => lane.receive_at_once(link, plan, self.looks),
        }
    }

    /// Receives a message of a collective from a member that may have gone on without sending it:
    /// `None` then, and nothing is received. `has_gone_on` returns true if it has, and all that it
    /// sent before lies in its channel.
    ///
    /// # Errors
    /// As [`Engine::receive`].
    pub fn receive_unless(
        &self,
        plan: ReceivePlan,
        has_gone_on: impl Fn() -> bool,
    ) -> Result<Option<Completion>> {
        let mut lane = self.lane.lock();
        let request = match self.receive_early(&mut lane, &plan) {
            Early::Done(completion) => return Ok(Some(completion)),
            Early::Coming(request) => request,
            Early::Nothing => lane.receive(plan),
        };
        self.wait_unless(lane, request, has_gone_on)
    }

    #[inline(never)]
    pub(crate) fn wait_unless(
        &self,
        lane: Guard<'_, Lane>,
        request: Request,
        has_gone_on: impl Fn() -> bool,
    ) -> Result<Option<Completion>> {
        let mut looks = 0;
        let early = self.waiting.wait_in(
            lane,
            |_| Until::Change,
            |_| Subject::one(Some(request)),
            |lane| {
                if let Some(done) = lane.take(Some(request)).transpose() {
                    return Some(Some(done));
                }
                looks += 1;
                // Called before each sleep: the sender wakes once, and may have done so already.
                let is_due = looks > LOOKS_BEFORE_DOUBT || self.waiting.is_about_to_sleep();
                (is_due && has_gone_on()).then_some(None)
            },
        );
        if let Some(done) = early {
            return done.map(Some);
        }
        self.catch_up();
        // All sent messages have come: the message of a receive without a match was not sent.
        if self.with(|lane| lane.give_up(request)) {
            return Ok(None);
        }
        self.wait(Some(request)).map(Some)
    }

    /// Cancels an operation. The message of a send to this process itself, its question and its
    /// answer all go over the link to itself: turns until that is empty settle the matter, so that
    /// the next look at the request finds it complete. Source: MPI 5.0, 3.8.4 (waiting for it is
    /// local).
    ///
    /// # Errors
    /// As [`Traffic::cancel`](crate::engine::Traffic::cancel).
    pub fn cancel(&self, request: Request) -> Result<()> {
        let mut lane = self.lane.lock();
        lane.cancel(request)?;
        while lane.links().own_is_busy() && lane.turn(self.now()) == Progress::Delivered {}
        Ok(())
    }
}
