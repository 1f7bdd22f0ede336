//! Peers that answer no more: who is told, and what.

use std::mem::replace;

use super::delivery::{Delivery, Target};
use super::envelope::Envelope;
use super::lane::Lane;
use super::matching::{Body, Inbound, Pattern};
use super::request::{Request, Status};
use crate::error::Error;
use crate::transport::{Lost, PeerId};

/// What a program left behind when it finalized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Messages that nobody received, without those of collectives.
    pub messages: u64,
    /// Source and tag of the first of them.
    pub first: Option<(u32, i32)>,
    /// Source and tag of the first message of a collective that nobody received.
    pub collective: Option<(u32, i32)>,
    /// Requests that were neither completed nor freed.
    pub requests: u64,
}

impl Leftovers {
    /// Nobody will receive this.
    #[cold]
    pub(super) fn note(&mut self, envelope: &Envelope) {
        let name = (envelope.rank(), envelope.tag);
        if envelope.context.is_collective() {
            self.collective.get_or_insert(name);
        } else {
            self.messages += 1;
            self.first.get_or_insert(name);
        }
    }
}

impl Lane {
    /// What the program has left behind, once it finalizes.
    #[must_use]
    pub fn leftovers(&self) -> Leftovers {
        self.delivery.leftovers
    }

    /// Why no message may ever come that fits `pattern`: a peer is lost that could have sent it.
    #[inline]
    #[must_use]
    pub fn loss_behind(&self, pattern: &Pattern) -> Option<Error> {
        if !self.delivery.peers.has_lost() {
            return None;
        }
        let culprit = self.delivery.culprit(pattern)?;
        Some(self.delivery.peers.error(culprit))
    }

    /// The first peer that was lost, in words.
    #[must_use]
    pub fn first_loss(&self) -> Option<Error> {
        let peers = &self.delivery.peers;
        let first = peers.lost().first()?;
        Some(peers.error(*first))
    }
}

impl Delivery {
    #[cold]
    pub(super) fn lose(&mut self, link: usize, lost: &Lost) {
        let Lost {
            peer,
            address,
            ref unfinished,
            ref unsent,
            reason,
        } = *lost;
        self.peers.lose(peer, address, reason);
        for &token in unsent {
            self.unsent(token, peer);
        }
        for &arrival in unfinished {
            match self.take_target(Inbound { link, arrival }) {
                Target::Receive { request, .. } => self.fail(request, peer),
                Target::Unexpected(place) => self.lose_unexpected(place, peer),
                Target::Question(_) | Target::Nothing => {}
            }
        }
        for token in self.unanswered(peer) {
            self.unsent(token, peer);
        }
        let ports = &self.ports;
        let is_hopeless = |pattern: &Pattern| ports.culprit(pattern, &[peer]).is_some();
        for request in self.posted.extract(is_hopeless) {
            self.fail(request, peer);
        }
    }

    /// The first lost peer without which nothing may ever fit `pattern`, if there is one.
    #[cold]
    pub(super) fn culprit(&self, pattern: &Pattern) -> Option<PeerId> {
        self.ports.culprit(pattern, self.peers.lost())
    }

    /// Whoever receives the message, or has probed for it, is to learn what became of it.
    fn lose_unexpected(&mut self, place: u32, peer: PeerId) {
        let message = self
            .unexpected
            .get_mut(place)
            .expect("an unexpected message has its place");
        let body = replace(&mut message.body, Body::Lost(peer));
        let len = message.len;
        match body {
            Body::Coming(_) => self.let_go(len),
            Body::Claimed(request, _) => {
                self.unexpected.remove(place);
                self.fail(request, peer);
            }
            Body::Dropped(_) => _ = self.unexpected.remove(place),
            Body::Held(_) | Body::Whole(_) | Body::Lost(_) => {}
        }
    }

    pub(super) fn fail(&mut self, request: Request, peer: PeerId) {
        let error = self.peers.error(peer);
        self.requests.finish(request, Status::EMPTY, Some(error));
    }
}
