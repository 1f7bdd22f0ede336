//! Messages on their way in.

pub(crate) mod states;

use crate::list::{Linked, Links};
use crate::packet::{Header, Shape};
use crate::time::Instant;
use states::State;

/// All there is to know about an incoming message.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Incoming {
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
    /// When it was answered for good.
    pub(crate) done_at: Instant,
    links: Links,
}

impl Incoming {
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
            done_at: Instant::NEVER,
            links: Links::LOOSE,
        }
    }

    /// Packets granted that have not come.
    pub(crate) fn granted(&self) -> u32 {
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

impl Linked for Incoming {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> u32 {
        self.links.next()
    }
}
