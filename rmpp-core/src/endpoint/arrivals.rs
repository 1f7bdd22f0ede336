//! Packets of incoming messages: first packets, data, NULL and GCH.

use super::turns::Turn;
use super::{Endpoint, Fresh};
use crate::bits::Bits;
use crate::caps::Caps;
use crate::config::Bug;
use crate::error::Dropped;
use crate::event::{Event, Landing, Placement};
use crate::ids::{IncomingId, Key, NodeId, later_attempt, precedes};
use crate::incoming::states::{Action, Input, State, step};
use crate::incoming::{Incoming, Listed};
use crate::packet::{Flags, Header, Kind, bits_of};
use crate::time::Instant;

impl<Out, In> Endpoint<Out, In> {
    pub(super) fn dispatch(
        &mut self,
        from: u32,
        (header, bytes): (&Header, &[u8]),
        now: Instant,
    ) -> Result<Placement, Dropped> {
        let answer = match header.kind {
            Kind::Rts | Kind::LastRts => return self.hear_opener(header),
            Kind::Data | Kind::StopData | Kind::LastData => return self.hear_data(header, now),
            Kind::Null => self.hear_null(header, now),
            Kind::Gch if header.src == from => self.hear_gch(header, now),
            Kind::Gch => self.hear_hold(from, header, now),
            Kind::Cts if self.config.caps.has(Caps::SNAK) => {
                self.hear_selective_cts(from, (header, bits_of(bytes)), now)
            }
            Kind::Cts => self.hear_cts(from, header, now),
            Kind::MsgEnd | Kind::MsgDrop => self.hear_end(from, header, now),
        };
        answer.map(|()| Placement::None)
    }

    /// The state of the message a packet belongs to, if there is any.
    fn known(&self, header: &Header) -> Result<Option<u32>, Dropped> {
        let Some(index) = self.incoming_at.get(header.src, header.msg_id) else {
            return Ok(None);
        };
        let Incoming { msg_num, len, .. } = self.incoming[index];
        if (msg_num, len) != (header.msg_num, header.len) {
            return Err(Dropped::Mismatch);
        }
        Ok(Some(index))
    }

    /// The state of the message that a packet may begin. The sender reuses the name of a message
    /// that it has forgotten: if a finished message has the packet's name, but the packet bears the
    /// number that is due, the finished message is forgotten.
    // Rule L.
    fn known_or_new(&mut self, header: &Header) -> Result<Option<u32>, Dropped> {
        let known = self.known(header);
        let is_due = header.msg_num == self.peers[header.src as usize].next_in;
        if known == Err(Dropped::Mismatch)
            && is_due
            && let Some(index) = self.incoming_at.get(header.src, header.msg_id)
            && self.incoming[index].is_done()
        {
            self.forget(index);
            return Ok(None);
        }
        known
    }

    /// RTS or LAST_RTS.
    fn hear_opener(&mut self, header: &Header) -> Result<Placement, Dropped> {
        let Some(index) = self.known_or_new(header)? else {
            let turn = self.turn_of(header);
            if !matches!(turn, Turn::Over) {
                self.close_block(header.src);
            }
            return match turn {
                Turn::Now => Ok(self.announce(header)),
                Turn::Over => Ok(Placement::None),
                Turn::Later => self.keep_early(header),
            };
        };
        self.note_attempt(index, header.info2);
        let message = &self.incoming[index];
        let (state, action) = step(message.state, Input::Opener).ok_or(Dropped::Unexpected)?;
        debug_assert_eq!(state, message.state);
        match action {
            Action::Hint if self.config.has(Bug::AnnounceTwice) => {
                let len = header.len;
                let message = IncomingId(self.incoming.key(index));
                return Ok(Placement::First { message, len });
            }
            // Rule H.
            Action::Hint => self.reply(index, Kind::Gch),
            // Data has come, so the CTS had: this RTS is an old one.
            Action::GrantAgain if self.config.caps.has(Caps::SNAK) => self.grant_again(index),
            Action::GrantAgain if message.expected > 1 => return Err(Dropped::Unexpected),
            Action::GrantAgain => self.reply(index, Kind::Cts),
            Action::TellGap => self.tell_gap(header.src),
            _ => self.reply_again(index, action),
        }
        Ok(Placement::None)
    }

    /// MSGEND for a message without state.
    // Rule A. Rule N.
    pub(super) fn end_unknown(&mut self, header: &Header) {
        let answer = Header {
            kind: Kind::MsgEnd,
            seq: 0,
            info1: 0,
            ack: 0,
            flags: Flags::NONE,
            ..*header
        };
        self.answer(header.src, answer);
    }

    // Rule P15.
    pub(super) fn enter_incoming(&mut self, header: &Header) -> u32 {
        let key = self.incoming.insert(Incoming::new(header));
        let fresh = self
            .incoming_at
            .insert(header.src, header.msg_id, key.index);
        assert!(fresh, "an unknown message has no entry");
        key.index
    }

    pub(super) fn list_incoming(&mut self, index: u32, listed: Listed) {
        let path = &mut self.paths[self.incoming[index].from as usize];
        let list = match listed {
            Listed::Unconfirmed if self.config.caps.has(Caps::LAZY) => &mut path.unconfirmed,
            Listed::Early => &mut path.early,
            Listed::Done => &mut self.done,
            Listed::Unconfirmed | Listed::Nowhere => return,
        };
        list.push_back(&mut self.incoming, index);
        self.incoming[index].listed = listed;
        // Rule C: the one too many goes at once.
        debug_assert!(self.done.len() <= self.config.max_done_states + 1);
    }

    pub(super) fn unlist_incoming(&mut self, index: u32) {
        let path = &mut self.paths[self.incoming[index].from as usize];
        let list = match self.incoming[index].listed {
            Listed::Unconfirmed => &mut path.unconfirmed,
            Listed::Early => &mut path.early,
            Listed::Done => &mut self.done,
            Listed::Nowhere => return,
        };
        list.remove(&mut self.incoming, index);
        self.incoming[index].listed = Listed::Nowhere;
    }

    /// Announces a new message in order, and consumes its number.
    fn announce(&mut self, header: &Header) -> Placement {
        let leaves_nothing = header.shape(self.config.packet_bytes).is_short()
            && self.config.caps.has(Caps::LAZY)
            && self.paths[header.src as usize].early.len() == 0;
        let key = if leaves_nothing {
            let key = self.incoming.next_key();
            let header = *header;
            self.fresh = Some(Fresh { key, header });
            key
        } else {
            self.enter_announced(header)
        };
        self.consume_number(header);
        Placement::First {
            message: IncomingId(key),
            len: header.len,
        }
    }

    fn enter_announced(&mut self, header: &Header) -> Key {
        let index = self.enter_incoming(header);
        self.list_incoming(index, Listed::Unconfirmed);
        self.incoming.key(index)
    }

    /// Enters the message that was announced last, because it has not landed at once.
    #[cold]
    pub(super) fn keep_fresh(&mut self) {
        if let Some(Fresh { key, header }) = self.fresh.take() {
            let entered = self.enter_announced(&header);
            debug_assert_eq!(entered, key);
        }
    }

    /// A short message in order lands as soon as it has come: all that is left of it is that an
    /// acknowledgement is owed.
    // Rule K.
    pub(super) fn land_fresh(&mut self, Fresh { key, header }: Fresh, now: Instant) {
        self.fresh = None;
        self.incoming.skip(key);
        self.owe(header.src, header.flags.has(Flags::ASKS), now);
    }

    fn consume_number(&mut self, header: &Header) {
        self.peers[header.src as usize].next_in = header.msg_num.wrapping_add(1);
        self.take_turns(header.src);
    }

    fn note_attempt(&mut self, index: u32, attempt: u16) {
        let message = &mut self.incoming[index];
        if later_attempt(attempt, message.attempt) {
            message.attempt = attempt;
        }
    }

    pub(super) fn land_incoming(
        &mut self,
        index: u32,
        (landing, kept): (Landing, In),
        now: Instant,
    ) {
        let message = &mut self.incoming[index];
        let short = message.shape(self.config.packet_bytes).is_short();
        if landing == Landing::Later && message.state == State::Held {
            (message.named, message.in_vain) = (true, true);
            message.kept = Some(kept);
            if self.config.caps.has(Caps::HOLD) {
                self.reply(index, Kind::Gch);
            }
            return;
        }
        let input = match (landing, short) {
            (Landing::Drop, _) => Input::Refuse,
            (Landing::Accept, true) => Input::AcceptShort,
            (Landing::Accept, false) => Input::AcceptLong,
            (Landing::Later, _) => return,
        };
        let Some((state, action)) = step(message.state, input) else {
            return;
        };
        message.state = state;
        message.kept = Some(kept);
        match action {
            Action::Grant => self.first_grant(index, now),
            Action::Drop => {
                message.kept = None;
                self.finish(index, Kind::MsgDrop, now);
            }
            _ => {
                self.tell_arrival(index);
                self.finish(index, Kind::MsgEnd, now);
            }
        }
    }

    /// All of a message has been placed: what was kept with it goes back.
    pub(super) fn tell_arrival(&mut self, index: u32) {
        let id = IncomingId(self.incoming.key(index));
        let kept = self.incoming[index].kept.take();
        let kept = kept.expect("a message that has landed is kept");
        self.events.push_back(Event::Arrived(id, kept));
    }

    /// DATA, STOP_DATA or LAST_DATA.
    fn hear_data(&mut self, header: &Header, now: Instant) -> Result<Placement, Dropped> {
        let Some(index) = self.known(header)? else {
            let is_within_burst = self.config.caps.has(Caps::SNAK) && header.kind == Kind::Data;
            if is_within_burst && precedes(header.msg_num, self.peers[header.src as usize].next_in)
            {
                // The packet that ends its burst is answered.
                return Ok(Placement::None);
            }
            return match self.turn_of(header) {
                Turn::Over => Ok(Placement::None),
                Turn::Now | Turn::Later => {
                    // Its first packet is missing (rule O).
                    if header.kind != Kind::Data || header.seq.is_power_of_two() {
                        self.tell_gap(header.src);
                    }
                    Err(Dropped::Unexpected)
                }
            };
        };
        if self.incoming[index].state == State::Early && self.config.caps.has(Caps::SNAK) {
            return self.keep_early_data(index, header);
        }
        if self.incoming[index].state == State::Receiving && self.config.caps.has(Caps::SNAK) {
            return self.take_data(index, header, now);
        }
        let stray = match self.incoming[index].state {
            State::Receiving => self.sequence(index, header).err(),
            _ => Some(Dropped::Unexpected),
        };
        let input = match header.kind {
            _ if stray.is_some() => Input::StrayData,
            Kind::Data => Input::Data,
            Kind::StopData => Input::StopData,
            _ => Input::LastData,
        };
        let dropped = stray.unwrap_or(Dropped::Unexpected);
        let (state, action) = step(self.incoming[index].state, input).ok_or(dropped)?;
        if matches!(action, Action::EndAgain | Action::DropAgain) {
            self.note_attempt(index, header.info2);
            self.reply_again(index, action);
            return Ok(Placement::None);
        }
        self.incoming[index].state = state;
        Ok(self.place(index, header, action, now))
    }

    /// Checks that data is next in sequence. The first data packet of a later attempt restarts it.
    // Rule P11. Rule D.
    fn sequence(&mut self, index: u32, header: &Header) -> Result<(), Dropped> {
        let any_order = self.config.has(Bug::PlaceOutOfSequence);
        let any_attempt = self.config.has(Bug::RestartOnOldAttempt);
        let message = &mut self.incoming[index];
        if later_attempt(message.attempt, header.info2) && !any_attempt {
            return Err(Dropped::OldAttempt);
        }
        let later = later_attempt(header.info2, message.attempt);
        if header.seq == 1 && (later || any_attempt) {
            message.attempt = header.info2;
            if message.expected > 1 {
                // The old grant is void; this one packet comes unasked.
                let to_peer = &mut self.paths[message.from as usize].granted;
                self.grants.give_back(message.granted(), to_peer);
                (message.expected, message.limit) = (1, 0);
            }
        } else if later || (header.seq != message.expected && !any_order) {
            return Err(Dropped::OutOfSequence);
        } else if header.seq > message.limit {
            return Err(Dropped::BeyondGrant);
        }
        Ok(())
    }

    /// Returns where data in sequence belongs, and answers as its type requires.
    fn place(&mut self, index: u32, header: &Header, action: Action, now: Instant) -> Placement {
        let packet_bytes = self.config.packet_bytes;
        let message = &mut self.incoming[index];
        if message.limit >= header.seq {
            let to_peer = &mut self.paths[message.from as usize].granted;
            let come = (header.seq + 1).saturating_sub(message.expected);
            self.grants.give_back(come, to_peer);
        } else {
            message.limit = header.seq;
        }
        message.expected = message.expected.max(header.seq + 1);
        let offset = message.shape(packet_bytes).offset(header.seq);
        let id = IncomingId(self.incoming.key(index));
        let pipelined = self.config.caps.has(Caps::PIPE);
        match action {
            Action::Place if pipelined => self.renew_grant(index),
            Action::PlaceGrant if pipelined => {
                // The sender has nothing more to send: its last grant was lost.
                self.renew_grant(index);
                self.queue_cts(index);
            }
            Action::PlaceGrant if self.config.has(Bug::EndAtBlockEnd) => {
                self.incoming[index].state = State::Ended;
                self.tell_arrival(index);
                self.finish(index, Kind::MsgEnd, now);
            }
            Action::PlaceGrant => self.grant(index),
            Action::PlaceEnd => {
                self.tell_arrival(index);
                self.finish(index, Kind::MsgEnd, now);
            }
            _ => {}
        }
        Placement::Data {
            message: id,
            offset,
            packets: 1,
        }
    }

    /// NULL: the number is consumed exactly once, whatever is known of the message.
    // Rule N.
    fn hear_null(&mut self, header: &Header, now: Instant) -> Result<(), Dropped> {
        let Some(index) = self.known_or_new(header)? else {
            return match self.turn_of(header) {
                Turn::Over => Ok(()),
                Turn::Later => {
                    self.tell_gap(header.src);
                    Err(Dropped::OutOfOrder)
                }
                Turn::Now => {
                    if !self.config.has(Bug::NullKeepsNumber) {
                        self.consume_number(header);
                    }
                    self.end_unknown(header);
                    Ok(())
                }
            };
        };
        let step = step(self.incoming[index].state, Input::Null);
        let (state, action) = step.ok_or(Dropped::Unexpected)?;
        if action == Action::TellGap {
            // It is aborted when its turn has come.
            self.tell_gap(header.src);
            return Err(Dropped::OutOfOrder);
        }
        self.note_attempt(index, header.info2);
        if action != Action::Abort {
            self.reply_again(index, action);
            return Ok(());
        }
        let message = &mut self.incoming[index];
        message.state = state;
        // A message that is given up is not ended by its number.
        message.named = true;
        if !self.config.has(Bug::SilentAbort) {
            let kept = message.kept.take();
            let id = IncomingId(self.incoming.key(index));
            let from = NodeId(header.src);
            self.events.push_back(Event::Aborted(id, from, kept));
        }
        self.finish(index, Kind::MsgEnd, now);
        Ok(())
    }

    /// GCH from the sender: the end has reached it, or with cumulative acknowledgement the hold.
    // Rule P7. Rule K.
    fn hear_gch(&mut self, header: &Header, now: Instant) -> Result<(), Dropped> {
        if self.config.caps.has(Caps::LAZY) {
            // The message may have landed meanwhile.
            if let Some(index) = self.known(header)? {
                self.confirm(index, now);
            }
            return Ok(());
        }
        let index = self.known(header)?.ok_or(Dropped::Unexpected)?;
        step(self.incoming[index].state, Input::Gch).ok_or(Dropped::Unexpected)?;
        if !self.config.has(Bug::IgnoreGch) {
            self.forget(index);
        }
        Ok(())
    }

    /// The message is over: answers `kind`, and is remembered to answer it again. With cumulative
    /// acknowledgement nothing is remembered, and a message that came unasked and was never named
    /// is answered by no packet of its own.
    // Rule P6. Rule K.
    pub(super) fn finish(&mut self, index: u32, kind: Kind, now: Instant) {
        let lazy = self.config.caps.has(Caps::LAZY);
        let message = &self.incoming[index];
        let (from, asks, granted) = (message.from, message.asks, message.granted());
        let is_unasked = self
            .config
            .is_unasked(message.shape(self.config.packet_bytes));
        let is_counted = message.is_counted && !self.config.has(Bug::LeakGrant);
        if is_unasked && kind == Kind::MsgEnd && !message.named {
            self.owe(from, asks, now);
        } else {
            self.reply(index, kind);
        }
        if is_counted {
            let to_peer = &mut self.paths[from as usize].granted;
            self.grants.give_back(granted, to_peer);
        }
        self.unlist_incoming(index);
        let message = &mut self.incoming[index];
        message.is_counted = false;
        message.limit = message.expected - 1;
        message.came = Bits::NONE;
        if lazy || self.config.has(Bug::FreeStateEarly) {
            self.forget(index);
            return;
        }
        message.done_at = now;
        self.list_incoming(index, Listed::Done);
        self.wake = self.wake.min(self.expiry(now));
        // Rule C.
        while self.done.len() > self.config.max_done_states {
            let oldest = self
                .done
                .head()
                .expect("a list that is too long is not empty");
            self.counters.done_expired += 1;
            self.forget(oldest);
        }
    }

    pub(super) fn forget(&mut self, index: u32) {
        self.unlist_incoming(index);
        let Incoming { from, msg_id, .. } = self.incoming[index];
        self.incoming_at.remove(from, msg_id);
        self.incoming.remove(index);
    }

    fn reply_again(&mut self, index: u32, action: Action) {
        if self.config.has(Bug::NoSecondMsgend) {
            return;
        }
        self.counters.answered_again += 1;
        let kind = if action == Action::DropAgain {
            Kind::MsgDrop
        } else {
            Kind::MsgEnd
        };
        self.reply(index, kind);
    }

    /// Returns the sender of an incoming message.
    pub(super) fn reply(&mut self, index: u32, kind: Kind) {
        let message = &mut self.incoming[index];
        message.named = true;
        let grant = if kind == Kind::Cts {
            message.granted()
        } else {
            0
        };
        let seq = if kind == Kind::Cts {
            message.expected
        } else {
            0
        };
        let header = Header {
            kind,
            version: self.config.version,
            src: message.from,
            msg_id: message.msg_id,
            len: message.len,
            seq,
            info1: u16::try_from(grant).expect("a grant is at most MAX_DATA_PKTS"),
            info2: message.attempt,
            msg_num: message.msg_num,
            ack: 0,
            flags: Flags::NONE,
        };
        let from = message.from;
        self.answer(from, header);
    }
}
