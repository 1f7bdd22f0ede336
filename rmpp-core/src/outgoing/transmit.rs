//! Making packets of outgoing messages.

use super::states::{Action, Input, State};
use super::{Queues, Sender};
use crate::bits::Bits;
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::event::Transmit;
use crate::ids::OutgoingId;
use crate::packet::{Flags, Header, Kind};
use crate::time::Instant;

impl<K: Kept> Sender<K> {
    /// The next message that has something to send, and its peer.
    pub(crate) fn next_ready(&mut self, common: &mut Common<K>) -> Option<(u32, u32)> {
        let queues = &mut self.queues;
        loop {
            let key = *queues.ready.front()?;
            let Some(index) = queues.messages.find(key) else {
                queues.ready.pop_front();
                continue;
            };
            let message = &mut queues.messages[index];
            let has_data = message.may_send_data(common.config()) && message.next_data().is_some();
            if message.opener_due || has_data {
                return Some((index, message.to));
            }
            queues.ready.pop_front();
            message.ready = false;
            if message.state == State::Granted && message.deadline == Instant::NEVER {
                // It was acknowledged meanwhile: nothing is left to send.
                queues.arm(common, index, common.now());
            }
        }
    }

    /// The next packet of a message that has something to send.
    pub(crate) fn transmit(&mut self, common: &mut Common<K>, index: u32, ack: u32) -> Transmit {
        if !self.queues.messages[index].opener_due {
            return self.queues.make_data(common, index, ack);
        }
        let packet = self.queues.make_opener(common, index, ack);
        self.queues.note_launch(common, index);
        packet
    }

    /// Sends up to `most` packets behind one of data, short of the one that ends the burst.
    pub(crate) fn send_more(&mut self, common: &mut Common<K>, it: &Transmit, most: u32) -> u32 {
        let Some(OutgoingId(key)) = it.message else {
            return 0;
        };
        let message = &mut self.queues.messages[key.index];
        let shape = message.shape(common.config());
        let is_plain = shape.offset(message.next) == it.offset + shape.packet_bytes as u64
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

impl<K: Kept> Queues<K> {
    /// RTS or LAST_RTS, or NULL in its place. `note_launch` starts its timer.
    #[inline]
    pub(super) fn make_opener(&mut self, common: &mut Common<K>, index: u32, ack: u32) -> Transmit {
        let message = &mut self.messages[index];
        let must = message.awaited || message.opened;
        let asks = self.to[message.to as usize].asks_for_ack(common.config(), message.charge, must);
        let shape = message.shape(common.config());
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
        let header = message.header(kind, common);
        let header = Header {
            flags,
            ack,
            ..header
        };
        self.packet(common, index, header, (0, len))
    }

    /// The first packet of a message is on its way.
    #[inline]
    pub(super) fn note_launch(&mut self, common: &mut Common<K>, index: u32) {
        let now = common.now();
        let message = &mut self.messages[index];
        message.sent_at = now;
        let to = message.to as usize;
        if message.attempt > 0 {
            self.to[to].repeated_at = now;
        } else {
            message.measure.opened_at = now;
        }
        self.advance(common, index, Input::OpenerSent);
        self.to[to].mark_silence(now);
    }

    /// The next packet of a granted block; what is missing goes before what is new.
    // Rule P5. Rule R.
    fn make_data(&mut self, common: &mut Common<K>, index: u32, ack: u32) -> Transmit {
        let message = &mut self.messages[index];
        let shape = message.shape(common.config());
        let seq = message.next_data().expect("the caller has looked");
        match message.resend.lowest() {
            Some(at) => message.resend.clear(at),
            None => message.next += 1,
        }
        if seq == 1 {
            message.begun_at = common.now();
        }
        let is_new = seq > message.furthest;
        common.counts().data_repeated += u64::from(!is_new);
        message.furthest = message.furthest.max(seq);
        let is_last = seq == shape.last_seq();
        let is_over = is_last || message.next_data().is_none();
        let (kind, input) = match (is_last, is_over) {
            (true, _) => (Kind::LastData, Input::LastSent),
            (false, true) => (Kind::StopData, Input::BlockSent),
            (false, false) => (Kind::Data, Input::BlockSent),
        };
        let beyond = u16::try_from(message.next - 1 - seq).unwrap_or(u16::MAX);
        let probes = is_over && core::mem::take(&mut message.probing);
        let to = message.to as usize;
        if is_over {
            message.sent_at = common.now();
            message.measure.is_timed = is_new;
            self.advance(common, index, input);
            self.to[to].mark_silence(common.now());
        }
        let message = &self.messages[index];
        let (info1, info2) = match common.caps().has(Caps::SNAK) {
            true => (beyond, message.nak),
            false => (message.grant, message.attempt),
        };
        let header = Header {
            seq,
            info1,
            info2,
            ack,
            flags: if probes { Flags::PROBE } else { Flags::NONE },
            ..message.header(kind, common)
        };
        self.packet(
            common,
            index,
            header,
            (shape.offset(seq), shape.data_bytes(seq)),
        )
    }

    #[inline]
    fn advance(&mut self, common: &mut Common<K>, index: u32, input: Input) {
        let step = self.messages[index].step(input, common.config());
        let (state, action) = step.expect("a packet is made only in a state that sends it");
        self.messages[index].state = state;
        if action == Action::Arm {
            self.arm(common, index, common.now());
        }
    }

    fn packet(
        &self,
        common: &mut Common<K>,
        index: u32,
        header: Header,
        (offset, len): (u64, usize),
    ) -> Transmit {
        let is_null = header.kind == Kind::Null;
        let mut packet = common.seal(self.messages[index].to, header, Bits::NONE);
        packet.message = (!is_null).then(|| OutgoingId(self.messages.key(index)));
        (packet.offset, packet.len) = (offset, len);
        packet
    }
}
