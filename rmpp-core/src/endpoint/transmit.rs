//! Making packets of outgoing messages.

use super::Endpoint;
use crate::bits::Bits;
use crate::caps::Caps;
use crate::config::Bug;
use crate::event::Transmit;
use crate::ids::{NodeId, OutgoingId};
use crate::outgoing::Outgoing;
use crate::outgoing::states::{Action, Input, State};
use crate::packet::{Flags, Header, Kind};
use crate::time::Instant;

impl<Out, In> Endpoint<Out, In> {
    /// The next packet of the messages that have something to send.
    pub(super) fn transmit_ready(&mut self, now: Instant) -> Option<Transmit> {
        loop {
            let key = *self.ready.front()?;
            let Some(index) = self.outgoing.find(key) else {
                self.ready.pop_front();
                continue;
            };
            let message = &self.outgoing[index];
            if message.opener_due {
                let packet = self.transmit_opener(index);
                self.note_launch(index, now);
                return Some(packet);
            }
            if self.may_send_data(message) && message.next_data().is_some() {
                return Some(self.transmit_data(index, now));
            }
            self.ready.pop_front();
            let message = &mut self.outgoing[index];
            message.ready = false;
            if message.state == State::Granted && message.deadline == Instant::NEVER {
                // It was acknowledged meanwhile: nothing is left to send.
                self.arm(index, now);
            }
        }
    }

    /// Data goes out when it is granted; unscheduled data also before the first answer.
    // Rule U.
    pub(super) fn may_send_data(&self, message: &Outgoing<Out>) -> bool {
        let unscheduled = message.state == State::Pending && self.common.caps().has(Caps::UNSCHED);
        message.state == State::Granted || unscheduled
    }

    /// RTS or LAST_RTS, or NULL in its place. `note_launch` starts its timer.
    #[inline]
    pub(super) fn transmit_opener(&mut self, index: u32) -> Transmit {
        let asks = self.asks_for_ack(index);
        let message = &mut self.outgoing[index];
        let shape = message.shape(self.common.config().packet_bytes);
        message.opener_due = false;
        if message.opened {
            message.attempt = message.attempt.wrapping_add(1);
            self.common.counts().first_repeated += 1;
        } else {
            message.opened = true;
            message.limit = self.common.config().unscheduled_of(shape);
        }
        let (kind, len) = match (message.state, shape.is_short()) {
            (State::Aborting, _) => (Kind::Null, 0),
            (_, true) => (Kind::LastRts, shape.first_bytes()),
            (_, false) => (Kind::Rts, shape.first_bytes()),
        };
        let flags = if asks { Flags::ASKS } else { Flags::NONE };
        let header = Header {
            flags,
            ..self.outgoing_header(index, kind)
        };
        self.packet(index, header, (0, len))
    }

    /// The first packet of a message is on its way.
    #[inline]
    pub(super) fn note_launch(&mut self, index: u32, now: Instant) {
        let message = &mut self.outgoing[index];
        message.sent_at = now;
        let to = message.to;
        if message.attempt > 0 {
            self.paths[to as usize].repeated_at = now;
        } else {
            message.measure.opened_at = now;
        }
        self.advance(index, Input::OpenerSent, now);
        self.mark_silence(to, now);
    }

    /// Returns true if the first packet asks for an acknowledgement at once: the layer above waits
    /// for it, it is repeated, or half of a window has gone out without asking.
    // Rule K.
    fn asks_for_ack(&mut self, index: u32) -> bool {
        if !self.common.caps().has(Caps::LAZY) {
            return false;
        }
        let message = &self.outgoing[index];
        let path = &mut self.paths[message.to as usize];
        path.unasked = path.unasked.saturating_add(1);
        path.unasked_bytes += message.charge;
        // Once for each half: a receiver that is behind is not to answer every message, and a full
        // window has asked.
        let is_half_full = usize::from(path.unasked) >= self.common.config().first_window / 2
            || path.unasked_bytes >= self.common.config().first_window_bytes / 2;
        let asks = message.awaited || message.opened || is_half_full;
        if asks {
            path.unasked = 0;
            path.unasked_bytes = 0;
        }
        asks
    }

    /// The next packet of a granted block; what is missing goes before what is new.
    // Rule P5. Rule R.
    fn transmit_data(&mut self, index: u32, now: Instant) -> Transmit {
        let selective = self.common.caps().has(Caps::SNAK);
        let message = &mut self.outgoing[index];
        let shape = message.shape(self.common.config().packet_bytes);
        let seq = message.next_data().expect("the caller has looked");
        match message.resend.lowest() {
            Some(at) => message.resend.clear(at),
            None => message.next += 1,
        }
        if seq == 1 {
            message.begun_at = now;
        }
        let is_new = seq > message.furthest;
        self.common.counts().data_repeated += u64::from(!is_new);
        message.furthest = message.furthest.max(seq);
        let is_last = seq == shape.last_seq();
        let is_over = is_last || message.next_data().is_none();
        let kind = match (is_last, is_over) {
            (true, _) => Kind::LastData,
            (false, true) => Kind::StopData,
            (false, false) => Kind::Data,
        };
        let beyond = u16::try_from(message.next - 1 - seq).unwrap_or(u16::MAX);
        let probes = is_over && core::mem::take(&mut message.probing);
        let to = message.to;
        if is_over {
            message.sent_at = now;
            message.measure.is_timed = is_new;
            let input = if is_last {
                Input::LastSent
            } else {
                Input::BlockSent
            };
            self.advance(index, input, now);
            self.mark_silence(to, now);
        }
        let message = &self.outgoing[index];
        let header = Header {
            seq,
            info1: if selective { beyond } else { message.grant },
            info2: if selective {
                message.nak
            } else {
                message.attempt
            },
            flags: if probes { Flags::PROBE } else { Flags::NONE },
            ..self.outgoing_header(index, kind)
        };
        self.packet(index, header, (shape.offset(seq), shape.data_bytes(seq)))
    }

    #[inline]
    fn advance(&mut self, index: u32, input: Input, now: Instant) {
        let step = self.outgoing[index].step(input, self.common.config());
        let (state, action) = step.expect("a packet is made only in a state that sends it");
        self.outgoing[index].state = state;
        if action == Action::Arm {
            self.arm(index, now);
        }
    }

    fn packet(&mut self, index: u32, header: Header, (offset, len): (u64, usize)) -> Transmit {
        let id = OutgoingId(self.outgoing.key(index));
        let to = self.outgoing[index].to;
        let is_null = header.kind == Kind::Null;
        let mut packet = self.seal(to, header, Bits::NONE);
        packet.message = (!is_null).then_some(id);
        (packet.offset, packet.len) = (offset, len);
        packet
    }

    /// A packet as it leaves: with the acknowledgement, and counted.
    #[inline]
    pub(super) fn seal(&mut self, to: u32, mut header: Header, bits: Bits) -> Transmit {
        if self.common.caps().has(Caps::LAZY) {
            header.ack = self.receiver.acknowledge(&self.common, to);
        }
        self.common.counts().sent[header.kind.index()] += 1;
        Transmit {
            to: NodeId(to),
            header: header.encode_with(bits),
            message: None,
            offset: 0,
            len: 0,
            packets: 1,
        }
    }

    /// The fields all packets of an outgoing message share.
    // Rule P1.
    pub(super) fn outgoing_header(&self, index: u32, kind: Kind) -> Header {
        let Outgoing {
            msg_id,
            len,
            attempt,
            msg_num,
            ..
        } = self.outgoing[index];
        let len = match self.common.has(Bug::CutWideLength) {
            true => len & u64::from(u32::MAX),
            false => len,
        };
        Header {
            kind,
            version: self.common.config().version,
            src: self.common.me(),
            msg_id,
            len,
            seq: 0,
            info1: 0,
            info2: attempt,
            msg_num,
            ack: 0,
            flags: Flags::NONE,
        }
    }
}
