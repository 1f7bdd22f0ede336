//! Asking after the messages that a peer holds (rule H): an answer may have been lost.

use super::{Place, Sender};
use crate::common::Common;
use crate::ids::later_attempt;
use crate::time::Instant;

/// The least number of held messages that are asked after at once, if there are as many.
const AT_ONCE: usize = 16;
/// The greatest number of held messages that are asked after at once.
const AT_MOST: u16 = 1024;

/// How many held messages are asked after when another one was answered; and how many more for each
/// answer that is most likely the second one.
const SUSPECTS: u16 = 2;

impl<Out> Sender<Out> {
    /// A message has become held. If few are held, the pace of the questions begins anew.
    // Rule H.
    pub(super) fn ask_anew<In>(&mut self, common: &mut Common<Out, In>, to: u32, now: Instant) {
        let path = &mut self.queues.to[to as usize];
        if path.held.len() == 1 {
            path.held_due = Instant::NEVER;
            path.suspects_due = Instant::NEVER;
            path.suspects = 0;
        }
        if path.held.len() <= AT_ONCE {
            path.held_backoff = 0;
            let due = now.plus_ns(common.timeouts().wait_ns(&path.round_trip, 0));
            path.held_due = path.held_due.min(due);
            common.alarms_mut().time_path(to, due);
        }
    }

    /// A message is answered in its attempt `attempt`. If it was held, the receiver has started on
    /// its held messages. Answers to others may have been lost, more likely if this one was
    /// answered before.
    // Rule H.
    pub(super) fn note_held_answered<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        attempt: u16,
        now: Instant,
    ) {
        let message = &self.queues.messages[index];
        if message.place != Place::Held {
            return;
        }
        // No hold has come since it was asked after.
        let was_lost = later_attempt(attempt, message.held_at);
        let to = message.to;
        let path = &mut self.queues.to[to as usize];
        path.suspects = if was_lost {
            (path.suspects + SUSPECTS).min(AT_MOST)
        } else {
            path.suspects.max(SUSPECTS)
        };
        let due = now.plus_ns(common.timeouts().wait_ns(&path.round_trip, 0));
        path.suspects_due = path.suspects_due.min(due);
        common.alarms_mut().time_path(to, due);
    }

    /// Asks after held messages, in turn and more and more seldom: an answer may have been lost.
    // Rule H.
    pub(crate) fn tick_held<In>(&mut self, common: &mut Common<Out, In>, to: u32, now: Instant) {
        let path = &mut self.queues.to[to as usize];
        let count = path.held.len();
        if count == 0 {
            return;
        }
        if path.held_due <= now {
            path.held_due = now.plus_ns(
                common
                    .timeouts()
                    .wait_ns(&path.round_trip, path.held_backoff),
            );
            path.held_backoff = path.held_backoff.saturating_add(1);
            self.queues.ask_after_held(
                common.config(),
                to,
                (count / 4).clamp(AT_ONCE, AT_MOST.into()),
            );
        }
        self.tick_suspects(common, to, now);
    }

    /// Asks after the suspects: held messages whose answers may be lost. Half as many follow the
    /// next time, because the questions may be lost too.
    // Rule H.
    pub(super) fn tick_suspects<In>(
        &mut self,
        common: &mut Common<Out, In>,
        to: u32,
        now: Instant,
    ) {
        let path = &mut self.queues.to[to as usize];
        if path.suspects_due <= now {
            let turns = path.suspects.into();
            path.suspects /= 2;
            path.suspects_due = match path.suspects {
                0 => Instant::NEVER,
                _ => now.plus_ns(common.timeouts().wait_ns(&path.round_trip, 0)),
            };
            self.queues.ask_after_held(common.config(), to, turns);
        }
    }
}
