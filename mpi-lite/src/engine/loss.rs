//! Peers that answer no more: which processes are told, and what.

use std::mem::replace;

use super::delivery::{Delivery, Target};
use super::engine_messages::{HELLO, LOST, Notice, word};
use super::lane::Lane;
use super::leftovers::Leftovers;
use super::matching::{Body, Inbound, Pattern};
use super::operation::{Request, Status};
use crate::error::Error;
use crate::transport::{Lost, PeerId, Token, Unheard};

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

    /// Sends what follows from a loss.
    #[cold]
    pub(super) fn give_notice(&mut self, notice: Notice) {
        match notice {
            Notice::Ask(peer) => self.tell(peer, word(HELLO, Token(0)), Vec::new()),
            Notice::Tell(lost) => {
                let peers = &self.delivery.peers;
                let rank = peers.rank(lost);
                let is_told = |peer: &PeerId| *peer != peers.me() && !peers.is_lost(*peer);
                let told: Vec<PeerId> = peers.all().filter(is_told).collect();
                for peer in told {
                    self.tell(peer, word(LOST, Token(rank)), Vec::new());
                }
            }
        }
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
            ref reason,
        } = *lost;
        self.peers.lose(peer, address, reason.clone());
        // If this process was told of the loss, the one that told it has told all others too.
        if !self.peers.is_doubted(peer) {
            self.notices.push(Notice::Tell(peer));
            self.has_errands = true;
        }
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

    /// Another process says that the one with this rank in the world is lost.
    pub(super) fn hear_of_loss(&mut self, rank: u32) {
        // A rank that nobody has is nonsense from the network.
        if let Some(peer) = self.peers.at_rank(rank)
            && self.peers.doubt(peer)
        {
            self.notices.push(Notice::Ask(peer));
            self.has_errands = true;
        }
    }

    /// Notes that an unexpected message is lost: a receive that takes it, or that has probed for
    /// it, fails.
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

impl Delivery {
    /// Warns the user of a peer that has never answered.
    #[cold]
    pub(super) fn warn_of(&mut self, unheard: &Unheard) {
        if self.unheard.is_news(unheard) {
            eprintln!("{}", self.warning(unheard));
        }
    }

    fn warning(&self, unheard: &Unheard) -> String {
        let peers = &self.peers;
        let name = |peer| format!("rank {} on host {}", peers.rank(peer), peers.host(peer));
        let (me, other) = (name(peers.me()), name(unheard.peer));
        let at = unheard.address;
        let at = at.map_or_else(String::new, |at| format!(" at {at} (UDP)"));
        let seconds = unheard.waited.as_secs();
        let rest = self.unheard.rest();
        match &unheard.refusal {
            Some(refusal) => format!(
                "mpi-lite: {me}: cannot send to {other}{at} for {seconds} s: {refusal} \
                 (--interface chooses another network); this rank goes on trying{rest}"
            ),
            None => format!(
                "mpi-lite: {me}: no answer yet from {other}{at} for {seconds} s: does a firewall \
                 let only ssh through? Open UDP between the hosts (--port-range LOW-HIGH chooses \
                 the ports, --interface another network); this rank goes on trying{rest}"
            ),
        }
    }
}
