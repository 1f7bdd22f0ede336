//! Taking back a send that no receive has matched. Source: MPI 5.0, 3.8.4. Decision 0031.
//!
//! Only the receiver knows whether a message is matched. So the sender asks, by a message of the
//! engines whose body is the envelope of the message in question. It goes the same way as that
//! message and arrives after it. The receiver takes an unmatched message out of its queue, lets its
//! body land nowhere, so that the transport finishes as always, and answers. Nobody else hears of
//! the message again.
//!
//! The send is over when both have come, the transport's `Sent` and the answer, in any order. It is
//! cancelled or complete, as the answer says. Source: MPI 5.0, 3.8.4 (either, never both).

use crate::data::Area;
use crate::engine::Engine;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::{Body, Inbound};
use crate::engine::lane::Lane;
use crate::engine::lane::delivery::{Delivery, Target};
use crate::engine::lane::engine_messages::{
    DROPPED, GIVEN_UP, HELLO, LETTER_MOST, LOST, Letter, MATCHED, QUESTION, Stage, Withdrawal, word,
};
use crate::engine::outbox::sends::Sending;
use crate::engine::requests::request::{Request, Status};
use crate::error::{Error, Result};
use crate::memory::Span;
use crate::transport::{
    EnvelopeBytes, Incoming, Landing, Links, Outbound, PeerId, Progress, Token, Transport,
};

impl Lane {
    /// A number for a send that may be taken back, an odd one, so never 0. It comes round again
    /// after 2^23 of them; until then their receiver has matched earlier ones of the same envelope,
    /// or refuses.
    #[inline]
    pub(crate) fn next_serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(2) & 0xff_ffff;
        self.serial
    }

    /// Asks for the message of a send back, if there is one under way. If it is withdrawn the send
    /// fails with the error `why`; without one it is cancelled.
    #[cold]
    pub(crate) fn ask_back(&mut self, request: Request, why: Option<Error>) {
        let its = |(token, sending): (u32, &Sending)| sending.is_of(request).then_some(token);
        let Some(token) = self.delivery.sends.iter().find_map(its) else {
            return;
        };
        let sending = self.delivery.sends.get(token).expect("just found");
        let (to, envelope, token) = (sending.to, sending.envelope, Token(token));
        if self.delivery.withdrawal(token).is_none() {
            let stage = Stage::Asked;
            self.delivery
                .withdrawals
                .push(Withdrawal { token, stage, why });
            self.tell(to, word(QUESTION, token), envelope.to_vec());
        }
    }

    /// Sends a message of the engines. To a peer that is lost nothing need be told.
    pub(crate) fn tell(&mut self, to: PeerId, envelope: Envelope, mut body: Vec<u8>) {
        let envelope = envelope.encode();
        let span = Span::held(&mut body);
        let token = Token(
            self.delivery
                .sends
                .insert(Sending::of_engine(to, envelope, body)),
        );
        let message = Outbound {
            envelope: &envelope,
            body: Area::Run(span),
            token,
            is_awaited: false,
            needs_match: false,
        };
        let link = self.route(to);
        self.own_is_busy |= link == Links::OWN;
        if self.links[link].send(to, message).is_err() {
            self.delivery.sends.discard(token.0);
        }
        self.links[link].flush();
    }

    /// Replies to a question of a peer's engine.
    #[cold]
    pub(crate) fn answer(&mut self, question: &Letter) {
        let envelope: Option<EnvelopeBytes> = question.body[..].try_into().ok();
        let envelope = envelope.map(|bytes| Envelope::decode(&bytes));
        let is_dropped = envelope.is_some_and(|envelope| self.drop_unmatched(&envelope));
        let says = if is_dropped { DROPPED } else { MATCHED };
        self.tell(question.from, word(says, question.token), Vec::new());
    }

    /// Drops the unmatched message of this envelope. Returns true if there was one.
    fn drop_unmatched(&mut self, envelope: &Envelope) -> bool {
        let Some(place) = self.delivery.unexpected.withdraw(envelope) else {
            return false;
        };
        if let Some(inbound) = self.delivery.drop_withdrawn(place) {
            self.land(inbound, Target::Nothing, Area::EMPTY);
        }
        true
    }
}

impl Engine {
    /// Cancels an operation. The message of a send to this process itself, its question and its
    /// answer all go over the link to itself: turns until that is empty settle the matter, so that
    /// the next look at the request finds it complete. Source: MPI 5.0, 3.8.4 (waiting for it is
    /// local).
    ///
    /// # Errors
    /// As [`Lane::cancel`].
    pub fn cancel(&self, request: Request) -> Result<()> {
        let mut lane = self.lane.lock();
        lane.cancel(request)?;
        while lane.own_is_busy && lane.turn(self.clock.now()) == Progress::Delivered {}
        Ok(())
    }
}

impl Delivery {
    /// Drops the unexpected message at `place`, already out of its queue. Returns its name if its
    /// body is with its sender.
    fn drop_withdrawn(&mut self, place: u32) -> Option<Inbound> {
        let message = self.unexpected.get_mut(place);
        let message = message.expect("a withdrawn message has its place");
        let len = message.len;
        match core::mem::replace(&mut message.body, Body::Dropped(Vec::new())) {
            Body::Held(inbound) => {
                self.unexpected.remove(place);
                return Some(inbound);
            }
            Body::Coming(buffer) => {
                message.body = Body::Dropped(buffer);
                self.let_go(len);
            }
            Body::Whole(body) => {
                self.unexpected.remove(place);
                self.let_go(len);
                body.release(&mut self.pool);
            }
            Body::Lost(_) => _ = self.unexpected.remove(place),
            Body::Claimed(..) | Body::Dropped(_) => unreachable!("it left the queue before"),
        }
        None
    }

    /// A message of the engines has come.
    #[cold]
    pub(crate) fn hear(
        &mut self,
        inbound: Inbound,
        message: &Incoming,
        envelope: &Envelope,
    ) -> Landing {
        let (says, token) = (envelope.source, Token(envelope.tag.cast_unsigned()));
        let is_letter = matches!(says, QUESTION | GIVEN_UP) && message.len <= LETTER_MOST;
        if !is_letter {
            self.aim(inbound, Target::Nothing, message.is_whole);
            match says {
                LOST => self.note_desertion(message.from, token.0),
                HELLO | QUESTION | GIVEN_UP => {}
                says => self.settle(message.from, token, says == DROPPED),
            }
            return Landing::NOWHERE;
        }
        let mut body = vec![0; message.len as usize];
        let area = Area::Run(Span::held(&mut body));
        let letter = Letter {
            from: message.from,
            says,
            token,
            body,
        };
        // The link writes the body before anything else happens here.
        self.aim(inbound, Target::Letter(letter), message.is_whole);
        Landing::Into(area)
    }

    /// The place in the list of a send that is asked for.
    fn withdrawal(&self, token: Token) -> Option<usize> {
        self.withdrawals
            .iter()
            .position(|withdrawal| withdrawal.token == token)
    }

    /// The send is over, or can only end as if nobody had asked: its token is free for another one.
    pub(crate) fn forget_withdrawal(&mut self, token: Token) {
        self.withdrawals
            .retain(|withdrawal| withdrawal.token != token);
    }

    /// The transport has finished a send, while some are asked for.
    #[cold]
    pub(crate) fn sent_while_asking(&mut self, token: Token) {
        let Some(place) = self.withdrawal(token) else {
            return self.end_send(token, Status::EMPTY);
        };
        match self.withdrawals[place].stage {
            Stage::Asked | Stage::AskedAndSent => {
                self.withdrawals[place].stage = Stage::AskedAndSent;
            }
            Stage::Granted => self.end_withdrawn(place),
        }
    }

    /// The send of the withdrawal at `place` is over: its message was withdrawn.
    fn end_withdrawn(&mut self, place: usize) {
        let Withdrawal { token, why, .. } = self.withdrawals.remove(place);
        match why {
            None => self.end_send(token, Status::CANCELLED),
            Some(error) => self.fail_send(token, error),
        }
    }

    /// The receiver has answered.
    fn settle(&mut self, from: PeerId, token: Token, is_dropped: bool) {
        let sending = self.sends.get(token.0);
        let is_its = sending.is_some_and(|sending| sending.to == from);
        let place = self.withdrawal(token).filter(|_| is_its);
        // Without a place it was not asked.
        let Some(place) = place else {
            return;
        };
        match (self.withdrawals[place].stage, is_dropped) {
            (Stage::Asked, true) => self.withdrawals[place].stage = Stage::Granted,
            (Stage::Asked, false) => self.forget_withdrawal(token),
            (Stage::AskedAndSent, true) => self.end_withdrawn(place),
            (Stage::AskedAndSent, false) => {
                self.forget_withdrawal(token);
                self.end_send(token, Status::EMPTY);
            }
            // It has answered before.
            (Stage::Granted, _) => {}
        }
    }

    /// The sends to `peer` of which only its answer is missing, which will not come.
    pub(crate) fn unanswered(&self, peer: PeerId) -> Vec<Token> {
        let is_to_peer = |token: Token| {
            let sending = self.sends.get(token.0);
            sending.is_some_and(|sending| sending.to == peer)
        };
        let withdrawals = self.withdrawals.iter();
        withdrawals
            .filter(|asked| asked.stage == Stage::AskedAndSent && is_to_peer(asked.token))
            .map(|asked| asked.token)
            .collect()
    }
}
