//! Messages on their way out.

pub(crate) mod states;

use core::hash::{Hash, Hasher};

use crate::bits::{Bits, WINDOW};
use crate::caps::Caps;
use crate::config::Config;
use crate::list::{Linked, Links};
use crate::packet::Shape;
use crate::time::Instant;
use states::{Input, State, Step};

/// The state of an outgoing message.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Outgoing<Out> {
    pub(crate) to: u32,
    pub(crate) msg_id: u32,
    pub(crate) msg_num: u32,
    pub(crate) len: u64,
    pub(crate) state: State,
    /// Which of its path's or the endpoint's lists it is in.
    pub(crate) place: Place,
    /// True if it is in the queue of messages with something to transmit.
    pub(crate) ready: bool,
    /// Bytes that it has under way before its first packet is acknowledged (rule M).
    pub(crate) charge: u64,
    /// True if answers that name it find it.
    pub(crate) named: bool,
    /// True if the layer above waits for its end.
    pub(crate) awaited: bool,
    /// True if its first packet (or NULL) was ever handed out.
    pub(crate) opened: bool,
    /// Time-outs in a row since the receiver last answered; doubles the wait.
    pub(crate) tries: u8,
    /// How often it has been tried again (`info2`).
    pub(crate) attempt: u16,
    /// The latest attempt that the receiver has answered with a hold (rule H).
    pub(crate) held_at: u16,
    /// Size of the current grant (`info1`).
    pub(crate) grant: u16,
    /// True if its first packet (or the NULL in its place) is to go out (again).
    pub(crate) opener_due: bool,
    /// The number of the last NAK obeyed (rule R).
    pub(crate) nak: u16,
    /// The packet that the last CTS expects next, and how many it lacks of those sent (rule R).
    pub(crate) asked: (u32, u32),
    /// True if the next packet that ends a burst bears PROBE (rule R).
    pub(crate) probing: bool,
    /// The packets to send again, from `resend_from` on (rule R).
    pub(crate) resend: Bits,
    pub(crate) resend_from: u32,
    /// Next data packet to send.
    pub(crate) next: u32,
    /// Last data packet granted.
    pub(crate) limit: u32,
    /// Last data packet ever sent.
    pub(crate) furthest: u32,
    /// When data packet 1 of the present attempt went out.
    pub(crate) begun_at: Instant,
    /// When the packet that is to be answered went out.
    pub(crate) sent_at: Instant,
    pub(crate) measure: Measure,
    /// When it is sent again; `NEVER` while it waits to go out.
    pub(crate) deadline: Instant,
    links: Links,
    /// The value that the layer above keeps with it; it is there until the end.
    pub(crate) kept: Option<Out>,
}

/// The part of a message that measuring the round trip needs (rule T).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measure {
    /// When its first packet went out for the first time.
    pub(crate) opened_at: Instant,
    /// True if the packet that is to be answered is data that had not been sent before.
    pub(crate) is_timed: bool,
}

impl Hash for Measure {
    /// It changes the length of timeouts alone, which the explorer takes to be alike.
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The lists of paper §3.4 on the send side, `send_pending` in three parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Beyond the first-packet window.
    Waiting,
    /// `send_pending`.
    Pending,
    /// `send_pending`, known to the receiver.
    Held,
    /// `sending`.
    Sending,
}

impl<Out> Outgoing<Out> {
    pub(crate) fn new(to: u32, (msg_id, msg_num): (u32, u32), len: u64, kept: Out) -> Self {
        Self {
            to,
            msg_id,
            msg_num,
            len,
            state: State::Waiting,
            place: Place::Waiting,
            ready: false,
            charge: 0,
            named: false,
            awaited: false,
            opened: false,
            tries: 0,
            attempt: 0,
            held_at: 0,
            grant: 0,
            opener_due: false,
            nak: 0,
            asked: (0, 0),
            probing: false,
            resend: Bits::NONE,
            resend_from: 1,
            next: 1,
            limit: 0,
            furthest: 0,
            begun_at: Instant::ZERO,
            sent_at: Instant::ZERO,
            measure: Measure::default(),
            deadline: Instant::NEVER,
            links: Links::LOOSE,
            kept: Some(kept),
        }
    }

    pub(crate) fn shape(&self, packet_bytes: usize) -> Shape {
        Shape {
            len: self.len,
            packet_bytes,
        }
    }

    pub(crate) fn step(&self, input: Input, config: &Config) -> Step {
        let shape = self.shape(config.packet_bytes);
        if shape.is_short() {
            states::short(self.state, input)
        } else if input == Input::Accepted && config.is_unasked(shape) {
            states::unscheduled(self.state, input)
        } else if config.caps.has(Caps::SNAK) {
            states::selective(self.state, input)
        } else if config.caps.has(Caps::PIPE) {
            states::pipelined(self.state, input)
        } else {
            states::long(self.state, input)
        }
    }

    /// All packets before `seq` have been received: they need not go again.
    // Rule R.
    pub(crate) fn forget_received(&mut self, seq: u32) {
        if seq > self.resend_from {
            self.resend.advance((seq - self.resend_from).min(WINDOW));
            self.resend_from = seq;
        }
    }

    /// A CTS up to `limit` expects packet `expected` next and lacks `missing` of those sent.
    /// Returns true if it asks for anything that the one before did not.
    // Rule T.
    pub(crate) fn note_asked(&mut self, limit: u32, expected: u32, missing: u32) -> bool {
        let (before, missing_before) = core::mem::replace(&mut self.asked, (expected, missing));
        limit > self.limit || expected > before || missing < missing_before
    }

    /// The data packet to send next, if any may be sent.
    // Rule R.
    pub(crate) fn next_data(&self) -> Option<u32> {
        match self.resend.lowest() {
            Some(at) => Some(self.resend_from + at),
            None => (self.next <= self.limit).then_some(self.next),
        }
    }
}

impl<Out> Linked for Outgoing<Out> {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> u32 {
        self.links.next()
    }
}
