//! The sender of a stream: the window, its timer, and going back.

use std::time::Duration;

use super::packet::{HEADER_BYTES, Header, Kind, Report, ahead};
use super::ring::Ring;
use super::silence::Silence;
use crate::clock::Instant;

/// Later than all timers: there is none.
pub(super) const NEVER: Instant = Instant(u64::MAX);

/// How often a packet is repeated after `close` before its receiver is given up. The paper has "a
/// fixed number of times" and no figure. With timeouts from 1 ms to 1 s it takes about 7 s.
pub(super) const CLOSING_REPEATS: u32 = 16;

/// How long a sender waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Time until a packet is repeated for the first time.
    pub(super) min_timeout: Duration,
    /// The greatest time until it is repeated again.
    pub(super) max_timeout: Duration,
    /// Silence after which a peer is lost; `None`: never.
    pub(super) lost_after: Option<Duration>,
    /// Silence from the beginning after which a peer is reported.
    pub(super) unheard_after: Duration,
    /// `MPI_Finalize` has begun: the patience is limited.
    pub(super) is_closing: bool,
}

impl Patience {
    /// Time until a packet is repeated that was repeated `back_off` times.
    fn timeout(&self, back_off: u32) -> Duration {
        let factor = 1_u32.checked_shl(back_off).unwrap_or(u32::MAX);
        let timeout = self.min_timeout.saturating_mul(factor);
        // A timer that is due at once would never end.
        timeout.min(self.max_timeout).max(Duration::from_nanos(1))
    }
}

/// The end of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was not this timer.
    Waits,
    /// Packets are repeated.
    GoesBack,
    /// Packets are repeated. The peer has never answered since this time.
    Unheard(Instant),
    /// The peer is lost.
    Lost,
}

/// The stream of packets to a peer. Numbers stand in this order, on a circle:
/// `taken`, `received`, `unsent`, `next`; `fresh` is from `received` to `next`.
pub(super) struct Sender {
    packets: Ring,
    /// The peer's program has taken all packets before this one: the left edge of the window.
    taken: u32,
    /// The peer has received all packets before this one.
    received: u32,
    /// The next packet to be sent. It may be one before `received`, which only asks for a report.
    unsent: u32,
    /// The first packet that was never sent.
    fresh: u32,
    /// The number of the next fragment.
    next: u32,
    /// The gap that the sender went back to last.
    filled_gap: Option<u32>,
    timeout_at: Instant,
    back_off: u32,
    silence: Silence,
}

impl Sender {
    pub(super) fn new(window: u32, first: u32) -> Self {
        Self {
            packets: Ring::new(window),
            taken: first,
            received: first,
            unsent: first,
            fresh: first,
            next: first,
            filled_gap: None,
            timeout_at: NEVER,
            back_off: 0,
            silence: Silence::default(),
        }
    }

    /// Returns true if the window is not full.
    pub(super) fn has_room(&self) -> bool {
        self.next.wrapping_sub(self.taken) < self.packets.window()
    }

    /// Returns true if the peer has received all.
    pub(super) fn is_received(&self) -> bool {
        self.received == self.next
    }

    /// Returns when `handle_timeout` must be called.
    pub(super) fn timeout_at(&self) -> Instant {
        self.timeout_at
    }

    /// Appends a fragment to the stream. `fill` appends its bytes. Returns how many.
    pub(super) fn push(
        &mut self,
        now: Instant,
        patience: &Patience,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> usize {
        let packet = self.packets.at(self.next);
        packet.clear();
        packet.resize(HEADER_BYTES, 0);
        fill(packet);
        let bytes = packet.len() - HEADER_BYTES;
        self.next = self.next.wrapping_add(1);
        if self.timeout_at == NEVER {
            self.silence.begin(now);
            self.start_timer(now, patience);
        }
        bytes
    }

    /// Returns true if a packet is due.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent != self.next
    }

    /// The packet that is due, with `report` in its header.
    pub(super) fn packet(&mut self, report: Report) -> &[u8] {
        let kind = Kind::Data(self.unsent);
        let packet = self.packets.at(self.unsent);
        let body_bytes = u16::try_from(packet.len() - HEADER_BYTES);
        let header = Header {
            kind,
            body_bytes: body_bytes.expect("a fragment has at most 4096 bytes"),
            report,
        };
        packet[..HEADER_BYTES].copy_from_slice(&header.bytes());
        packet
    }

    /// Notes that `packet` is on its way. Returns true if it was sent before.
    pub(super) fn note_sent(&mut self, now: Instant, patience: &Patience) -> bool {
        if self.unsent == self.received {
            self.start_timer(now, patience);
        }
        let is_repeated = self.unsent != self.fresh;
        self.unsent = self.unsent.wrapping_add(1);
        if !is_repeated {
            self.fresh = self.unsent;
        }
        is_repeated
    }

    /// Returns true if the peer may send this report: it is about packets that were sent.
    pub(super) fn can_be(&self, report: Report) -> bool {
        let waiting = ahead(report.taken, report.received);
        let sent = ahead(report.received, self.fresh);
        waiting.is_some_and(|it| it <= self.packets.window()) && sent.is_some()
    }

    /// Notes that a packet has come with this report, which `can_be`.
    pub(super) fn handle(&mut self, report: Report, now: Instant, patience: &Patience) {
        self.silence.end(now);
        let received = ahead(self.received, report.received).unwrap_or(0);
        let taken = ahead(self.taken, report.taken).unwrap_or(0);
        self.received = self.received.wrapping_add(received);
        self.taken = self.taken.wrapping_add(taken);
        if ahead(self.received, self.unsent).is_none() {
            self.unsent = self.received;
        }
        if received > 0 || taken > 0 {
            self.back_off = 0;
            self.start_timer(now, patience);
        }
        if report.has_gap && report.received == self.received {
            self.fill_gap(now, patience);
        }
    }

    /// Goes back to the packet that the peer misses, once: each packet behind it reports the gap.
    fn fill_gap(&mut self, now: Instant, patience: &Patience) {
        let gap = Some(self.received);
        if self.unsent != self.received && self.filled_gap != gap {
            self.filled_gap = gap;
            self.unsent = self.received;
            self.start_timer(now, patience);
        }
    }

    /// Starts the timer anew, or ends it if nothing is in the window.
    fn start_timer(&mut self, now: Instant, patience: &Patience) {
        self.timeout_at = if self.taken == self.next {
            NEVER
        } else {
            now.plus(patience.timeout(self.back_off))
        };
    }

    /// The timer has ended: goes back to the first packet that the peer has not received. If it has
    /// received all but its program has not taken them, the last one goes again, and asks.
    pub(super) fn handle_timeout(&mut self, now: Instant, patience: &Patience) -> Verdict {
        self.silence.excuse(now.since(self.timeout_at));
        let lost_after = patience.lost_after;
        let is_given_up =
            patience.is_closing && !self.is_received() && self.silence.repeats() >= CLOSING_REPEATS;
        if is_given_up || lost_after.is_some_and(|span| self.silence.has_lasted(span, now)) {
            return Verdict::Lost;
        }
        self.unsent = if self.is_received() {
            self.next.wrapping_sub(1)
        } else {
            self.received
        };
        self.silence.note_repeat();
        self.back_off += 1;
        self.start_timer(now, patience);
        let unheard = self.silence.report_unheard(patience.unheard_after, now);
        unheard.map_or(Verdict::GoesBack, Verdict::Unheard)
    }
}
