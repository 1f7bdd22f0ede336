//! Waiting for room in the attached buffer. Source: MPI 5.0, 3.6.1.
//!
//! A message leaves the buffer when its sender has read the acknowledgement. The receiver may have
//! the message although the sender has not read that yet. So a buffered send that finds no room
//! makes progress and tries again before it fails.

use std::time::Duration;

use crate::engine::Engine;
use crate::engine::lane::Lane;
use crate::engine::report::Subject;
use crate::engine::requests::Request;
use crate::engine::tasks::SendPlan;
use crate::engine::waiting::{Guard, Shared as _, Until};
use crate::error::{Cause, Error, Result};
use crate::ids::Mode;

/// How long a buffered send waits for room. An acknowledgement may wait for the ticker of a
/// receiver that computes (some 10 ms). It takes longer if it is lost and asked for again.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns true if `error` is that an attached buffer is full, and messages under way may leave
/// enough room.
fn may_get_room(error: &Error) -> bool {
    match error.cause() {
        Cause::BufferFull { need, room, most } => room < most && need <= most,
        _ => false,
    }
}

impl Engine {
    /// Starts a send and returns its request. It may be complete already.
    ///
    /// # Errors
    /// As [`Traffic::send`](crate::engine::Traffic::send).
    #[inline(always)]
    pub fn start_send(&self, plan: &SendPlan) -> Result<Request> {
        if plan.mode == Mode::Buffered {
            return start_buffered_send(self, plan);
        }
        self.lane.lock().send(plan)
    }
}

#[inline(never)]
fn start_buffered_send(engine: &Engine, plan: &SendPlan) -> Result<Request> {
    let mut lane = engine.lane.lock();
    match lane.send(plan) {
        Err(refused) => send_with_room(engine, lane, refused, |lane| lane.send(plan)),
        sent => sent,
    }
}

/// Calls `send` again after it was `refused`, when messages have left the attached buffer, if the
/// buffer was full.
///
/// # Errors
/// Those of `send`.
#[cold]
#[inline(never)]
pub(crate) fn send_with_room<T>(
    engine: &Engine,
    lane: Guard<'_, Lane>,
    refused: Error,
    mut send: impl FnMut(&mut Lane) -> Result<T>,
) -> Result<T> {
    if !may_get_room(&refused) {
        return Err(refused);
    }
    let until = engine.now().plus(PATIENCE);
    let sent = engine.waiting.wait_in(
        lane,
        |_| Until::Change,
        |_| Subject::Words("room in the attached buffer (MPI_Buffer_attach)".into()),
        |lane| match send(lane) {
            Err(error) if may_get_room(&error) && engine.now() < until => {
                lane.waiters().look_again(Some(until));
                None
            }
            sent => Some(sent),
        },
    );
    engine.with(|lane| {
        lane.waiters().look_again(None);
        lane.flush();
    });
    sent
}
