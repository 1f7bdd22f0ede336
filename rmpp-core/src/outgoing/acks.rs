//! Cumulative acknowledgement (rule K): owing, sending and receiving it; and the gaps that it
//! reports (rule O).

use super::round_trip::Timing;
use super::states::{Action, Input};
use super::wake::PROBES;
use super::{Outgoing, Place, Sender};
use crate::bits::Bits;
use crate::common::Common;
use crate::event::Event;
use crate::ids::precedes;
use crate::list::List;
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

impl<Out> Sender<Out> {
    /// Takes in the acknowledgement that every packet carries.
    // Rule K.
    #[inline]
    pub(crate) fn hear_ack<In>(
        &mut self,
        common: &mut Common<Out, In>,
        from: u32,
        (header, bytes): (&Header, &[u8]),
        now: Instant,
    ) {
        let acked = self.queues.to[from as usize].acked;
        if header.ack != acked {
            if precedes(common.numbers(from).next_out, header.ack) {
                common.counts().acks_beyond += 1;
                return;
            }
            if precedes(acked, header.ack) {
                let path = &mut self.queues.to[from as usize];
                path.acked = header.ack;
                // A CTS of long ago must not come round as a later one.
                if precedes(path.answered, header.ack) {
                    path.answered = header.ack;
                }
                self.unsettled = Some((from, now));
            }
        }
        if header.kind == Kind::MsgEnd && header.flags.has(Flags::GAP) {
            self.settle(common);
            self.repeat_missing(common, from, (header.ack, bits_of(bytes)), now);
        }
        if precedes(header.ack, self.queues.to[from as usize].answered) {
            self.settle(common);
            self.repeat_blocking(common, from, header.ack, now);
        }
    }

    /// The peer has asked for data of a message behind number `ack`, and still does not accept that
    /// one: it lacks something of it too, and what asked for that was lost.
    // Rule R.
    #[cold]
    pub(super) fn repeat_blocking<In>(
        &mut self,
        common: &mut Common<Out, In>,
        to: u32,
        ack: u32,
        now: Instant,
    ) {
        let Some(index) = self.queues.to[to as usize].pending.head() else {
            return;
        };
        let message = &self.queues.messages[index];
        let is_short = message.shape(common.config().packet_bytes).is_short();
        let is_it = message.msg_num == ack && !is_short;
        if is_it && message.opened && !message.ready && self.is_settled(common, index, now) {
            self.queues.open_again(index);
        }
    }

    /// First packets with numbers before `ack` have been accepted.
    // Rule K.
    #[inline(never)]
    pub(super) fn complete_acked<In>(
        &mut self,
        common: &mut Common<Out, In>,
        to: u32,
        ack: u32,
        now: Instant,
    ) {
        let (mut newest, mut left_at) = (Timing::Unknown, None);
        let mut at = self.queues.to[to as usize].pending.head();
        while let Some(index) = at {
            let message = &self.queues.messages[index];
            if !precedes(message.msg_num, ack) {
                break;
            }
            at = List::after(&self.queues.messages, index);
            let step = message.step(Input::Accepted, common.config());
            let Some((state, action)) = step else {
                continue;
            };
            newest = self.queues.timing_of(index);
            if action == Action::Complete {
                left_at = left_at.max(self.take_out(common, index, Event::Sent));
            } else {
                self.queues.messages[index].state = state;
                self.queues.messages[index].opener_due = false;
                self.promote(common, index, Place::Sending);
                self.arm_if_idle(common, index, now);
            }
        }
        let path = &mut self.queues.to[to as usize];
        if path.pending.len() == 0 {
            // The window of bytes is empty: nothing is left to ask for.
            path.unasked_bytes = 0;
        }
        self.close_gap(common, to, left_at);
        self.note_round_trip(common, to, newest, now);
    }

    /// First packets that did not come though later ones did go out again; not those that have
    /// just been repeated.
    // Rule O.
    pub(super) fn repeat_missing<In>(
        &mut self,
        common: &mut Common<Out, In>,
        to: u32,
        (ack, bits): (u32, Bits),
        now: Instant,
    ) {
        let highest = bits.highest().unwrap_or(0);
        let mut each = self.queues.to[to as usize].pending.head();
        while let Some(index) = each {
            each = List::after(&self.queues.messages, index);
            let Outgoing {
                msg_num,
                opened,
                ready,
                ..
            } = self.queues.messages[index];
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
                self.arm(common, index, now);
            } else if self.is_settled(common, index, now) {
                self.queues.open_again(index);
            }
        }
    }

    /// Returns true if a missing first packet was not repeated so recently that the report may have
    /// crossed it. A long message repeats all of its first block, so it takes two round trips.
    // Rule O. Rule T.
    pub(super) fn is_settled<In>(
        &self,
        common: &Common<Out, In>,
        index: u32,
        now: Instant,
    ) -> bool {
        let message = &self.queues.messages[index];
        let round_trip = &self.queues.to[message.to as usize].round_trip;
        let is_short = message.shape(common.config().packet_bytes).is_short();
        let near_ns = settling_ns(round_trip, if is_short { 1 } else { 2 });
        let wait_ns = match message.attempt {
            0 => return true,
            1..=CHANCES => near_ns,
            attempt => {
                let tries = (attempt - CHANCES).min(PROBES.into()) as u8;
                // Over a long path the timeout is shorter than two round trips.
                near_ns.max(common.timeouts().before_probe_ns(round_trip, tries))
            }
        };
        message.sent_at.plus_ns(wait_ns) <= now
    }

    /// Completes the messages that the last packet acknowledges; [`poll_event`](Self::poll_event)
    /// returns their events. Returns true if there was an acknowledgement: there may be something
    /// to transmit.
    // Rule K.
    #[inline(always)]
    pub(crate) fn settle<In>(&mut self, common: &mut Common<Out, In>) -> bool {
        let Some((from, at)) = self.unsettled.take() else {
            return false;
        };
        let ack = self.queues.to[from as usize].acked;
        self.complete_acked(common, from, ack, at);
        true
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
