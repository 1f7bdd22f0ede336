//! Cumulative acknowledgement (rule K): owing, sending and receiving it; and the gaps that it
//! reports (rule O).

use super::Endpoint;
use super::round_trip::Timing;
use super::wake::PROBES;
use crate::bits::Bits;
use crate::event::Event;
use crate::ids::precedes;
use crate::list::List;
use crate::outgoing::states::{Action, Input};
use crate::outgoing::{Outgoing, Place};
use crate::packet::{Flags, Header, Kind, bits_of};
use crate::time::Instant;
use crate::timers::RoundTrip;

/// A first packet is not repeated again for a gap within a round trip or two: the report of the gap
/// may have left before the repetition came. If the last answers took longer than others, this is
/// enough.
const SETTLING_NS: u64 = 200_000;

/// How many repetitions of a first packet may be lost by chance. The next ones wait longer and
/// longer, up to the timeout: each may be what makes the receiver acknowledge once more.
const CHANCES: u16 = 2;

impl<Out, In> Endpoint<Out, In> {
    /// Takes in the acknowledgement that every packet carries.
    // Rule K.
    #[inline]
    pub(super) fn hear_ack(&mut self, from: u32, (header, bytes): (&Header, &[u8]), now: Instant) {
        let acked = self.paths[from as usize].acked;
        if header.ack != acked {
            if precedes(self.common.numbers(from).next_out, header.ack) {
                self.common.counts().acks_beyond += 1;
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
        let is_short = message.shape(self.common.config().packet_bytes).is_short();
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
            let step = message.step(Input::Accepted, self.common.config());
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
        let is_short = message.shape(self.common.config().packet_bytes).is_short();
        let near_ns = settling_ns(round_trip, if is_short { 1 } else { 2 });
        let wait_ns = match message.attempt {
            0 => return true,
            1..=CHANCES => near_ns,
            attempt => {
                let tries = (attempt - CHANCES).min(PROBES.into()) as u8;
                // Over a long path the timeout is shorter than two round trips.
                near_ns.max(self.common.timeouts().before_probe_ns(round_trip, tries))
            }
        };
        message.sent_at.plus_ns(wait_ns) <= now
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
