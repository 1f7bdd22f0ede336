//! Making packets of outgoing messages.

use super::Endpoint;
use crate::event::Transmit;
use crate::ids::{NodeId, OutgoingId};
use crate::outgoing::Outgoing;
use crate::outgoing::states::{Action, Input, State};
use crate::packet::{Flags, Header, Kind};
use crate::time::Instant;

impl Endpoint {
    /// The next packet of the messages that have something to send.
    pub(super) fn transmit_ready(&mut self, now: Instant) -> Option<Transmit> {
        loop {
            let key = *self.ready.front()?;
            let Some(index) = self.outgoing.find(key) else {
                self.ready.pop_front();
                continue;
            };
            match self.outgoing[index].state {
                State::Granted => return Some(self.transmit_data(index, now)),
                State::Waiting | State::Pending | State::Held | State::Aborting => {
                    self.leave_ready(index);
                    return Some(self.transmit_opener(index, now));
                }
                State::Blocked | State::Closing | State::Closed => self.leave_ready(index),
            }
        }
    }

    fn leave_ready(&mut self, index: u32) {
        self.ready.pop_front();
        self.outgoing[index].ready = false;
    }

    /// RTS or LAST_RTS, or NULL in its place.
    fn transmit_opener(&mut self, index: u32, now: Instant) -> Transmit {
        let message = &mut self.outgoing[index];
        let shape = message.shape(self.config.packet_bytes);
        if message.opened {
            message.attempt = message.attempt.wrapping_add(1);
            self.counters.first_repeated += 1;
        }
        message.opened = true;
        message.sent_at = now;
        let (kind, len) = match (message.state, shape.is_short()) {
            (State::Aborting, _) => (Kind::Null, 0),
            (_, true) => (Kind::LastRts, shape.first_bytes()),
            (_, false) => (Kind::Rts, shape.first_bytes()),
        };
        let (to, grant) = (message.to, 0);
        self.advance(index, Input::OpenerSent, now);
        self.mark_silence(to, now);
        self.packet(index, kind, (0, grant), (0, len))
    }

    /// The next packet of a granted block.
    // Rule P5.
    fn transmit_data(&mut self, index: u32, now: Instant) -> Transmit {
        let message = &mut self.outgoing[index];
        let shape = message.shape(self.config.packet_bytes);
        let seq = message.next;
        message.next += 1;
        if seq == 1 {
            message.begun_at = now;
        }
        self.counters.data_repeated += u64::from(seq <= message.furthest);
        message.furthest = message.furthest.max(seq);
        let (kind, over) = if seq == shape.last_seq() {
            (Kind::LastData, Some(Input::LastSent))
        } else if seq >= message.limit {
            (Kind::StopData, Some(Input::BlockSent))
        } else {
            (Kind::Data, None)
        };
        let grant = message.grant;
        if let Some(input) = over {
            message.sent_at = now;
            let to = message.to;
            self.leave_ready(index);
            self.advance(index, input, now);
            self.mark_silence(to, now);
        }
        self.packet(
            index,
            kind,
            (seq, grant),
            (shape.offset(seq), shape.data_bytes(seq)),
        )
    }

    fn advance(&mut self, index: u32, input: Input, now: Instant) {
        let step = self.outgoing[index].step(input, self.config.packet_bytes);
        let (state, action) = step.expect("a packet is made only in a state that sends it");
        self.outgoing[index].state = state;
        if action == Action::Arm {
            self.arm(index, now);
        }
    }

    fn packet(
        &mut self,
        index: u32,
        kind: Kind,
        (seq, grant): (u32, u16),
        (offset, len): (u64, usize),
    ) -> Transmit {
        self.counters.sent[kind.index()] += 1;
        let header = Header {
            seq,
            info1: grant,
            ..self.outgoing_header(index, kind)
        };
        let has_payload = kind != Kind::Null;
        Transmit {
            to: NodeId(self.outgoing[index].to),
            header: header.encode(),
            message: has_payload.then(|| OutgoingId(self.outgoing.key(index))),
            offset,
            len,
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
        Header {
            kind,
            version: self.config.version,
            src: self.me,
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
