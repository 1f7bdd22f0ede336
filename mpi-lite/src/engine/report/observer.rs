//! What a tool may watch: the messages of the program as they are matched, and the collectives that
//! go on beside it.

use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::Pattern;
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

/// The observer, if there is one. Messages of collective operations are not told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch(Option<Observer>);

impl Watch {
    /// By this observer.
    pub(crate) fn new(observer: Option<Observer>) -> Self {
        Self(observer)
    }

    /// Tells of a message.
    #[inline(always)]
    pub(crate) fn note_message(self, step: MessageStep, envelope: &Envelope, bytes: u64) {
        if let Some(observer) = self.0 {
            tell_of_message(observer, step, *envelope, bytes);
        }
    }

    /// Tells of a receive with room for `bytes`.
    pub(crate) fn note_receive(self, pattern: &Pattern, bytes: u64) {
        if let Some(observer) = self.0 {
            let event = MessageEvent {
                step: MessageStep::Posted,
                source: pattern.source,
                tag: pattern.tag,
                bytes,
                context: pattern.context,
            };
            tell(observer, event);
        }
    }

    /// Tells of a collective beside the program.
    pub(crate) fn note_collective(self, is_end: bool, tag: i32, context: Context) {
        if let Some(observer) = self.0 {
            observer(&Event::Collective(CollectiveEvent {
                is_end,
                tag,
                context,
            }));
        }
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
