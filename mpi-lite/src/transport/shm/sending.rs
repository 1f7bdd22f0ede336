//! Messages on their way out.

use super::super::sink::LinkEvent;
use super::super::{EnvelopeBytes, Outbound, PeerId, Refusal};
use super::Shm;
use super::choice::CHOICE_BYTES;
use super::header::{ALONE, NOWHERE, SlotKind, words_of};
use super::limits::WATCHED;
use super::message::Outgoing;
use super::ring::REGISTERED_BYTES;
use crate::memory::Span;

/// What was written to a local peer and not yet made known.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    is_something: bool,
    /// A part of it is for the ticker, if the peer computes.
    is_long: bool,
}

impl Sent {
    fn note(&mut self, is_long: bool) {
        self.is_something = true;
        self.is_long |= is_long;
    }
}

impl Shm {
    /// Makes known what was written to `to`.
    #[inline]
    pub(super) fn announce(&mut self, to: u32) {
        let outward = &mut self.outward[to as usize];
        if !outward.is_known {
            outward.must_fence = self.node.wakeup().must_fence(outward.area);
            outward.introduce(self.me);
        }
        self.node
            .wakeup()
            .wake(to, outward.area, outward.must_fence);
    }

    /// Wakes `to` for a message that it must look at soon, even while its program computes.
    fn call(&mut self, to: u32) {
        self.announce(to);
        self.node
            .wakeup()
            .wake_with_ticker(to, self.outward[to as usize].area);
    }

    /// Writes a short message whole, if there is room. Returns true if it did: the body may be
    /// reused, and no event follows.
    #[inline]
    pub(super) fn push_whole(&mut self, to: PeerId, envelope: &EnvelopeBytes, body: Span) -> bool {
        let to = self.node.local(to);
        let outward = &mut self.outward[to as usize];
        if outward.is_shut() || !outward.push_message(envelope, body) {
            return false;
        }
        self.counters.messages_sent += 1;
        self.announce(to);
        true
    }

    pub(super) fn begin_send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
        let to = self.node.local(to);
        if self.outward[to as usize].is_closed {
            return Err(Refusal::Lost);
        }
        let index = self.outgoing.insert(Outgoing {
            to,
            envelope: *message.envelope,
            body: message.body,
            token: message.token,
            needs_match: message.needs_match,
            transfer: None,
            is_told: false,
            looks: 0,
            gone: 0,
            asked: None,
        });
        self.outward[to as usize].waiting.push_back(index);
        self.hurry(to);
        Ok(())
    }

    /// Sends the messages that wait for room at `to`. Returns true if none is left.
    pub(super) fn catch_up(&mut self, to: u32) -> bool {
        let mut sent = Sent::default();
        let all_went = self.catch_up_quietly(to, &mut sent);
        if sent.is_long {
            self.call(to);
        } else if sent.is_something {
            self.announce(to);
        }
        all_went
    }

    fn catch_up_quietly(&mut self, to: u32, sent: &mut Sent) -> bool {
        while let Some(&(kind, words)) = self.outward[to as usize].answers.front() {
            if !self.outward[to as usize].push_note(kind, words) {
                return false;
            }
            self.outward[to as usize].answers.pop_front();
            sent.note(kind == SlotKind::Ask);
        }
        while let Some(&index) = self.outward[to as usize].asked.front() {
            if !self.send_pieces(index, sent) {
                return false;
            }
            self.outward[to as usize].asked.pop_front();
        }
        while let Some(&index) = self.outward[to as usize].waiting.front() {
            let Some(is_long) = self.send_now(index) else {
                return false;
            };
            self.outward[to as usize].waiting.pop_front();
            sent.note(is_long);
        }
        true
    }

    /// Writes a message to its channel, if there is room. Returns true if the receiver must act on
    /// it soon: the body is still here, or the sender waits for the match.
    fn send_now(&mut self, index: u32) -> Option<bool> {
        let message = self
            .outgoing
            .get_mut(index)
            .expect("it waits in the channel's queue");
        let outward = &mut self.outward[message.to as usize];
        let (envelope, len) = (message.envelope, message.bytes());
        let span = message.body.span();
        let is_short = !message.needs_match && outward.is_short(len) && !outward.area.is_full();
        if let Some(body) = span.filter(|_| is_short) {
            let went = outward.push_message(&envelope, body);
            if went {
                self.counters.messages_sent += 1;
                self.finish_sending(index);
            }
            return went.then_some(false);
        }
        if let Some(body) = span.filter(|_| len <= REGISTERED_BYTES) {
            let went = outward.push_registered(&envelope, body, index);
            if went {
                self.counters.messages_sent += 1;
                message.is_told = true;
            }
            // Its body is not here any more; but a synchronous send waits for its match.
            return went.then_some(message.needs_match);
        }
        if span.is_some() && len > CHOICE_BYTES && message.transfer.is_none() {
            message.transfer = outward.take_transfer(len);
        }
        let name = u64::from(index) | u64::from(message.transfer.unwrap_or(ALONE)) << 32;
        let [context, tag] = words_of(&envelope);
        let address = span.map_or(NOWHERE, |span| span.address());
        let words = [context, tag, len as u64, name, address];
        let went = outward.push_note(SlotKind::Long, words);
        if went {
            self.counters.messages_sent += 1;
            self.counters.long_sent += 1;
            message.is_told = true;
            // Each watched message is looked at in each turn: a few are enough to wake a receiver
            // that computes.
            let is_watched = span.is_none() && self.shared.len() < WATCHED;
            if message.transfer.is_some() || is_watched {
                self.shared.push(index);
            }
        }
        went.then_some(true)
    }

    /// Sends the next pieces of a requested message. Returns true if all were sent.
    fn send_pieces(&mut self, index: u32, sent: &mut Sent) -> bool {
        let message = self
            .outgoing
            .get_mut(index)
            .expect("it waits in the channel's queue");
        let outward = &mut self.outward[message.to as usize];
        let name = message.asked.expect("the receiver has asked");
        while message.gone < message.bytes() {
            let Some(bytes) = outward.push_asked(name, message) else {
                return false;
            };
            message.gone += bytes;
            self.moved += bytes as u64;
            sent.note(true);
        }
        self.finish_sending(index);
        true
    }

    /// Completes a send: the body of the message may be reused.
    pub(super) fn finish_sending(&mut self, index: u32) {
        let message = self.outgoing.remove(index).expect("it was being sent");
        if let Some(transfer) = message.transfer {
            self.outward[message.to as usize].free_transfer(transfer);
        }
        if !self.shared.is_empty() {
            self.shared.retain(|&other| other != index);
        }
        self.events.push_back(LinkEvent::Sent(message.token));
    }

    /// Sends a slot without a body, now or when there is room.
    pub(super) fn answer(&mut self, to: u32, kind: SlotKind, words: [u64; 2]) {
        self.outward[to as usize].answers.push_back((kind, words));
        self.hurry(to);
    }

    /// Sends what waits for `to`, or notes that it waits.
    pub(super) fn hurry(&mut self, to: u32) {
        if !self.catch_up(to) && !self.behind.contains(&to) {
            self.counters.delayed += 1;
            self.behind.push(to);
        }
    }
}
