//! Cumulative acknowledgement (rule K): owing, sending and receiving it; and the gaps that it
//! reports (rule O).

use super::round_trip::Timing;
use super::states::{Action, Input};
use super::wake::PROBES;
use super::{Outgoing, Place, Queues, Sender, ToPeer};
use crate::bits::Bits;
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::Config;
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

impl<K: Kept> Sender<K> {
    /// Takes in the acknowledgement that every packet carries.
    // Rule K.
    #[inline]
    pub(crate) fn hear_ack(
        &mut self,
        common: &mut Common<K>,
        from: u32,
        (header, bytes): (&Header, &[u8]),
    ) {
        let path = &mut self.queues.to[from as usize];
        if header.ack != path.acked {
            if precedes(common.numbers(from).next_out(), header.ack) {
                common.counts().acks_beyond += 1;
                return;
            }
            if precedes(path.acked, header.ack) {
                path.acked = header.ack;
                // A CTS of long ago must not come round as a later one.
                path.note_answered(header.ack);
                self.unsettled = Some((from, common.now()));
            }
        }
        if header.kind == Kind::MsgEnd && header.flags.has(Flags::GAP) {
            self.settle(common);
            self.queues
                .repeat_missing(common, from, (header.ack, bits_of(bytes)));
        }
        if precedes(header.ack, self.queues.to[from as usize].answered) {
            self.settle(common);
            self.queues.repeat_blocking(common, from, header.ack);
        }
    }

    /// Completes the messages that the last packet acknowledges; `Endpoint::poll_event`
    /// returns their events. Returns true if there was an acknowledgement: there may be something
    /// to transmit.
    // Rule K.
    #[inline(always)]
    pub(crate) fn settle(&mut self, common: &mut Common<K>) -> bool {
        let Some((from, came_at)) = self.unsettled.take() else {
            return false;
        };
        self.queues.complete_acked(common, from, came_at);
        true
    }
}

impl<K: Kept> Queues<K> {
    /// The peer has asked for data of a message behind number `ack`, and still does not accept that
    /// one: it lacks something of it too, and what asked for that was lost.
    // Rule R.
    #[cold]
    fn repeat_blocking(&mut self, common: &Common<K>, to: u32, ack: u32) {
        let path = &self.to[to as usize];
        let Some(index) = path.pending.head() else {
            return;
        };
        let message = &self.messages[index];
        let is_it = message.msg_num == ack && !message.shape(common.config()).is_short();
        if is_it && message.opened && !message.ready && message.is_settled(path, common) {
            self.open_again(index);
        }
    }

    /// First packets have been accepted; the acknowledgement came at `came_at`.
    // Rule K.
    #[inline(never)]
    fn complete_acked(&mut self, common: &mut Common<K>, to: u32, came_at: Instant) {
        let path = &self.to[to as usize];
        let ack = path.acked;
        let (mut newest, mut left_at) = (Timing::Unknown, None);
        let mut at = path.pending.head();
        while let Some(index) = at {
            let message = &self.messages[index];
            if !precedes(message.msg_num, ack) {
                break;
            }
            at = List::after(&self.messages, index);
            let step = message.step(Input::Accepted, common.config());
            let Some((state, action)) = step else {
                continue;
            };
            newest = message.timing_of_ack(&self.to[to as usize]);
            if action == Action::Complete {
                left_at = left_at.max(self.take_out(common, index, Event::Sent));
            } else {
                let message = &mut self.messages[index];
                message.state = state;
                message.opener_due = false;
                self.promote(common, index, Place::Sending);
                self.arm_idle(common, index, came_at);
            }
        }
        let path = &mut self.to[to as usize];
        if path.pending.len() == 0 {
            // The window of bytes is empty: nothing is left to ask for.
            path.unasked_bytes = 0;
        }
        self.close_gap(common, to, left_at);
        let path = &mut self.to[to as usize];
        path.note_round_trip(common.timeouts(), newest, came_at);
    }

    /// First packets that did not come though later ones did go out again; not those that have
    /// just been repeated.
    // Rule O.
    fn repeat_missing(&mut self, common: &mut Common<K>, to: u32, (ack, bits): (u32, Bits)) {
        let highest = bits.highest().unwrap_or(0);
        let mut each = self.to[to as usize].pending.head();
        while let Some(index) = each {
            each = List::after(&self.messages, index);
            let message = &self.messages[index];
            let at = message.msg_num.wrapping_sub(ack);
            if precedes(message.msg_num, ack) {
                continue;
            }
            if at > highest {
                break;
            }
            if !message.opened || message.ready {
                continue;
            }
            if bits.get(at) {
                // It came early: its turn to be waited for begins now.
                self.arm(common, index, common.now());
            } else if message.is_settled(&self.to[to as usize], common) {
                self.open_again(index);
            }
        }
    }
}

impl<Out> Outgoing<Out> {
    /// Returns true if a missing first packet was not repeated so recently that the report may have
    /// crossed it. A long message repeats all of its first block, so it takes two round trips.
    // Rule O. Rule T.
    fn is_settled<K: Kept>(&self, path: &ToPeer, common: &Common<K>) -> bool {
        let round_trip = &path.round_trip;
        let is_short = self.shape(common.config()).is_short();
        let near_ns = settling_ns(round_trip, if is_short { 1 } else { 2 });
        let wait_ns = match self.attempt {
            0 => return true,
            1..=CHANCES => near_ns,
            attempt => {
                let tries = (attempt - CHANCES).min(PROBES.into()) as u8;
                // Over a long path the timeout is shorter than two round trips.
                near_ns.max(common.timeouts().before_probe_ns(round_trip, tries))
            }
        };
        self.sent_at.plus_ns(wait_ns) <= common.now()
    }
}

impl ToPeer {
    /// Returns true if a first packet that adds `charge` bytes asks for an acknowledgement at once:
    /// it `must`, or half of a window has gone out without asking.
    // Rule K.
    #[inline]
    pub(super) fn asks_for_ack(&mut self, config: &Config, charge: u64, must: bool) -> bool {
        if !config.caps.has(Caps::LAZY) {
            return false;
        }
        self.unasked = self.unasked.saturating_add(1);
        self.unasked_bytes += charge;
        // Once for each half: a receiver that is behind is not to answer every message, and a full
        // window has asked.
        let is_half_full = usize::from(self.unasked) >= config.first_window / 2
            || self.unasked_bytes >= config.first_window_bytes / 2;
        let asks = must || is_half_full;
        if asks {
            self.unasked = 0;
            self.unasked_bytes = 0;
        }
        asks
    }

    /// All messages before number `msg_num` have been announced.
    #[inline]
    pub(super) fn note_answered(&mut self, msg_num: u32) {
        if precedes(self.answered, msg_num) {
            self.answered = msg_num;
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
