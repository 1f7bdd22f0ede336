//! Making packets of outgoing messages.

use super::Sender;
use super::states::{Action, Input, State};
use crate::bits::Bits;
use crate::caps::Caps;
use crate::common::Common;
use crate::event::Transmit;
use crate::ids::OutgoingId;
use crate::packet::{Flags, Header, Kind};
use crate::time::Instant;

impl<Out> Sender<Out> {
    /// The next packet of the messages that have something to send. It carries the acknowledgement
    /// that `ack` returns for its peer.
    pub(crate) fn transmit_ready<In>(
        &mut self,
        common: &mut Common<Out, In>,
        now: Instant,
        ack: impl FnOnce(&Common<Out, In>, u32) -> u32,
    ) -> Option<Transmit> {
        loop {
            let key = *self.queues.ready.front()?;
            let Some(index) = self.queues.messages.find(key) else {
                self.queues.ready.pop_front();
                continue;
            };
            let message = &self.queues.messages[index];
            if message.opener_due {
                let packet = self.transmit_opener(common, index, ack);
                self.note_launch(common, index, now);
                return Some(packet);
            }
            if message.may_send_data(common.config()) && message.next_data().is_some() {
                return Some(self.transmit_data(common, index, now, ack));
            }
            self.queues.ready.pop_front();
            let message = &mut self.queues.messages[index];
            message.ready = false;
            if message.state == State::Granted && message.deadline == Instant::NEVER {
                // It was acknowledged meanwhile: nothing is left to send.
                self.arm(common, index, now);
            }
        }
    }

    /// RTS or LAST_RTS, or NULL in its place. `note_launch` starts its timer.
    #[inline]
    pub(crate) fn transmit_opener<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        ack: impl FnOnce(&Common<Out, In>, u32) -> u32,
    ) -> Transmit {
        let asks = self.asks_for_ack(common, index);
        let message = &mut self.queues.messages[index];
        let shape = message.shape(common.config().packet_bytes);
        message.opener_due = false;
        if message.opened {
            message.attempt = message.attempt.wrapping_add(1);
            common.counts().first_repeated += 1;
        } else {
            message.opened = true;
            message.limit = common.config().unscheduled_of(shape);
        }
        let (kind, len) = match (message.state, shape.is_short()) {
            (State::Aborting, _) => (Kind::Null, 0),
            (_, true) => (Kind::LastRts, shape.first_bytes()),
            (_, false) => (Kind::Rts, shape.first_bytes()),
        };
        let flags = if asks { Flags::ASKS } else { Flags::NONE };
        let header = Header {
            flags,
            ..self.queues.messages[index].header(kind, common)
        };
        self.packet(common, index, (header, 0, len), ack)
    }

    /// The first packet of a message is on its way.
    #[inline]
    pub(crate) fn note_launch<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        now: Instant,
    ) {
        let message = &mut self.queues.messages[index];
        message.sent_at = now;
        let to = message.to;
        if message.attempt > 0 {
            self.queues.to[to as usize].repeated_at = now;
        } else {
            message.measure.opened_at = now;
        }
        self.advance(common, index, Input::OpenerSent, now);
        self.queues.to[to as usize].mark_silence(now);
    }

    /// Returns true if the first packet asks for an acknowledgement at once: the layer above waits
    /// for it, it is repeated, or half of a window has gone out without asking.
    // Rule K.
    pub(super) fn asks_for_ack<In>(&mut self, common: &mut Common<Out, In>, index: u32) -> bool {
        if !common.caps().has(Caps::LAZY) {
            return false;
        }
        let message = &self.queues.messages[index];
        let path = &mut self.queues.to[message.to as usize];
        path.unasked = path.unasked.saturating_add(1);
        path.unasked_bytes += message.charge;
        // Once for each half: a receiver that is behind is not to answer every message, and a full
        // window has asked.
        let is_half_full = usize::from(path.unasked) >= common.config().first_window / 2
            || path.unasked_bytes >= common.config().first_window_bytes / 2;
        let asks = message.awaited || message.opened || is_half_full;
        if asks {
            path.unasked = 0;
            path.unasked_bytes = 0;
        }
        asks
    }

    /// The next packet of a granted block; what is missing goes before what is new.
    // Rule P5. Rule R.
    pub(super) fn transmit_data<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        now: Instant,
        ack: impl FnOnce(&Common<Out, In>, u32) -> u32,
    ) -> Transmit {
        let selective = common.caps().has(Caps::SNAK);
        let message = &mut self.queues.messages[index];
        let shape = message.shape(common.config().packet_bytes);
        let seq = message.next_data().expect("the caller has looked");
        match message.resend.lowest() {
            Some(at) => message.resend.clear(at),
            None => message.next += 1,
        }
        if seq == 1 {
            message.begun_at = now;
        }
        let is_new = seq > message.furthest;
        common.counts().data_repeated += u64::from(!is_new);
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
            self.advance(common, index, input, now);
            self.queues.to[to as usize].mark_silence(now);
        }
        let message = &self.queues.messages[index];
        let header = Header {
            seq,
            info1: if selective { beyond } else { message.grant },
            info2: if selective {
                message.nak
            } else {
                message.attempt
            },
            flags: if probes { Flags::PROBE } else { Flags::NONE },
            ..self.queues.messages[index].header(kind, common)
        };
        let (offset, len) = (shape.offset(seq), shape.data_bytes(seq));
        self.packet(common, index, (header, offset, len), ack)
    }

    #[inline]
    pub(super) fn advance<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        input: Input,
        now: Instant,
    ) {
        let step = self.queues.messages[index].step(input, common.config());
        let (state, action) = step.expect("a packet is made only in a state that sends it");
        self.queues.messages[index].state = state;
        if action == Action::Arm {
            self.arm(common, index, now);
        }
    }

    fn packet<In>(
        &self,
        common: &mut Common<Out, In>,
        index: u32,
        (mut header, offset, len): (Header, u64, usize),
        ack: impl FnOnce(&Common<Out, In>, u32) -> u32,
    ) -> Transmit {
        let id = OutgoingId(self.queues.messages.key(index));
        let to = self.queues.messages[index].to;
        header.ack = ack(common, to);
        let is_null = header.kind == Kind::Null;
        let mut packet = common.seal(to, header, Bits::NONE);
        packet.message = (!is_null).then_some(id);
        (packet.offset, packet.len) = (offset, len);
        packet
    }

    /// Sends up to `most` packets behind the one at `offset`, short of the one that ends the burst.
    pub(crate) fn send_more<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        offset: u64,
        most: u32,
    ) -> u32 {
        let message = &mut self.queues.messages[index];
        let shape = message.shape(common.config().packet_bytes);
        let is_plain = shape.offset(message.next) == offset + shape.packet_bytes as u64
            && message.next > message.furthest
            && !message.opener_due;
        if !is_plain {
            return 0;
        }
        let end = message.limit.min(shape.last_seq());
        let more = end.saturating_sub(message.next).min(most);
        message.next += more;
        message.furthest = message.next - 1;
        common.counts().sent[Kind::Data.index()] += u64::from(more);
        more
    }
}
