//! One message on its way out: what of it has gone, and what may go.

use super::states::{self, Input, State, Step};
use super::{Measure, Outgoing, Place};
use crate::bits::{Bits, WINDOW};
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::{Bug, Config};
use crate::event::Message;
use crate::list::Links;
use crate::packet::{Header, Kind, Shape};
use crate::time::{Instant, nanoseconds};

impl<Out> Outgoing<Out> {
    pub(super) fn new(
        to: u32,
        (msg_id, msg_num): (u32, u32),
        message: Message<Out>,
        charge: u64,
    ) -> Self {
        Self {
            to,
            msg_id,
            msg_num,
            len: message.len,
            state: State::Waiting,
            place: Place::Waiting,
            ready: false,
            charge,
            named: false,
            awaited: message.is_awaited,
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
            kept: Some(message.kept),
        }
    }

    pub(super) fn shape(&self, config: &Config) -> Shape {
        let (len, packet_bytes) = (self.len, config.packet_bytes);
        Shape { len, packet_bytes }
    }

    /// When its first packet was repeated, if it was and has not been answered.
    pub(super) fn repeated_at(&self) -> Option<Instant> {
        let repeated = self.place == Place::Pending && self.attempt > 0;
        repeated.then_some(self.sent_at)
    }

    pub(super) fn step(&self, input: Input, config: &Config) -> Step {
        let shape = self.shape(config);
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
    pub(super) fn forget_received(&mut self, seq: u32) {
        if seq > self.resend_from {
            self.resend.advance((seq - self.resend_from).min(WINDOW));
            self.resend_from = seq;
        }
    }

    /// A CTS up to `limit` expects packet `expected` next and lacks `missing` of those sent.
    /// Returns true if it asks for anything that the one before did not.
    // Rule T.
    pub(super) fn note_asked(&mut self, limit: u32, expected: u32, missing: u32) -> bool {
        let (before, missing_before) = core::mem::replace(&mut self.asked, (expected, missing));
        limit > self.limit || expected > before || missing < missing_before
    }

    /// The data packet to send next, if any may be sent.
    // Rule R.
    pub(super) fn next_data(&self) -> Option<u32> {
        match self.resend.lowest() {
            Some(at) => Some(self.resend_from + at),
            None => (self.next <= self.limit).then_some(self.next),
        }
    }

    /// Data goes out when it is granted; unscheduled data also before the first answer.
    // Rule U.
    pub(super) fn may_send_data(&self, config: &Config) -> bool {
        let unscheduled = self.state == State::Pending && config.caps.has(Caps::UNSCHED);
        self.state == State::Granted || unscheduled
    }

    /// Returns true if a CTS is for the present attempt and grants what comes next, or with
    /// pipelining something beyond what was granted.
    // Rule B. Rule W.
    pub(super) fn is_granted_next(&self, header: &Header, config: &Config) -> bool {
        let is_first = !matches!(self.state, State::Granted | State::Blocked);
        let is_present = is_first || self.attempt == header.info2;
        let is_next = if config.caps.has(Caps::PIPE) && !is_first {
            header.seq <= self.next && header.grants_to() > self.limit
        } else {
            self.next == header.seq
        };
        is_present && is_next
    }

    /// The last packet that a CTS lets a message send.
    pub(super) fn limit_of(&self, header: &Header, config: &Config) -> u32 {
        if config.has(Bug::AddGrants) {
            return self.limit.saturating_add(header.info1.into());
        }
        header.grants_to()
    }

    /// Sends the last data packet once more, to learn what is missing; the first packet when no
    /// data has gone out.
    // Rule R.
    pub(super) fn probe(&mut self) {
        if self.next == 1 {
            self.opener_due = true;
            return;
        }
        self.probing = true;
        if self.resend.is_empty() {
            self.resend_from = self.next - 1;
            self.resend.set(0);
        }
    }

    /// The extra time of a first packet: its receiver may wait for a packet that carries the
    /// acknowledgement.
    // Rule K.
    pub(super) fn courtesy_ns(&self, config: &Config) -> u64 {
        match self.state {
            State::Pending if config.caps.has(Caps::LAZY) => nanoseconds(config.ack_delay),
            _ => 0,
        }
    }

    /// The fields all packets of an outgoing message share.
    // Rule P1.
    pub(super) fn header<K: Kept>(&self, kind: Kind, common: &Common<K>) -> Header {
        let len = match common.has(Bug::CutWideLength) {
            true => self.len & u64::from(u32::MAX),
            false => self.len,
        };
        Header {
            msg_id: self.msg_id,
            len,
            info2: self.attempt,
            msg_num: self.msg_num,
            ..Header::bare(kind, common.config().version, common.me())
        }
    }
}
