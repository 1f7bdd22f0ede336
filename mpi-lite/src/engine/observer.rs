//! What a tool may watch: the messages of the program as they are matched, and the collectives that
//! go on beside it.

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

/// A collective that goes on beside the program begins or ends.
#[derive(Clone, Copy, Debug)]
pub struct CollectiveEvent {
    /// It has ended.
    pub is_end: bool,
    /// The tag of its messages, which names it.
    pub tag: i32,
    /// The communicator.
    pub context: Context,
}

/// What a tool may watch.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A step of a message.
    Message(MessageEvent),
    /// A step of a collective beside the program.
    Collective(CollectiveEvent),
}

/// Called for each event, with the lane locked: it must be short and must not call the engine.
pub type Observer = fn(&Event);

impl Lane {
    /// Sets who is told of the messages of the program. Messages of collective operations are not
    /// told.
    pub fn observe(&mut self, observer: Option<Observer>) {
        self.delivery.observer = observer;
        self.delivery.is_special = observer.is_some() || self.delivery.has_failures;
    }

    /// Tells the observer of a collective beside the program, if there is one.
    pub(super) fn note_collective(&self, is_end: bool, tag: i32, context: Context) {
        if let Some(observer) = self.delivery.observer {
            observer(&Event::Collective(CollectiveEvent {
                is_end,
                tag,
                context,
            }));
        }
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

    /// Tells the observer of the unexpected message at `place`, if there is one.
    #[cold]
    #[inline(never)]
    pub(super) fn note_waiting(&mut self, step: MessageStep, place: u32) {
        let message = self.unexpected.get_mut(place);
        if let Some((envelope, len)) = message.map(|it| (it.envelope, it.len)) {
            self.note_message(step, &envelope, len);
        }
    }

    /// Tells the observer of a receive, if there is one.
    pub(super) fn note_receive(&mut self, pattern: &Pattern, request: Request) {
        let Some(observer) = self.observer else {
            return;
        };
        let event = MessageEvent {
            step: MessageStep::Posted,
            source: pattern.source,
            tag: pattern.tag,
            bytes: self.requests.room(request),
            context: pattern.context,
        };
        tell(observer, event);
    }
}

#[cold]
#[inline(never)]
fn tell_of_message(observer: Observer, step: MessageStep, envelope: Envelope, bytes: u64) {
    let event = MessageEvent {
        step,
        source: Some(envelope.source),
        tag: Some(envelope.tag),
        bytes,
        context: envelope.context,
    };
    tell(observer, event);
}

fn tell(observer: Observer, event: MessageEvent) {
    if event.context == event.context.point_to_point() {
        observer(&Event::Message(event));
    }
}
