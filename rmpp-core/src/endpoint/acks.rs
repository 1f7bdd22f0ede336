//! Cumulative acknowledgement (rule K): owing, sending and receiving it; and the gaps that it
//! reports (rule O).

use super::Endpoint;
use super::round_trip::Timing;
use super::wake::PROBES;
use crate::bits::{Bits, WINDOW};
use crate::caps::Caps;
use crate::config::Bug;
use crate::event::Event;
use crate::ids::precedes;
use crate::incoming::Listed;
use crate::incoming::states::State;
use crate::list::List;
use crate::outgoing::states::{Action, Input};
use crate::outgoing::{Outgoing, Place};
use crate::packet::{Flags, Header, Kind, bits_of};
use crate::time::{Instant, nanoseconds};
use crate::timers::RoundTrip;

/// A first packet is not repeated again for a gap within a round trip or two: the report of the gap
/// may have left before the repetition came. If the last answers took longer than others, this is
/// enough.
const SETTLING_NS: u64 = 200_000;

/// How many repetitions of a first packet may be lost by chance. The next ones wait longer and
/// longer, up to the timeout: each may be what makes the receiver acknowledge once more.
const CHANCES: u16 = 2;

impl<Out, In> Endpoint<Out, In> {
    /// All messages of `from` with numbers before this are accepted, and none of them is held
    /// without its sender knowing.
    // Rule K.
    fn ack_for(&self, from: u32) -> u32 {
        let held = self.paths[from as usize].unconfirmed.head();
        match held {
            Some(index) if !self.config.has(Bug::AckPassesHeld) => self.incoming[index].msg_num,
            _ => self.peers[from as usize].next_in,
        }
    }

    /// Puts the acknowledgement on a packet that leaves for `to`.
    // Rule K.
    pub(super) fn add_ack(&mut self, to: u32, header: &mut Header) {
        if self.config.caps.has(Caps::LAZY) {
            header.ack = self.ack_for(to);
            let path = &mut self.paths[to as usize];
            path.owed = 0;
            // A gap is reported by a packet of its own (rule O).
            if !path.gap && path.ack_due != Instant::NEVER {
                path.ack_due = Instant::NEVER;
                self.owed_to -= 1;
            }
        }
    }

    /// A message of `from` has been accepted. The acknowledgement goes with the next packet to
    /// `from`, or after a while by itself.
    // Rule K.
    pub(super) fn owe(&mut self, from: u32, asks: bool, now: Instant) {
        let delay_ns = nanoseconds(self.config.ack_delay);
        let path = &mut self.paths[from as usize];
        path.owed = path.owed.saturating_add(1);
        if asks || u32::from(path.owed) >= self.config.ack_every {
            self.let_ack_go(from, Instant::ZERO);
        } else {
            self.let_ack_go(from, now.plus_ns(delay_ns));
        }
    }

    /// Something of `from` came ahead of its turn: the gap is reported at once.
    // Rule O.
    pub(super) fn tell_gap(&mut self, from: u32) {
        if !self.config.caps.has(Caps::LAZY) {
            return;
        }
        self.paths[from as usize].gap = true;
        self.let_ack_go(from, Instant::ZERO);
    }

    /// An acknowledgement is owed, and goes alone at `due` if nothing carries it before. One that
    /// is due earlier (for a gap) is not put off.
    // Rule K.
    fn let_ack_go(&mut self, from: u32, due: Instant) {
        let path = &mut self.paths[from as usize];
        self.owed_to += u32::from(path.ack_due == Instant::NEVER);
        path.ack_due = path.ack_due.min(due);
        if path.ack_due == Instant::ZERO {
            self.ripen(from);
        } else if !self.config.has(Bug::ForgetOwedAck) {
            self.time_path(from, due);
        }
    }

    fn ripen(&mut self, from: u32) {
        if !core::mem::replace(&mut self.paths[from as usize].ripe, true) {
            debug_assert!(self.ripe.len() < self.config.nodes as usize);
            self.ripe.push_back(from);
        }
    }

    /// The acknowledgement owed to a peer may have waited long enough.
    // Rule K.
    pub(super) fn tick_ack(&mut self, from: u32, now: Instant) {
        let path = &mut self.paths[from as usize];
        if path.ack_due <= now {
            path.ack_due = Instant::ZERO;
            self.ripen(from);
        }
    }

    /// The next acknowledgement that goes out alone: nothing else could carry it.
    // Rule K.
    pub(super) fn pure_ack(&mut self) -> Option<(u32, Header, Bits)> {
        let to = self.next_ripe()?;
        let path = &mut self.paths[to as usize];
        let has_gap = core::mem::take(&mut path.gap) || path.early.len() > 0;
        let (flags, bits) = if has_gap {
            (Flags::PURE.with(Flags::GAP), self.accepted_ahead(to))
        } else {
            (Flags::PURE, Bits::NONE)
        };
        let header = Header {
            kind: Kind::MsgEnd,
            version: self.config.version,
            src: to,
            msg_id: 0,
            len: 0,
            seq: 0,
            info1: 0,
            info2: 0,
            msg_num: 0,
            ack: 0,
            flags,
        };
        Some((to, header, bits))
    }

    /// The next peer whose acknowledgement may go alone, and has not gone with something else.
    fn next_ripe(&mut self) -> Option<u32> {
        loop {
            let to = self.ripe.pop_front()?;
            let path = &mut self.paths[to as usize];
            path.ripe = false;
            if path.ack_due == Instant::ZERO {
                return Some(to);
            }
        }
    }

    /// The numbers of `from` that need not come again, from the acknowledged one on.
    // Rule O.
    fn accepted_ahead(&self, from: u32) -> Bits {
        let (ack, due) = (self.ack_for(from), self.peers[from as usize].next_in);
        let mut bits = Bits::NONE;
        let announced = due.wrapping_sub(ack).min(WINDOW);
        // The first one is being received, or it is held and that is not confirmed.
        let first = self.paths[from as usize].unconfirmed.head();
        let is_held = first.is_some_and(|index| self.incoming[index].state == State::Held);
        for at in u32::from(is_held)..announced {
            bits.set(at);
        }
        let mut each = self.paths[from as usize].early.head();
        while let Some(index) = each {
            each = List::after(&self.incoming, index);
            let at = self.incoming[index].msg_num.wrapping_sub(ack);
            if at < WINDOW {
                bits.set(at);
            }
        }
        bits
    }

    /// Takes in the acknowledgement that every packet carries.
    // Rule K.
    #[inline]
    pub(super) fn hear_ack(&mut self, from: u32, (header, bytes): (&Header, &[u8]), now: Instant) {
        let acked = self.paths[from as usize].acked;
        if header.ack != acked {
            if precedes(self.peers[from as usize].next_out, header.ack) {
                self.counters.acks_beyond += 1;
                return;
            }
            if precedes(acked, header.ack) {
                let path = &mut self.paths[from as usize];
                path.acked = header.ack;
                // A CTS of long ago must not come round as a later one.
                if precedes(path.answered, header.ack) {
                    path.answered = header.ack;
                }
                self.unsettled = Some((from, now));
            }
        }
        if header.kind == Kind::MsgEnd && header.flags.has(Flags::GAP) {
            self.settle();
            self.repeat_missing(from, header.ack, bits_of(bytes), now);
        }
        if precedes(header.ack, self.paths[from as usize].answered) {
            self.settle();
            self.repeat_blocking(from, header.ack, now);
        }
    }

    /// The peer has asked for data of a message behind number `ack`, and still does not accept that
    /// one: it lacks something of it too, and what asked for that was lost.
    // Rule R.
    #[cold]
    fn repeat_blocking(&mut self, to: u32, ack: u32, now: Instant) {
        let Some(index) = self.paths[to as usize].pending.head() else {
            return;
        };
        let message = &self.outgoing[index];
        let is_short = message.shape(self.config.packet_bytes).is_short();
        let is_it = message.msg_num == ack && !is_short;
        if is_it && message.opened && !message.ready && self.is_settled(index, now) {
            self.open_again(index);
        }
    }

    /// First packets with numbers before `ack` have been accepted.
    // Rule K.
    #[inline(never)]
    pub(super) fn complete_acked(&mut self, to: u32, ack: u32, now: Instant) {
        let (mut newest, mut left_at) = (Timing::Unknown, None);
        let mut at = self.paths[to as usize].pending.head();
        while let Some(index) = at {
            let message = &self.outgoing[index];
            if !precedes(message.msg_num, ack) {
                break;
            }
            at = List::after(&self.outgoing, index);
            let step = message.step(Input::Accepted, &self.config);
            let Some((state, action)) = step else {
                continue;
            };
            newest = self.timing_of(index);
            if action == Action::Complete {
                left_at = left_at.max(self.take_out(index, Event::Sent));
            } else {
                self.outgoing[index].state = state;
                self.outgoing[index].opener_due = false;
                self.promote(index, Place::Sending);
                self.arm_if_idle(index, now);
            }
        }
        let path = &mut self.paths[to as usize];
        if path.pending.len() == 0 {
            // The window of bytes is empty: nothing is left to ask for.
            path.unasked_bytes = 0;
        }
        self.close_gap(to, left_at);
        self.note_round_trip(to, newest, now);
    }

    /// First packets that did not come though later ones did go out again; not those that have
    /// just been repeated.
    // Rule O.
    fn repeat_missing(&mut self, to: u32, ack: u32, bits: Bits, now: Instant) {
        let highest = bits.highest().unwrap_or(0);
        let mut each = self.paths[to as usize].pending.head();
        while let Some(index) = each {
            each = List::after(&self.outgoing, index);
            let Outgoing {
                msg_num,
                opened,
                ready,
                ..
            } = self.outgoing[index];
            let at = msg_num.wrapping_sub(ack);
            if precedes(msg_num, ack) {
                continue;
            }
            if at > highest {
                break;
            }
            if !opened || ready {
                continue;
            }
            if bits.get(at) {
                // It came early: its turn to be waited for begins now.
                self.arm(index, now);
            } else if self.is_settled(index, now) {
                self.open_again(index);
            }
        }
    }

    /// Returns true if a missing first packet was not repeated so recently that the report may have
    /// crossed it. A long message repeats all of its first block, so it takes two round trips.
    // Rule O. Rule T.
    fn is_settled(&self, index: u32, now: Instant) -> bool {
        let message = &self.outgoing[index];
        let round_trip = &self.paths[message.to as usize].round_trip;
        let is_short = message.shape(self.config.packet_bytes).is_short();
        let near_ns = settling_ns(round_trip, if is_short { 1 } else { 2 });
        let wait_ns = match message.attempt {
            0 => return true,
            1..=CHANCES => near_ns,
            attempt => {
                let tries = (attempt - CHANCES).min(PROBES.into()) as u8;
                // Over a long path the timeout is shorter than two round trips.
                near_ns.max(self.timeouts.before_probe_ns(round_trip, tries))
            }
        };
        message.sent_at.plus_ns(wait_ns) <= now
    }

    /// The sender has confirmed the hold: acknowledgement may pass the message.
    // Rule K.
    pub(super) fn confirm(&mut self, index: u32, now: Instant) {
        let from = self.incoming[index].from;
        if self.incoming[index].listed == Listed::Unconfirmed {
            self.unlist_incoming(index);
            self.owe(from, false, now);
        }
    }
}

/// How long a report that left before a repetition came may still arrive: `trips` round trips.
fn settling_ns(round_trip: &RoundTrip, trips: u64) -> u64 {
    match round_trip.mean_ns() {
        None => SETTLING_NS,
        Some(mean_ns) => {
            let near_ns = (trips * mean_ns).min(SETTLING_NS);
            near_ns.max(trips * round_trip.least_ns())
        }
    }
}
