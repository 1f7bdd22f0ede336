//! Receives that wait for their message, in the order in which they were posted.

use std::collections::VecDeque;

use super::super::envelope::Envelope;
use super::super::request::Request;
use super::key::Pattern;

/// The posted receives.
#[derive(Debug, Default)]
pub struct Posted {
    queue: VecDeque<(Pattern, Request)>,
}

impl Posted {
    /// Adds a receive behind all others.
    #[inline]
    pub fn push(&mut self, pattern: Pattern, request: Request) {
        self.queue.push_back((pattern, request));
    }

    /// Takes the first receive that `envelope` fits.
    #[inline]
    pub fn take(&mut self, envelope: &Envelope) -> Option<Request> {
        let &(pattern, request) = self.queue.front()?;
        if pattern.fits(envelope) {
            // Most messages come in the order in which they are awaited.
            self.queue.pop_front();
            return Some(request);
        }
        self.search(envelope)
    }

    fn search(&mut self, envelope: &Envelope) -> Option<Request> {
        let mut queue = self.queue.iter();
        let at = queue.position(|(pattern, _)| pattern.fits(envelope))?;
        self.queue.remove(at).map(|(_, request)| request)
    }

    /// Takes a receive back. Answers whether it was still waiting.
    pub fn withdraw(&mut self, request: Request) -> bool {
        let at = self.queue.iter().position(|&(_, posted)| posted == request);
        at.and_then(|at| self.queue.remove(at)).is_some()
    }

    /// Takes all receives for which `is_hopeless` holds.
    pub fn extract(&mut self, is_hopeless: impl Fn(&Pattern) -> bool) -> Vec<Request> {
        let (hopeless, rest) = self
            .queue
            .drain(..)
            .partition::<VecDeque<_>, _>(|(pattern, _)| is_hopeless(pattern));
        self.queue = rest;
        hopeless.into_iter().map(|(_, request)| request).collect()
    }

    /// How many receives wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
