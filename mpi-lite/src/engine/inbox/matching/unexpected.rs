//! Messages that wait for their receive, in the order in which they arrived.

use super::body::Body;
use super::key::Pattern;
use super::queue::Queue;
use crate::engine::envelope::Envelope;
use crate::engine::requests::Request;
use crate::slab::{Key, Slab};

/// A message without a receive.
#[derive(Debug)]
pub struct UnexpectedMessage {
    /// Its sender, context and tag.
    pub envelope: Envelope,
    /// Bytes of the body.
    pub len: u64,
    /// Where the body is.
    pub body: Body,
}

/// Thousands may wait: a cache line each.
const _: () = assert!(size_of::<Option<UnexpectedMessage>>() == 64);

/// The unexpected messages. Extracted ones (matched probes) have left the queue, but keep their
/// place until they are received.
#[derive(Debug, Default)]
pub struct Unexpected {
    messages: Slab<UnexpectedMessage>,
    queue: Queue<Envelope>,
}

/// The name of the message at `place` in the queue.
fn name(place: u32) -> Key {
    Key {
        index: place,
        generation: 0,
    }
}

impl Unexpected {
    /// Adds a message behind all others and returns its place.
    pub fn push(&mut self, message: UnexpectedMessage) -> u32 {
        let envelope = message.envelope;
        let place = self.messages.insert(message);
        self.queue.push(envelope, name(place));
        place
    }

    /// Returns the first message that fits `pattern`.
    #[must_use]
    pub fn find(&mut self, pattern: &Pattern) -> Option<&UnexpectedMessage> {
        let key = self.queue.find(pattern)?;
        self.messages.get(key.index)
    }

    /// Takes the first message that fits `pattern` out of the queue. It keeps its place.
    #[inline]
    pub fn extract(&mut self, pattern: &Pattern) -> Option<u32> {
        if self.queue.is_empty() {
            return None;
        }
        self.queue.search(pattern).map(|key| key.index)
    }

    /// The message at `place`.
    #[must_use]
    pub fn get(&self, place: u32) -> Option<&UnexpectedMessage> {
        self.messages.get(place)
    }

    /// The message at `place`.
    pub fn get_mut(&mut self, place: u32) -> Option<&mut UnexpectedMessage> {
        self.messages.get_mut(place)
    }

    /// Removes an extracted message.
    pub fn remove(&mut self, place: u32) -> Option<UnexpectedMessage> {
        self.messages.remove(place)
    }

    /// Drops a message, in the queue or extracted.
    pub fn discard(&mut self, place: u32) {
        self.queue.remove(name(place));
        self.messages.remove(place);
    }

    /// Takes the message of this envelope out of the queue, if it is waiting and the only one. It
    /// keeps its place.
    pub fn withdraw(&mut self, envelope: &Envelope) -> Option<u32> {
        let is_it = |message: &UnexpectedMessage| message.envelope == *envelope;
        let messages = self.messages.iter();
        let found: Vec<u32> = messages
            .filter_map(|(place, message)| is_it(message).then_some(place))
            .collect();
        let &[place] = &found[..] else {
            return None;
        };
        // A matched probe has taken it out of the queue: then it is matched.
        let was_waiting = self.queue.remove(name(place));
        was_waiting.then_some(place)
    }

    /// The places of the messages whose body is with its sender.
    #[must_use]
    pub fn held(&self) -> Vec<u32> {
        let is_held = |message: &UnexpectedMessage| matches!(message.body, Body::Held(_));
        self.messages
            .iter()
            .filter_map(|(place, message)| is_held(message).then_some(place))
            .collect()
    }

    /// The envelopes of all messages.
    pub fn envelopes(&self) -> impl Iterator<Item = &Envelope> {
        self.messages.iter().map(|(_, message)| &message.envelope)
    }

    /// The messages that wait, in the order in which they arrived.
    pub fn iter(&self) -> impl Iterator<Item = &UnexpectedMessage> {
        self.iter_places().map(|(_, message)| message)
    }

    /// As [`Self::iter`], each with its place.
    pub fn iter_places(&self) -> impl Iterator<Item = (u32, &UnexpectedMessage)> {
        let places = self.queue.iter().map(|(key, _)| key.index);
        places.filter_map(|place| Some((place, self.messages.get(place)?)))
    }

    /// The message that this receive has matched, and that is not here as a whole.
    #[must_use]
    pub fn claimed_by(&self, request: Request) -> Option<&UnexpectedMessage> {
        let is_its = |message: &&UnexpectedMessage| match message.body {
            Body::Claimed(claimant, _) => claimant == request,
            _ => false,
        };
        let mut messages = self.messages.iter().map(|(_, message)| message);
        messages.find(is_its)
    }

    /// Frees the memory of a long queue once it is empty.
    pub fn shrink(&mut self) {
        self.messages.shrink();
    }

    /// How many messages wait in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns true if no message waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
