//! Receives that wait for their message, in the order in which they were posted.

use super::key::Pattern;
use super::queue::Queue;
use crate::engine::envelope::Envelope;
use crate::engine::requests::Request;

/// The posted receives.
#[derive(Debug, Default)]
pub struct Posted {
    queue: Queue<Pattern>,
}

impl Posted {
    /// Adds a receive behind all others.
    #[inline]
    pub fn push(&mut self, pattern: Pattern, request: Request) {
        self.queue.push(pattern, request.0);
    }

    /// Takes the first receive that `envelope` fits.
    #[inline]
    pub fn take(&mut self, envelope: &Envelope) -> Option<Request> {
        self.queue.take(envelope).map(Request)
    }

    /// Takes the first receive that `envelope` fits, if it is quickly found and `place` returns
    /// where its message goes. If not, [`Posted::take`] may still find one.
    #[inline(always)]
    pub fn take_if<T>(
        &mut self,
        envelope: &Envelope,
        place: impl FnOnce(Request) -> Option<T>,
    ) -> Option<(Request, T)> {
        let taken = self.queue.take_if(envelope, |key| place(Request(key)))?;
        Some((Request(taken.0), taken.1))
    }

    /// Takes a receive back. Returns true if it was still waiting.
    pub fn withdraw(&mut self, request: Request) -> bool {
        self.queue.remove(request.0)
    }

    /// Takes all receives for which `is_hopeless` holds, in their order.
    pub fn extract(&mut self, is_hopeless: impl Fn(&Pattern) -> bool) -> Vec<Request> {
        let hopeless = self.queue.extract(is_hopeless);
        hopeless.into_iter().map(Request).collect()
    }

    /// Returns true if `is_it` holds for any receive.
    #[must_use]
    pub fn any(&self, is_it: impl Fn(&Pattern) -> bool) -> bool {
        self.queue.any(is_it)
    }

    /// The pattern of a receive that waits.
    #[must_use]
    pub fn pattern_of(&self, request: Request) -> Option<Pattern> {
        let mut waiting = self.queue.iter();
        let found = waiting.find(|(key, _)| *key == request.0);
        found.map(|(_, pattern)| *pattern)
    }

    /// The receives that wait, in the order in which they were posted.
    pub fn iter(&self) -> impl Iterator<Item = (Request, &Pattern)> {
        self.queue
            .iter()
            .map(|(key, pattern)| (Request(key), pattern))
    }

    /// The first receive that `envelope` fits, without taking it. Slow: it looks at all.
    #[must_use]
    pub fn first(&self, envelope: &Envelope) -> Option<Pattern> {
        let mut waiting = self.queue.iter();
        let found = waiting.find(|(_, pattern)| pattern.fits(envelope));
        found.map(|(_, pattern)| *pattern)
    }

    /// How many receives wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns true if no receive waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
