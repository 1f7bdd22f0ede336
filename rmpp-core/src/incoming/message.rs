//! One message on its way in: which of its data has come, and what it lacks.

use super::states::State;
use super::{Incoming, Listed};
use crate::bits::Bits;
use crate::config::Config;
use crate::ids::later_attempt;
use crate::list::Links;
use crate::packet::{Flags, Header, Kind, Shape};
use crate::time::Instant;

/// How many later packets must have come before a missing one counts as lost: networks reorder a
/// little. Source: RFC 5681, 3.2.
const REORDERING: u32 = 3;

impl<In> Incoming<In> {
    pub(super) fn new(header: &Header) -> Self {
        Self {
            from: header.src,
            msg_id: header.msg_id,
            msg_num: header.msg_num,
            len: header.len,
            state: State::Held,
            attempt: header.info2,
            expected: 1,
            limit: 0,
            asks: header.flags.has(Flags::ASKS),
            named: false,
            in_vain: false,
            keeps: false,
            listed: Listed::Nowhere,
            came: Bits::NONE,
            nak: 0,
            fresh: 0,
            lost_to: 0,
            asked_to: 0,
            is_counted: false,
            cts_due: false,
            done_at: Instant::NEVER,
            links: Links::LOOSE,
            kept: None,
        }
    }

    /// Packets granted that have not come.
    pub(super) fn granted(&self) -> u32 {
        self.span() - self.came.count()
    }

    /// Notes that data packet `seq` has come. Returns true the first time.
    // Rule R.
    pub(super) fn note(&mut self, seq: u32) -> bool {
        let at = seq.checked_sub(self.expected);
        let is_new = at.is_some_and(|at| self.came.set(at));
        if is_new {
            let run = self.came.run();
            self.came.advance(run);
            self.expected += run;
        }
        is_new
    }

    /// Packets granted, from the one expected next on.
    pub(super) fn span(&self) -> u32 {
        (self.limit + 1) - self.expected
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Ended | State::Dropped)
    }

    pub(super) fn shape(&self, config: &Config) -> Shape {
        let (len, packet_bytes) = (self.len, config.packet_bytes);
        Shape { len, packet_bytes }
    }

    /// Notes an attempt of its sender.
    #[inline]
    pub(super) fn note_attempt(&mut self, attempt: u16) {
        if later_attempt(attempt, self.attempt) {
            self.attempt = attempt;
        }
    }

    /// Finds the packets that a data packet shows to be lost. Between two NAKs that reach it a
    /// sender sends in ascending order, and names the NAK; so all packets missing below one of
    /// these are lost. Returns true if its sender must get a CTS; `is_fresh`: the packet counts
    /// as one that names the last NAK, even if it does not.
    // Rule R.
    pub(super) fn note_losses(&mut self, header: &Header, is_fresh: bool) -> bool {
        let probes = header.flags.has(Flags::PROBE);
        let ends_burst = header.kind != Kind::Data;
        let is_fresh = header.info2 == self.nak || is_fresh;
        // The last packet that has been sent.
        let sent_to = header
            .seq
            .saturating_add(u32::from(header.info1))
            .min(self.limit);
        let lost_to = if probes || (ends_burst && is_fresh) {
            sent_to
        } else if is_fresh {
            self.fresh.saturating_sub(REORDERING)
        } else {
            0
        };
        let is_missing = self.expected <= lost_to;
        // A sender that stops before the limit has not received the grant that goes further.
        let knows_less = ends_burst && self.limit > sent_to;
        if is_missing {
            self.lost_to = self.lost_to.max(lost_to);
        }
        is_missing || probes || knows_less
    }

    /// The fields that all answers to its sender share.
    #[inline]
    pub(super) fn header(&self, kind: Kind, version: u16) -> Header {
        Header {
            msg_id: self.msg_id,
            len: self.len,
            info2: self.attempt,
            msg_num: self.msg_num,
            ..Header::bare(kind, version, self.from)
        }
    }
}
