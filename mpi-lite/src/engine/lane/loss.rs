//! Peers that answer no more, and collectives that have failed: which requests fail then, and which
//! processes are told what.

use std::sync::Arc;

use super::Parts;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::Target;
use crate::engine::inbox::matching::{Inbound, Pattern};
use crate::engine::outbox::Sending;
use crate::engine::ports::{Calls, GivenUp, Notice, Ports, Word};
use crate::engine::requests::Request;
use crate::engine::tasks::SendPlan;
use crate::error::{Cause, Class, Error};
use crate::ids::Context;
use crate::transport::{Lost, PeerId, Unheard};

/// What a receive of the same collective looks for as that of this message.
fn beside(context: Context, source: u32) -> Pattern {
    Pattern {
        context,
        source: Some(source),
        tag: None,
    }
}

impl Parts {
    /// Why no message may ever come that fits `pattern`: a peer is lost that could have sent it, or
    /// the collectives of its communicator have failed.
    #[inline]
    pub(super) fn failure_behind(&self, pattern: &Pattern) -> Option<Error> {
        if !self.ports.has_failures() {
            return None;
        }
        self.ports.failure(pattern, &self.peers)
    }

    /// Returns why nobody may ever receive a send of this context, if that is so and the context is
    /// one of collectives.
    #[inline]
    pub(super) fn failure_of_send(&self, plan: &SendPlan) -> Option<Error> {
        if !self.ports.has_failures() || !plan.context.is_collective() {
            return None;
        }
        self.failure_behind(&beside(plan.context, plan.source))
    }

    /// This process completes none of these collectives any more, from this call on. Tells the
    /// other members `why`; `error` is that of this process.
    pub(super) fn give_up_collectives(
        &mut self,
        (calls, from): (Calls, u32),
        error: &Error,
        why: &str,
    ) {
        let me = self.peers.me();
        let what = GivenUp {
            from,
            why: error.clone(),
        };
        let Some(members) = self.give_up(calls, me, &what) else {
            return;
        };
        let notice = Notice {
            from,
            number: calls.number,
            is_truncated: error.class() == Class::Truncate,
            why: why.to_owned(),
        };
        let word = Word::GivenUp(calls.context, notice);
        for &peer in members.iter() {
            if peer != me && !self.peers.is_lost(peer) {
                self.outbox.defer_word(peer, &word);
            }
        }
        self.has_errands = true;
    }

    /// A peer is lost. A process that finds that tells all others, since they may wait for a
    /// process that has given up because of it. Nobody takes the loss on trust: a process that is
    /// told of it says hello to the lost peer, and so finds out whether it has lost that peer too.
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
        self.ports.lose(peer);
        self.is_special = true;
        self.has_errands = true;
        let error = self.peers.error(peer);
        // If this process was told of the loss, the one that told it has told all others too.
        if !self.peers.is_doubted(peer) {
            self.tell_of_loss(peer);
        }
        for &token in unsent {
            self.unsent(token, peer);
        }
        for &arrival in unfinished {
            let inbound = Inbound { link, arrival };
            self.errands.retain(|errand| !errand.lands(inbound));
            match self.inbox.take_target(inbound) {
                Target::Receive { request, .. } => self.fail(request, error.clone()),
                Target::Unexpected(place) => {
                    if let Some(request) = self.inbox.lose(place, peer) {
                        self.fail(request, error.clone());
                    }
                }
                Target::Head(_) | Target::Body(_) | Target::Nothing => {}
            }
        }
        for token in self.outbox.unanswered(peer) {
            self.unsent(token, peer);
        }
        self.fail_all(|ports, it| ports.needs(it, peer), &error);
    }

    fn tell_of_loss(&mut self, lost: PeerId) {
        let Self { outbox, peers, .. } = self;
        let word = Word::Lost(peers.rank(lost));
        for peer in peers.all() {
            if peer != peers.me() && !peers.is_lost(peer) {
                outbox.defer_word(peer, &word);
            }
        }
    }

    /// Counts a message that nobody will receive. Those of collectives that have failed are no
    /// fault of their own.
    #[cold]
    pub(super) fn note_leftover(&mut self, envelope: &Envelope) {
        let Envelope {
            context, source, ..
        } = *envelope;
        let failure = || self.ports.failure(&beside(context, source), &self.peers);
        let has_failed =
            context.is_collective() && self.ports.has_failures() && failure().is_some();
        if !has_failed {
            self.leftovers.note(envelope, &self.unwaited);
        }
    }

    /// Fails the posted receives of patterns that nothing may ever fit, and asks back the messages
    /// of collectives that nobody may ever receive.
    fn fail_all(&mut self, is_hopeless: impl Fn(&Ports, &Pattern) -> bool, why: &Error) {
        let ports = &self.ports;
        let failed = self.inbox.withdraw_all(|it| is_hopeless(ports, it));
        let its = |sending: &Sending| {
            let Envelope {
                context, source, ..
            } = sending.envelope();
            let request = sending.request()?;
            let is_in_vain =
                context.is_collective() && is_hopeless(ports, &beside(context, source));
            is_in_vain.then_some(request)
        };
        let in_vain: Vec<Request> = self.outbox.sends().filter_map(its).collect();
        for request in failed {
            self.fail(request, why.clone());
        }
        for request in in_vain {
            self.outbox.ask_back(request, Some(why.clone()));
        }
        self.has_errands |= self.outbox.has_deferred();
    }

    /// These collectives are over: `by` completes none any more from the call `from` on. Returns
    /// the members of the communicator; `None` if that is no news.
    fn give_up(&mut self, calls: Calls, by: PeerId, what: &GivenUp) -> Option<Arc<[PeerId]>> {
        let members = self.ports.give_up(calls, by, what)?;
        self.is_special = true;
        if what.from <= self.ports.calls(calls.context) {
            self.fail_all(|_, it| Calls::of(it.context, it.source) == calls, &what.why);
        }
        Some(members)
    }

    /// The peer `by` reports that it completes some collectives no more.
    pub(super) fn note_given_up(&mut self, by: PeerId, context: Context, notice: Notice) {
        let what = GivenUp {
            from: notice.from,
            why: Error::from(Cause::GivenUp {
                is_truncated: notice.is_truncated,
                why: notice.why.into(),
            }),
        };
        let _ = self.give_up(Calls::of(context, Some(notice.number)), by, &what);
    }

    /// The process `by` reports that it has lost the one with this rank in the world. It completes
    /// no collective operation with that one any more, so those of this process fail at once. All
    /// else fails only when this process finds the loss itself.
    pub(super) fn note_desertion(&mut self, by: PeerId, rank: u32) {
        // A rank that nobody has is nonsense from the network.
        let Some(lost) = self.peers.at_rank(rank) else {
            return;
        };
        let is_known = lost == self.peers.me() || self.peers.is_lost(lost);
        if is_known || !self.ports.note_desertion(by, lost) {
            return;
        }
        self.is_special = true;
        if self.peers.doubt(lost) {
            self.outbox.defer_word(lost, &Word::Hello);
            self.has_errands = true;
        }
        let error = self.peers.error(lost);
        let is_deserted = |ports: &Ports, it: &Pattern| {
            it.context.is_collective() && ports.is_deserted(it.context, by, lost)
        };
        self.fail_all(is_deserted, &error);
    }

    /// Warns the user of a peer that has never answered.
    #[cold]
    pub(super) fn warn_of(&mut self, unheard: &Unheard) {
        if let Some(warning) = self.unheard.warning(unheard, &self.peers) {
            eprintln!("{warning}");
        }
    }
}
