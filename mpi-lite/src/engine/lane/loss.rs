//! Peers that answer no more, and collectives that have failed: which requests fail then, and which
//! processes are told what.

use std::borrow::Cow;
use std::mem::replace;
use std::sync::Arc;

use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::{Body, Inbound, Pattern};
use crate::engine::lane::Lane;
use crate::engine::lane::delivery::{Delivery, Target};
use crate::engine::lane::engine_messages::{
    GIVEN_UP, HELLO, LETTER_MOST, LOST, Letter, Notice, word,
};
use crate::engine::outbox::sends::Sending;
use crate::engine::ports::{Calls, Desertion, GivenUp};
use crate::engine::report::leftovers::Leftovers;
use crate::engine::requests::request::{Request, Status};
use crate::engine::tasks::plan::SendPlan;
use crate::error::{Cause, Class, Error};
use crate::ids::Context;
use crate::transport::{Hindrance, Lost, PeerId, Token, Unheard};

/// What a receive of the same collective looks for as that of this message.
fn beside(context: Context, source: u32) -> Pattern {
    Pattern {
        context,
        source: Some(source),
        tag: None,
    }
}

impl Lane {
    /// What the program has left behind, once it finalizes.
    #[must_use]
    pub fn leftovers(&self) -> Leftovers {
        self.delivery.leftovers
    }

    /// Why no message may ever come that fits `pattern`: a peer is lost that could have sent it, or
    /// the collectives of its communicator have failed.
    #[inline]
    #[must_use]
    pub fn failure_behind(&self, pattern: &Pattern) -> Option<Error> {
        if !self.delivery.has_failures {
            return None;
        }
        self.delivery.failure(pattern)
    }

    /// Returns why nobody may ever receive a send of this context, if that is so and the context is
    /// one of collectives.
    #[inline]
    pub(crate) fn failure_of_send(&self, plan: &SendPlan) -> Option<Error> {
        if !self.delivery.has_failures || !plan.context.is_collective() {
            return None;
        }
        self.delivery.failure(&beside(plan.context, plan.source))
    }

    /// Sends what follows from a loss.
    #[cold]
    pub(crate) fn give_notice(&mut self, notice: Notice) {
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
            Notice::AskBack(request, why) => self.ask_back(request, Some(why)),
        }
    }

    /// This process completes none of these collectives any more: one has failed in its midst, for
    /// a reason that the other members cannot see. They are told, since they may wait for messages
    /// of this one. `from` is the number of the call. `error` is that of this process, and `why` is
    /// what the others are told.
    #[cold]
    pub fn give_up_collectives(&mut self, (calls, from): (Calls, u32), error: &Error, why: &str) {
        // MPI_Finalize ends collectives that the program has not completed: no failure of theirs.
        if self.delivery.is_closing {
            return;
        }
        let me = self.me();
        let what = GivenUp {
            from,
            why: error.clone(),
        };
        let Some(members) = self.delivery.give_up(calls, me, &what) else {
            return;
        };
        let mut body = what.from.to_le_bytes().to_vec();
        body.extend_from_slice(&calls.number.to_le_bytes());
        body.push(error.class().eq(&Class::Truncate).into());
        let most = LETTER_MOST as usize - body.len();
        let is_end = |at: &usize| why.is_char_boundary(*at);
        let end = (0..=why.len().min(most)).rev().find(is_end);
        body.extend_from_slice(&why.as_bytes()[..end.unwrap_or(0)]);
        for &peer in members.iter() {
            if peer != me && !self.delivery.peers.is_lost(peer) {
                let context = Token(calls.context.0);
                self.tell(peer, word(GIVEN_UP, context), body.clone());
            }
        }
        self.send_deferred();
    }

    /// The call `from` begins, with the number of an earlier one that may have failed.
    pub fn renew_call(&mut self, (calls, from): (Calls, u32)) {
        if self.delivery.has_failures {
            self.delivery.ports.renew(calls, from);
        }
    }

    /// The number of the last collective of this context that has begun here; 0 of persistent ones.
    pub(crate) fn present_call(&self, context: Context) -> u32 {
        self.delivery.ports.calls(context)
    }

    /// The peers that are lost: their ranks in `MPI_COMM_WORLD`, and how each was noticed.
    #[must_use]
    pub fn losses(&self) -> Vec<(u32, Cow<'static, str>)> {
        let peers = &self.delivery.peers;
        let lost = peers.lost().iter();
        lost.map(|&peer| (peers.rank(peer), peers.reason(peer)))
            .collect()
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
    /// There are failures from now on.
    fn note_failures(&mut self) {
        self.has_failures = true;
        self.is_special = true;
    }

    #[cold]
    pub(crate) fn lose(&mut self, link: usize, lost: &Lost) {
        let Lost {
            peer,
            address,
            ref unfinished,
            ref unsent,
            ref reason,
        } = *lost;
        self.peers.lose(peer, address, reason.clone());
        self.note_failures();
        let error = self.peers.error(peer);
        // If this process was told of the loss, the one that told it has told all others too.
        if !self.peers.is_doubted(peer) {
            self.notices.push(Notice::Tell(peer));
            self.has_deferred = true;
        }
        for &token in unsent {
            self.unsent(token, peer);
        }
        for &arrival in unfinished {
            match self.take_target(Inbound { link, arrival }) {
                Target::Receive { request, .. } => self.fail(request, error.clone()),
                Target::Unexpected(place) => self.lose_unexpected(place, peer),
                Target::Letter(_) | Target::Nothing => {}
            }
        }
        for token in self.unanswered(peer) {
            self.unsent(token, peer);
        }
        self.desertions.retain(|it| it.lost != peer);
        let ports = Arc::clone(&self.ports);
        self.fail_all(|it| ports.lost_member(it, &[peer]).is_some(), &error);
    }

    /// Counts a message that nobody will receive. Those of collectives that have failed are no
    /// fault of their own.
    #[cold]
    pub(crate) fn note_leftover(&mut self, envelope: &Envelope) {
        let Envelope {
            context, source, ..
        } = *envelope;
        let has_failed = context.is_collective()
            && self.has_failures
            && self.failure(&beside(context, source)).is_some();
        if !has_failed {
            self.leftovers.note(envelope, &self.unwaited);
        }
    }

    /// Fails the posted receives of patterns that nothing may ever fit, and asks back the messages
    /// of collectives that nobody may ever receive.
    fn fail_all(&mut self, is_hopeless: impl Fn(&Pattern) -> bool, why: &Error) {
        for request in self.posted.extract(&is_hopeless) {
            self.fail(request, why.clone());
        }
        let its = |(_, sending): (u32, &Sending)| {
            let Envelope {
                context, source, ..
            } = Envelope::decode(&sending.envelope);
            let request = sending.request?;
            let is_in_vain = context.is_collective() && is_hopeless(&beside(context, source));
            is_in_vain.then(|| Notice::AskBack(request, why.clone()))
        };
        self.notices.extend(self.sends.iter().filter_map(its));
        self.has_deferred |= !self.notices.is_empty();
    }

    /// Why nothing may ever fit `pattern`, if that is so.
    #[cold]
    pub(crate) fn failure(&self, pattern: &Pattern) -> Option<Error> {
        if let Some(lost) = self.ports.lost_member(pattern, self.peers.lost()) {
            return Some(self.peers.error(lost));
        }
        if !pattern.context.is_collective() {
            return None;
        }
        let calls = Calls::of(pattern.context, pattern.source);
        if let Some(why) = self.ports.given_up(calls) {
            return Some(why);
        }
        let desertion = self.ports.desertion(pattern.context, &self.desertions)?;
        Some(self.peers.error(desertion.lost))
    }

    /// These collectives are over: `by` completes none any more from the call `from` on. Returns
    /// the members of the communicator; `None` if that is no news.
    fn give_up(&mut self, calls: Calls, by: PeerId, what: &GivenUp) -> Option<Arc<[PeerId]>> {
        let members = self.ports.give_up(calls, by, what)?;
        self.note_failures();
        if what.from <= self.ports.calls(calls.context) {
            self.fail_all(|it| Calls::of(it.context, it.source) == calls, &what.why);
        }
        Some(members)
    }

    /// A peer reports that it completes some collectives no more: the letter of
    /// [`Lane::give_up_collectives`]. What is no report of a member is nonsense from the network.
    pub(crate) fn note_given_up(&mut self, letter: &Letter) {
        let Some((from, rest)) = letter.body.split_first_chunk() else {
            return;
        };
        let Some((number, [is_truncated, why @ ..])) = rest.split_first_chunk() else {
            return;
        };
        let why = String::from_utf8_lossy(why);
        let why: String = why.chars().filter(|it| !it.is_control()).collect();
        let what = GivenUp {
            from: u32::from_le_bytes(*from),
            why: Error::from(Cause::GivenUp {
                is_truncated: *is_truncated != 0,
                why: why.into(),
            }),
        };
        let context = Context(letter.token.0);
        if context.is_collective() {
            let calls = Calls::of(context, Some(u32::from_le_bytes(*number)));
            let _ = self.give_up(calls, letter.from, &what);
        }
    }

    /// The process `by` reports that it has lost the one with this rank in the world. It completes
    /// no collective operation with that one any more, so those of this process fail at once. All
    /// else fails only when this process finds the loss itself.
    pub(crate) fn note_desertion(&mut self, by: PeerId, rank: u32) {
        // A rank that nobody has is nonsense from the network.
        let Some(lost) = self.peers.at_rank(rank) else {
            return;
        };
        let desertion = Desertion { by, lost };
        if lost == self.peers.me()
            || self.peers.is_lost(lost)
            || self.desertions.contains(&desertion)
        {
            return;
        }
        self.desertions.push(desertion);
        self.note_failures();
        if self.peers.doubt(lost) {
            self.notices.push(Notice::Ask(lost));
            self.has_deferred = true;
        }
        let (ports, error) = (Arc::clone(&self.ports), self.peers.error(lost));
        let is_deserted = |it: &Pattern| {
            it.context.is_collective() && ports.desertion(it.context, &[desertion]).is_some()
        };
        self.fail_all(is_deserted, &error);
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
                self.fail(request, self.peers.error(peer));
            }
            Body::Dropped(_) => _ = self.unexpected.remove(place),
            Body::Held(_) | Body::Whole(_) | Body::Lost(_) => {}
        }
    }

    pub(crate) fn fail(&mut self, request: Request, error: Error) {
        self.requests.finish(request, Status::EMPTY, Some(error));
    }
}

impl Delivery {
    /// Warns the user of a peer that has never answered.
    #[cold]
    pub(crate) fn warn_of(&mut self, unheard: &Unheard) {
        if self.unheard.is_news(unheard) {
            eprintln!("{}", self.warning(unheard));
        }
    }

    fn warning(&self, unheard: &Unheard) -> String {
        let peers = &self.peers;
        let name = |peer| format!("rank {} on host {}", peers.rank(peer), peers.host(peer));
        let (me, other) = (name(peers.me()), name(unheard.peer));
        let carrier = unheard.carrier;
        let at = unheard.address;
        let at = at.map_or_else(String::new, |at| format!(" at {at} ({carrier})"));
        let seconds = unheard.waited.as_secs();
        let rest = self.unheard.rest();
        match &unheard.hindrance {
            Some(Hindrance::Refusal(refusal)) => format!(
                "mpi-lite: {me}: cannot send to {other}{at} for {seconds} s: {refusal} \
                 (--interface chooses another network); this rank goes on trying{rest}"
            ),
            Some(Hindrance::BadNetwork(network)) => format!(
                "mpi-lite: {me}: no answer yet from {other}{at} for {seconds} s: does --net \
                 {network} let any through? This rank goes on trying{rest}"
            ),
            None => format!(
                "mpi-lite: {me}: no answer yet from {other}{at} for {seconds} s: does a firewall \
                 let only ssh through? Open {carrier} between the hosts (--port-range LOW-HIGH \
                 chooses the ports, --interface another network); this rank goes on trying{rest}"
            ),
        }
    }
}
