//! Messages on their way out.

use std::sync::Arc;

use super::super::sink::LinkEvent;
use super::super::{EnvelopeBytes, Outbound, PeerId, Refusal, Token};
use super::choice::CHOICE_BYTES;
use super::header::{ALONE, NOWHERE, SlotKind, words_of};
use super::limits::{WATCHED, has_waited};
use super::link::Outward;
use super::message::{Events, Outgoing, numbers_of};
use super::ring::REGISTERED_BYTES;
use super::transfer::{self, Side};
use crate::counters::Shared;
use crate::memory::Span;
use crate::node::Node;
use crate::slab::Slab;

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

/// Messages on their way out, and the channels that they go through.
#[derive(Debug)]
pub(super) struct SendSide {
    node: Arc<Node>,
    channels: Vec<Outward>,
    messages: Slab<Outgoing>,
    /// Local peers that something waits for to be sent to.
    behind: Vec<u32>,
    /// Messages that both sides may copy.
    shared: Vec<u32>,
    /// Bytes of long messages that this side has copied.
    moved: u64,
    counters: Shared,
}

impl SendSide {
    pub(super) fn new(node: Arc<Node>, channels: Vec<Outward>) -> Self {
        Self {
            node,
            channels,
            messages: Slab::default(),
            behind: Vec::new(),
            shared: Vec::new(),
            moved: 0,
            counters: Shared::default(),
        }
    }

    /// The channel to a local peer.
    pub(super) fn channel(&mut self, to: u32) -> &mut Outward {
        &mut self.channels[to as usize]
    }

    /// Bytes of long messages that this side has copied.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// What this side has counted.
    pub(super) fn counters(&self) -> &Shared {
        &self.counters
    }

    /// How many peers and messages need `work`.
    #[inline]
    pub(super) fn busy(&self) -> usize {
        self.behind.len() + self.shared.len()
    }

    /// Returns true if all was taken from this rank's memory, and nothing waits for room.
    pub(super) fn is_quiet(&self) -> bool {
        self.messages.is_empty() && self.behind.is_empty()
    }

    /// Returns true if a message that waits for room has it now.
    pub(super) fn may_go_on(&mut self) -> bool {
        let mut behind = self.behind.iter();
        behind.any(|&to| self.channels[to as usize].may_go_on())
    }

    /// Gives back the memory of many messages.
    pub(super) fn shrink(&mut self) {
        self.messages.shrink();
    }

    /// Makes known what was written to `to`.
    #[inline]
    fn announce(&mut self, to: u32) {
        let outward = &mut self.channels[to as usize];
        if !outward.is_known {
            outward.must_fence = self.node.wakeup().must_fence(outward.area);
            outward.introduce(self.node.me());
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
            .wake_with_ticker(to, self.channels[to as usize].area);
    }

    /// Writes a short message whole, if there is room. Returns true if it did: the body may be
    /// reused, and no event follows.
    #[inline]
    pub(super) fn push_whole(&mut self, to: PeerId, envelope: &EnvelopeBytes, body: Span) -> bool {
        let to = self.node.local(to);
        let outward = &mut self.channels[to as usize];
        if outward.is_shut() || !outward.push_message(envelope, body) {
            return false;
        }
        self.counters.messages_sent += 1;
        self.announce(to);
        true
    }

    /// Begins to send a message: an event follows.
    pub(super) fn begin(
        &mut self,
        to: PeerId,
        message: Outbound<'_>,
        events: &mut Events,
    ) -> Result<(), Refusal> {
        let to = self.node.local(to);
        if self.channels[to as usize].is_closed {
            return Err(Refusal::Lost);
        }
        let index = self.messages.insert(Outgoing {
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
        self.channels[to as usize].waiting.push_back(index);
        self.hurry(to, events);
        Ok(())
    }

    /// Sends the messages that wait for room at `to`. Returns true if none is left.
    fn catch_up(&mut self, to: u32, events: &mut Events) -> bool {
        let mut sent = Sent::default();
        let all_went = self.catch_up_quietly(to, &mut sent, events);
        if sent.is_long {
            self.call(to);
        } else if sent.is_something {
            self.announce(to);
        }
        all_went
    }

    fn catch_up_quietly(&mut self, to: u32, sent: &mut Sent, events: &mut Events) -> bool {
        while let Some(&(kind, words)) = self.channels[to as usize].answers.front() {
            if !self.channels[to as usize].push_note(kind, words) {
                return false;
            }
            self.channels[to as usize].answers.pop_front();
            sent.note(kind == SlotKind::Ask);
        }
        while let Some(&index) = self.channels[to as usize].asked.front() {
            if !self.send_pieces(index, sent, events) {
                return false;
            }
            self.channels[to as usize].asked.pop_front();
        }
        while let Some(&index) = self.channels[to as usize].waiting.front() {
            let Some(is_long) = self.send_now(index, events) else {
                return false;
            };
            self.channels[to as usize].waiting.pop_front();
            sent.note(is_long);
        }
        true
    }

    /// Writes a message to its channel, if there is room. Returns true if the receiver must act on
    /// it soon: the body is still here, or the sender waits for the match.
    fn send_now(&mut self, index: u32, events: &mut Events) -> Option<bool> {
        let message = self
            .messages
            .get_mut(index)
            .expect("it waits in the channel's queue");
        let outward = &mut self.channels[message.to as usize];
        let (envelope, len) = (message.envelope, message.bytes());
        let span = message.body.span();
        let is_short = !message.needs_match && outward.is_short(len) && !outward.area.is_full();
        if let Some(body) = span.filter(|_| is_short) {
            let went = outward.push_message(&envelope, body);
            if went {
                self.counters.messages_sent += 1;
                self.finish(index, events);
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
    fn send_pieces(&mut self, index: u32, sent: &mut Sent, events: &mut Events) -> bool {
        let message = self
            .messages
            .get_mut(index)
            .expect("it waits in the channel's queue");
        let outward = &mut self.channels[message.to as usize];
        let name = message.asked.expect("the receiver has asked");
        while message.gone < message.bytes() {
            let Some(bytes) = outward.push_asked(name, message) else {
                return false;
            };
            message.gone += bytes;
            self.moved += bytes as u64;
            sent.note(true);
        }
        self.finish(index, events);
        true
    }

    /// Completes a send: the body of the message may be reused.
    fn finish(&mut self, index: u32, events: &mut Events) {
        let message = self.messages.remove(index).expect("it was being sent");
        if let Some(transfer) = message.transfer {
            self.channels[message.to as usize].free_transfer(transfer);
        }
        if !self.shared.is_empty() {
            self.shared.retain(|&other| other != index);
        }
        events.push_back(LinkEvent::Sent(message.token));
    }

    /// Sends a slot without a body, now or when there is room.
    pub(super) fn answer(
        &mut self,
        to: u32,
        (kind, words): (SlotKind, [u64; 2]),
        events: &mut Events,
    ) {
        self.channels[to as usize].answers.push_back((kind, words));
        self.hurry(to, events);
    }

    /// Sends what waits for `to`, or notes that it waits.
    fn hurry(&mut self, to: u32, events: &mut Events) {
        if !self.catch_up(to, events) && !self.behind.contains(&to) {
            self.counters.delayed += 1;
            self.behind.push(to);
        }
    }

    /// A receiver asks for the pieces of a message, which it calls `asked`. Returns false if that
    /// makes no sense.
    pub(super) fn hear_ask(
        &mut self,
        from: u32,
        (name, asked): (u64, u64),
        events: &mut Events,
    ) -> bool {
        let Some((index, asked)) = self.named(from, name).zip(u32::try_from(asked).ok()) else {
            return false;
        };
        let message = self.messages.get_mut(index).expect("it has a name");
        if message.asked.replace(asked).is_some() {
            return false;
        }
        self.channels[from as usize].asked.push_back(index);
        self.hurry(from, events);
        true
    }

    /// A receiver has all of a message. Returns false if that makes no sense.
    pub(super) fn hear_done(&mut self, from: u32, name: u64, events: &mut Events) -> bool {
        let named = self.named(from, name);
        if let Some(index) = named {
            self.finish(index, events);
        }
        named.is_some()
    }

    /// Finds the outgoing message to `from` that has this name.
    fn named(&self, from: u32, name: u64) -> Option<u32> {
        let index = u32::try_from(name).ok()?;
        let message = self.messages.get(index)?;
        (message.to == from && message.is_told && message.asked.is_none()).then_some(index)
    }

    /// Sends what has room again, and copies parts of long messages.
    pub(super) fn work(&mut self, events: &mut Events) {
        for at in (0..self.behind.len()).rev() {
            let to = self.behind[at];
            if self.catch_up(to, events) {
                self.behind.swap_remove(at);
            }
        }
        for at in (0..self.shared.len()).rev() {
            self.help_with(self.shared[at]);
        }
    }

    /// Copies a part of a long message that this rank sends, or asks for the place it goes to.
    fn help_with(&mut self, index: u32) {
        let message = self.messages.get_mut(index).expect("shared ones live");
        let outward = &mut self.channels[message.to as usize];
        let transfers = &outward.pair.transfers;
        let transfer = message.transfer.map(|number| &transfers[number as usize]);
        let placed = transfer.filter(|transfer| transfer.has_place());
        let (Some(transfer), Some(body)) = (placed, message.body.span()) else {
            if message.asked.is_none() && has_waited(&mut message.looks) {
                self.node.wakeup().knock(message.to, outward.area);
            }
            return;
        };
        let Some(local_peer) = outward.reach() else {
            return;
        };
        let bytes = transfer::help(
            (local_peer, Side::of(self.node.me(), message.to)),
            body,
            transfer,
        );
        self.counters.bytes_written += bytes;
        self.moved += bytes;
        // It may sleep until this is done.
        if bytes > 0 {
            self.node
                .wakeup()
                .wake_with_ticker(message.to, outward.area);
        } else {
            self.node
                .wakeup()
                .wake(message.to, outward.area, outward.must_fence);
        }
    }

    /// Wakes a sender that has room again, and may wait for it.
    #[inline(never)]
    pub(super) fn make_room_known(&self, sender: u32) {
        let outward = &self.channels[sender as usize];
        self.node
            .wakeup()
            .wake(sender, outward.area, outward.must_fence);
    }

    /// Wakes a sender of which a piece was taken: more may wait for room while it computes.
    pub(super) fn wake_sender(&self, sender: u32) {
        let area = self.channels[sender as usize].area;
        self.node.wakeup().wake_with_ticker(sender, area);
    }

    /// Closes the channel to a local peer. Returns the messages that will not be sent.
    pub(super) fn close(&mut self, to: u32) -> Vec<Token> {
        self.behind.retain(|&other| other != to);
        let lost = numbers_of(&self.messages, |message| message.to == to);
        let messages = &mut self.messages;
        let token_of = |index: u32| messages.remove(index).map(|message| message.token);
        let unsent = lost.into_iter().filter_map(token_of).collect();
        self.shared
            .retain(|&index| self.messages.get(index).is_some());
        self.channels[to as usize].close();
        unsent
    }
}
