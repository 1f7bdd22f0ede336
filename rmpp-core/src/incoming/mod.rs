//! Messages on their way in.

pub(crate) mod states;

use crate::bits::Bits;
use crate::list::{Linked, Links};
use crate::packet::{Flags, Header, Shape};
use crate::time::Instant;
use states::State;

/// The state of an incoming message.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Incoming<In> {
    pub(crate) from: u32,
    pub(crate) msg_id: u32,
    pub(crate) msg_num: u32,
    pub(crate) len: u64,
    pub(crate) state: State,
    /// Latest attempt of the sender seen (`info2`).
    pub(crate) attempt: u16,
    /// Next data packet in sequence.
    pub(crate) expected: u32,
    /// Last data packet granted.
    pub(crate) limit: u32,
    /// True if its sender waits for the acknowledgement (rule K).
    pub(crate) asks: bool,
    /// True if a GCH or CTS may have named it to its sender. Its end is then named too: no
    /// acknowledgement completes it any more (rules H, K).
    pub(crate) named: bool,
    /// True if data of it may have come too early, and was dropped (rule U).
    pub(crate) in_vain: bool,
    /// Which list it is in.
    pub(crate) listed: Listed,
    /// The packets that have come, from `expected` on (rule R).
    pub(crate) came: Bits,
    /// How many NAKs have gone out (rule R).
    pub(crate) nak: u16,
    /// The highest packet that names the last NAK.
    pub(crate) fresh: u32,
    /// All missing packets up to this one are lost, and no NAK names them yet; 0: none.
    pub(crate) lost_to: u32,
    /// True if it counts among the messages being received (rule G).
    pub(crate) is_counted: bool,
    /// True if a CTS waits to be made.
    pub(crate) cts_due: bool,
    /// When it was answered for good.
    pub(crate) done_at: Instant,
    links: Links,
    /// The value that the layer above keeps with it, once it has landed.
    pub(crate) kept: Option<In>,
}

/// The list an incoming message is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Listed {
    /// None.
    Nowhere,
    /// Its path's, of messages that the cumulative acknowledgement must not pass (rule K).
    Unconfirmed,
    /// Its path's, of messages ahead of their turn (rule O).
    Early,
    /// The finished ones.
    Done,
}

impl<In> Incoming<In> {
    pub(crate) fn new(header: &Header) -> Self {
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
            listed: Listed::Nowhere,
            came: Bits::NONE,
            nak: 0,
            fresh: 0,
            lost_to: 0,
            is_counted: false,
            cts_due: false,
            done_at: Instant::NEVER,
            links: Links::LOOSE,
            kept: None,
        }
    }

    /// Packets granted that have not come.
    pub(crate) fn granted(&self) -> u32 {
        self.span() - self.came.count()
    }

    /// Notes that data packet `seq` has come. Returns true the first time.
    // Rule R.
    pub(crate) fn note(&mut self, seq: u32) -> bool {
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
    pub(crate) fn span(&self) -> u32 {
        (self.limit + 1) - self.expected
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Ended | State::Dropped)
    }

    pub(crate) fn shape(&self, packet_bytes: usize) -> Shape {
        Shape {
            len: self.len,
            packet_bytes,
        }
    }
}

impl<In> Linked for Incoming<In> {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> u32 {
        self.links.next()
    }
}
