//! Messages on their way out.

use super::super::{EnvelopeBytes, Event, Peer};
use super::note::{ALONE, Kind, words_of};
use super::{EAGER_BYTES, Shm};
use crate::memory::Span;

impl Shm {
    /// Makes known what was written to `to`.
    #[inline]
    pub(super) fn announce(&mut self, to: u32) {
        let outward = &mut self.outward[to as usize];
        if !outward.is_known {
            outward.must_fence = self.rest.must_fence(outward.area);
            outward.introduce(self.me);
        }
        self.rest.wake(to, outward.area, outward.must_fence);
    }

    /// Takes a short message whole, if there is room: it is as good as with its receiver, its body
    /// may be reused, and nothing more is heard of it. Answers whether it did.
    #[inline]
    pub(crate) fn offer(&mut self, to: Peer, envelope: &EnvelopeBytes, body: Span) -> bool {
        let to = self.locals[to.0 as usize];
        let outward = &mut self.outward[to as usize];
        if outward.is_shut() || !outward.push_message(envelope, body) {
            return false;
        }
        self.counters.messages_sent += 1;
        self.announce(to);
        true
    }

    /// Sends on what waits for room at `to`. Answers whether all of it went.
    pub(super) fn catch_up(&mut self, to: u32) -> bool {
        let mut has_sent = false;
        let all_went = self.catch_up_quietly(to, &mut has_sent);
        if has_sent {
            self.announce(to);
        }
        all_went
    }

    pub(super) fn catch_up_quietly(&mut self, to: u32, has_sent: &mut bool) -> bool {
        while let Some(&(kind, words)) = self.outward[to as usize].answers.front() {
            if !self.outward[to as usize].push_note(kind, words) {
                return false;
            }
            self.outward[to as usize].answers.pop_front();
            *has_sent = true;
        }
        while let Some(&index) = self.outward[to as usize].asked.front() {
            if !self.send_pieces(index, has_sent) {
                return false;
            }
            self.outward[to as usize].asked.pop_front();
        }
        while let Some(&index) = self.outward[to as usize].waiting.front() {
            if !self.send_now(index) {
                return false;
            }
            self.outward[to as usize].waiting.pop_front();
            *has_sent = true;
        }
        true
    }

    /// Writes a message to its road, if there is room.
    pub(super) fn send_now(&mut self, index: u32) -> bool {
        let message = self
            .outgoing
            .get_mut(index)
            .expect("it waits in the road's queue");
        let outward = &mut self.outward[message.to as usize];
        let (envelope, body) = (message.envelope, message.body);
        if !message.needs_match && body.len() <= EAGER_BYTES && !outward.area.is_full() {
            let went = outward.push_message(&envelope, body);
            if went {
                self.counters.messages_sent += 1;
                self.finish_sending(index);
            }
            return went;
        }
        if body.len() > EAGER_BYTES && message.transfer.is_none() {
            message.transfer = outward.take_transfer();
        }
        let name = u64::from(index) | u64::from(message.transfer.unwrap_or(ALONE)) << 32;
        let [context, tag] = words_of(&envelope);
        let words = [context, tag, body.len() as u64, name, body.address()];
        let went = outward.push_note(Kind::Long, words);
        if went {
            self.counters.messages_sent += 1;
            self.counters.long_sent += 1;
            message.is_told = true;
        }
        if went && message.transfer.is_some() {
            self.shared.push(index);
        }
        went
    }

    /// Sends the next pieces of a message that was asked for. Answers whether it is through.
    pub(super) fn send_pieces(&mut self, index: u32, has_sent: &mut bool) -> bool {
        let message = self
            .outgoing
            .get_mut(index)
            .expect("it waits in the road's queue");
        let outward = &mut self.outward[message.to as usize];
        let name = message.asked.expect("the receiver has asked");
        while message.gone < message.body.len() {
            let rest = message.body.part(message.gone, usize::MAX);
            let Some(bytes) = outward.push_asked(name, rest) else {
                return false;
            };
            message.gone += bytes;
            *has_sent = true;
        }
        self.finish_sending(index);
        true
    }

    /// The body of a message may be reused.
    pub(super) fn finish_sending(&mut self, index: u32) {
        let message = self.outgoing.remove(index).expect("it was being sent");
        if let Some(transfer) = message.transfer {
            self.outward[message.to as usize].free_transfer(transfer);
            self.shared.retain(|&other| other != index);
        }
        let token = message.token;
        self.events.push_back(Event::Sent { token });
    }

    /// Sends a slot without a body, now or when there is room.
    pub(super) fn answer(&mut self, to: u32, kind: Kind, words: [u64; 2]) {
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
