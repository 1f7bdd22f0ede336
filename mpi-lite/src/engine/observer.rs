//! What a tool may watch: the messages of the program, as they are matched.

use super::delivery::Delivery;
use super::envelope::Envelope;
use super::lane::Lane;
use super::matching::Pattern;
use super::operation::Request;
use crate::ids::Context;

/// What happens to a message or to its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageStep {
    /// A receive starts.
    Posted,
    /// A message has found its receive.
    Matched,
    /// A message has come without a receive.
    Unexpected,
}

/// A step of one message.
#[derive(Clone, Copy, Debug)]
pub struct MessageEvent {
    /// What happens.
    pub step: MessageStep,
    /// The sender's rank in the communicator; `None` for a receive from any.
    pub source: Option<u32>,
    /// The tag; `None` for a receive of any.
    pub tag: Option<i32>,
    /// Bytes of the message, or room of the receive.
    pub bytes: u64,
    /// The communicator.
    pub context: Context,
}

/// Called for each step, with the lane locked: it must be short and must not call the engine.
pub type Observer = fn(&MessageEvent);

impl Lane {
    /// Sets who is told of the messages of the program. Messages of collective operations are not
    /// told.
    pub fn observe(&mut self, observer: Option<Observer>) {
        self.delivery.observer = observer;
    }
}

impl Delivery {
    /// Tells the observer of a message, if there is one.
    #[inline(always)]
    pub(super) fn note_message(&self, step: MessageStep, envelope: &Envelope, bytes: u64) {
        if let Some(observer) = self.observer {
            tell_of_message(observer, step, *envelope, bytes);
        }
    }

    /// Tells the observer of a receive, if there is one.
    #[inline(always)]
    pub(super) fn note_receive(&mut self, pattern: &Pattern, request: Request) {
        if let Some(observer) = self.observer {
            self.tell_of_receive(observer, *pattern, request);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_receive(&mut self, observer: Observer, pattern: Pattern, request: Request) {
        let event = MessageEvent {
            step: MessageStep::Posted,
            source: pattern.source,
            tag: pattern.tag,
            bytes: self.requests.room(request),
            context: pattern.context,
        };
        tell(observer, &event);
    }
}

#[cold]
#[inline(never)]
pub(super) fn tell_of_message(
    observer: Observer,
    step: MessageStep,
    envelope: Envelope,
    bytes: u64,
) {
    let event = MessageEvent {
        step,
        source: Some(envelope.source),
        tag: Some(envelope.tag),
        bytes,
        context: envelope.context,
    };
    tell(observer, &event);
}

fn tell(observer: Observer, event: &MessageEvent) {
    if event.context == event.context.point_to_point() {
        observer(event);
    }
}
