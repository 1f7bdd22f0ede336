//! Waiting for and testing of requests, one or many. Source: MPI 5.0, 3.7.3 to 3.7.6.
//!
//! `None` is `MPI_REQUEST_NULL`.

use std::cell::RefCell;

use crate::boot::state::EndsWith;
use crate::engine::Engine;
use crate::engine::lane::Lane;
use crate::engine::report::Subject;
use crate::engine::requests::{Array, Completion, CompletionState, Request, Requests};
use crate::engine::waiting::Guard;
use crate::engine::waiting::Until;
use crate::error::{Cause, Result};

/// Receives how each operation of an array ended, in the order of the requests.
pub trait Tell {
    /// Called if no operation failed: that of the request at `index` is complete, and the request
    /// is gone.
    fn plain(&mut self, index: usize, completion: Completion);

    /// Called for any other operation. `any_failed`: an operation of the array failed.
    fn other(&mut self, index: usize, completion: Completion, any_failed: bool);
}

impl<F: FnMut(usize, Completion, bool)> Tell for F {
    #[inline]
    fn plain(&mut self, index: usize, completion: Completion) {
        self(index, completion, false);
    }

    #[inline]
    fn other(&mut self, index: usize, completion: Completion, any_failed: bool) {
        self(index, completion, any_failed);
    }
}

/// The request, if waiting for any of several would wait for it.
fn active(requests: &Requests, request: Option<Request>) -> Result<Option<Request>> {
    match request {
        Some(request) if !requests.is_inactive(request)? => Ok(Some(request)),
        _ => Ok(None),
    }
}

/// Takes the first finished one. Returns `Any::NoneActive` if there is nothing to wait for.
fn take_any(requests: &mut Requests, array: impl Array) -> Result<Any> {
    let mut answer = Any::NoneActive;
    for (index, request) in array.iter().enumerate() {
        let Some(request) = active(requests, request)? else {
            continue;
        };
        if let Some(completion) = requests.take(request)? {
            return Ok(Any::Done(index, completion));
        }
        answer = Any::NotYet;
    }
    Ok(answer)
}

/// Takes all finished ones and returns how many; `None` if there is nothing to wait for.
fn take_some(
    requests: &mut Requests,
    array: impl Array,
    tell: &mut impl FnMut(usize, Completion, bool),
) -> Result<Option<usize>> {
    let (mut pending, mut finished, mut any_failed) = (0, 0, false);
    for request in array.iter() {
        if let Some(request) = active(requests, request)? {
            match requests.state(request)? {
                CompletionState::Pending => pending += 1,
                state => {
                    finished += 1;
                    any_failed |= state == CompletionState::Failed;
                }
            }
        }
    }
    if finished > 0 {
        for (index, request) in array.iter().enumerate() {
            if let Some(request) = active(requests, request)?
                && let Some(completion) = requests.take(request)?
            {
                tell(index, completion, any_failed);
            }
        }
    }
    Ok((pending + finished > 0).then_some(finished))
}

/// Checks an array again and again until all its requests are finished. It looks at few requests
/// more than twice, so that waiting for many stays linear.
#[derive(Default)]
struct Sweep {
    /// How many from the start of the array are finished.
    seen: usize,
    /// Until the lane has finished this many operations, the array cannot be finished.
    due: u64,
    /// How many operations of the lane had finished when the array was last checked.
    finished: u64,
    /// The array was checked before, so it is worth while to count the unfinished requests.
    is_patient: bool,
    any_failed: bool,
}

impl Sweep {
    /// Returns true if all are finished.
    #[inline(always)]
    fn is_over(&mut self, lane: &mut Lane, requests: impl Array) -> Result<bool> {
        let before = core::mem::replace(&mut self.finished, lane.requests().finished());
        // Checks even if nothing has happened: the array may name a request twice.
        if before != self.finished && self.finished < self.due {
            return Ok(false);
        }
        self.go_on(lane, requests)
    }

    fn go_on(&mut self, lane: &mut Lane, requests: impl Array) -> Result<bool> {
        while self.seen < requests.count() {
            if let Some(request) = requests.at(self.seen) {
                match lane.requests().state(request)? {
                    CompletionState::Pending => {
                        if self.is_patient && self.due <= self.finished {
                            let pending = self.pending_in_a_row(lane, requests)?;
                            self.due = lane.await_more(pending);
                        }
                        self.is_patient = true;
                        return Ok(false);
                    }
                    CompletionState::Done => {}
                    CompletionState::Failed => self.any_failed = true,
                }
            }
            self.seen += 1;
        }
        Ok(true)
    }

    /// Returns what must happen before the next check is worth while.
    fn until(&self) -> Until {
        Until::Count(self.due.max(self.finished + 1))
    }

    /// Counts the unfinished ones that follow each other from the first unfinished one on.
    fn pending_in_a_row(&self, lane: &Lane, requests: impl Array) -> Result<u64> {
        let mut pending = 0;
        for request in (self.seen..requests.count()).filter_map(|index| requests.at(index)) {
            if lane.requests().state(request)? != CompletionState::Pending {
                break;
            }
            pending += 1;
        }
        Ok(pending)
    }

    /// Takes all and passes each to `tell`, if all are finished. The next call goes on where this
    /// one has stopped, and returns `None` after a few instructions.
    #[inline(always)]
    fn take_all(
        &mut self,
        lane: &mut Lane,
        requests: impl Array,
        tell: &mut impl Tell,
    ) -> Option<Result<()>> {
        match self.is_over(lane, requests) {
            Ok(false) => None,
            Ok(true) => Some(self.take_finished(lane, requests, tell)),
            Err(error) => Some(Err(error)),
        }
    }

    /// Takes all of an array that is finished. If another thread takes or starts one meanwhile, the
    /// program breaks MPI's rules (11.6.2).
    #[inline(never)]
    fn take_finished(
        &self,
        lane: &mut Lane,
        requests: impl Array,
        tell: &mut impl Tell,
    ) -> Result<()> {
        for index in 0..requests.count() {
            let request = requests.at(index);
            let plain = match request {
                Some(request) if !self.any_failed => lane.requests_mut().take_plain(request),
                _ => None,
            };
            if let Some(completion) = plain {
                tell.plain(index, completion);
            } else {
                tell.other(index, Self::take_other(lane, request)?, self.any_failed);
            }
        }
        Ok(())
    }

    /// Takes a request that was of nothing, failed, or is persistent.
    #[cold]
    #[inline(never)]
    fn take_other(lane: &mut Lane, request: Option<Request>) -> Result<Completion> {
        let taken = lane.take(request)?;
        taken.ok_or_else(|| Cause::Request.into())
    }
}

/// Returns the condition that another operation of the lane has finished.
fn another(lane: &Lane) -> Until {
    Until::Count(lane.requests().finished() + 1)
}

/// A completion and the index of its request in the program's array.
pub type Indexed = (usize, Completion);

/// What waiting for any of several found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Any {
    /// No request of the array is active.
    NoneActive,
    /// None is finished.
    NotYet,
    /// This one is.
    Done(usize, Completion),
}

impl Engine {
    /// Waits for one request.
    ///
    /// # Errors
    /// The request does not exist (any more). The error of the operation itself is in the
    /// completion.
    #[inline(always)]
    pub fn wait(&self, request: Option<Request>) -> Result<Completion> {
        if request == Some(Request::SENT) {
            self.wait_for_sent();
            return Ok(Completion::SENT);
        }
        self.waiting.wait_with(self.lane.lock(), request)
    }

    /// Waits for a send that was complete at its start: what it left to be written is written.
    #[inline(always)]
    pub fn wait_for_sent(&self) {
        self.lane.lock().flush();
    }

    /// Tests one request.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    #[inline(always)]
    pub fn test(&self, request: Option<Request>) -> Result<Option<Completion>> {
        self.look(|lane| lane.take(request))
    }

    /// Waits for all of an array, then passes to `tell` how each ended, in the order of the
    /// requests.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn wait_all(&self, requests: impl Array, mut tell: impl Tell) -> Result<()> {
        let mut sweep = Sweep::default();
        let lane = self.lane.lock();
        if self.is_threaded() {
            return wait_all_with_others(self, lane, requests, tell);
        }
        let take = |lane: &mut Lane| sweep.take_all(lane, requests, &mut tell);
        self.waiting.wait_in(
            lane,
            |_| Until::Change,
            |lane: &Lane| Subject::some_of(lane, requests, EndsWith::All),
            take,
        )
    }

    /// Returns true if all of an array are finished. Only then are they taken and passed to `tell`,
    /// as by [`Engine::wait_all`].
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn test_all(&self, requests: impl Array, mut tell: impl Tell) -> Result<bool> {
        let mut sweep = Sweep::default();
        let taken = self.look(|lane| sweep.take_all(lane, requests, &mut tell));
        taken.transpose().map(|taken| taken.is_some())
    }

    /// Waits for one of several; `None` if none is active.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn wait_any(&self, requests: impl Array) -> Result<Option<Indexed>> {
        let take = |lane: &mut Lane| match take_any(lane.requests_mut(), requests) {
            Ok(Any::NotYet) => None,
            Ok(Any::NoneActive) => Some(Ok(None)),
            Ok(Any::Done(index, completion)) => Some(Ok(Some((index, completion)))),
            Err(error) => Some(Err(error)),
        };
        self.waiting.wait_whole(
            self.lane.lock(),
            another,
            |lane: &Lane| Subject::some_of(lane, requests, EndsWith::Any),
            take,
        )
    }

    /// Takes one of several that is finished, if there is one.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn test_any(&self, requests: impl Array) -> Result<Any> {
        self.look(|lane| take_any(lane.requests_mut(), requests))
    }

    /// Waits for at least one of several, and passes each that is finished to `tell`. Returns how
    /// many; `None` if none is active.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn wait_some(
        &self,
        requests: impl Array,
        mut tell: impl FnMut(usize, Completion, bool),
    ) -> Result<Option<usize>> {
        let take = |lane: &mut Lane| match take_some(lane.requests_mut(), requests, &mut tell) {
            Ok(Some(0)) => None,
            other => Some(other),
        };
        self.waiting.wait_whole(
            self.lane.lock(),
            another,
            |lane: &Lane| Subject::some_of(lane, requests, EndsWith::Any),
            take,
        )
    }

    /// Passes those of several that are finished to `tell`, as [`Engine::wait_some`] does.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn test_some(
        &self,
        requests: impl Array,
        mut tell: impl FnMut(usize, Completion, bool),
    ) -> Result<Option<usize>> {
        self.look(|lane| take_some(lane.requests_mut(), requests, &mut tell))
    }
}

#[inline(never)]
fn wait_all_with_others(
    engine: &Engine,
    lane: Guard<'_, Lane>,
    requests: impl Array,
    mut tell: impl Tell,
) -> Result<()> {
    let sweep = RefCell::new(Sweep::default());
    let until = |_: &Lane| sweep.borrow().until();
    let take = |lane: &mut Lane| sweep.borrow_mut().take_all(lane, requests, &mut tell);
    engine.waiting.wait_in(
        lane,
        until,
        |lane: &Lane| Subject::some_of(lane, requests, EndsWith::All),
        take,
    )
}
