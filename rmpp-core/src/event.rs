//! Events and packets that an endpoint returns to its driver.

use alloc::vec::Vec;

use crate::error::Dropped;
use crate::ids::{IncomingId, NodeId, OutgoingId};
use crate::packet::HeaderBytes;
use crate::time::Instant;

/// What to do with an incoming message (paper §3.6: the call back into RMPP).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Landing {
    /// Accept it: each [`Placement`] is where data goes.
    Accept,
    /// Refuse it: the sender gets MSGDROP.
    Drop,
    /// Not yet: [`land`](crate::IncomingMessages::land) will be called again. The sender may get a
    /// hold (rule H).
    Later,
}

/// Where the payload of the packet just handled belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// There was none, or it is not wanted.
    None,
    /// It is the beginning of a new message: bytes `0..payload_len`. Ask the layer above, then call
    /// [`land`](crate::IncomingMessages::land), now or later; keep the payload until then, and data
    /// of it that comes meanwhile.
    First {
        /// The new message.
        message: IncomingId,
        /// Length of the whole message, in bytes.
        len: u64,
    },
    /// It is the beginning of a message whose turn has not come. Keep the payload until
    /// [`Event::Due`] comes when it is its turn; keep data of it that comes meanwhile, too.
    Early {
        /// The new message.
        message: IncomingId,
    },
    /// Copy it to bytes `offset..offset + payload_len` of a message that has landed, or is kept.
    Data {
        /// The message.
        message: IncomingId,
        /// Where it begins, in bytes.
        offset: u64,
        /// How many packets were taken in: 1, unless a run was handled. The payload of each
        /// belongs behind that of the one before.
        packets: u32,
    },
}

impl Placement {
    pub(crate) const fn data(message: IncomingId, offset: u64) -> Self {
        let packets = 1;
        Self::Data {
            message,
            offset,
            packets,
        }
    }
}

/// Where a packet belongs, or why it was dropped.
pub(crate) type Placed = Result<Placement, Dropped>;

/// A packet to send: `header`, then bytes `offset..offset + len` of `message`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Destination.
    pub to: NodeId,
    /// First bytes of the packet.
    pub header: HeaderBytes,
    /// The message the payload is taken from; `None`: no payload.
    pub message: Option<OutgoingId>,
    /// First payload byte within the message.
    pub offset: u64,
    /// Payload bytes; may be 0 for a message too.
    pub len: usize,
    /// How many packets these are, at most as many as were asked for. Packet `n` behind this one
    /// has the header [`HeaderBytes::behind`] and the `len` bytes from `offset + n * len` on.
    pub packets: u32,
}

impl Transmit {
    /// The packets one by one.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..self.packets).map(move |n| Self {
            header: self.header.behind(n),
            offset: self.offset + u64::from(n) * self.len as u64,
            packets: 1,
            ..self
        })
    }
}

/// The ends of messages and peers. Each id is dead once its event has been raised, and the value
/// kept with the message comes back with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<Out = (), In = ()> {
    /// The turn of a message that came early: from now on it is like one that
    /// [`Placement::First`] has just announced.
    Due {
        /// The message.
        message: IncomingId,
        /// Its sender.
        from: NodeId,
        /// Length of the whole message, in bytes.
        len: u64,
    },
    /// All bytes of it were placed, and it has landed.
    Arrived(IncomingId, In),
    /// Its sender, this node, gave it up (NULL). With the value that was kept with it, if there was
    /// one.
    Aborted(IncomingId, NodeId, Option<In>),
    /// The receiver has all of it (MSGEND).
    Sent(OutgoingId, Out),
    /// The receiver refused it (MSGDROP).
    Refused(OutgoingId, Out),
    /// Our own [`abort`](crate::OutgoingMessages::abort) of it is finished; whether the
    /// receiver got it before is unknown.
    Cancelled(OutgoingId, Out),
    /// The peer has never answered anything, and has been asked for a while. Nothing is given up:
    /// this is raised again with each repetition that it does not answer.
    Unheard {
        /// The peer.
        node: NodeId,
        /// Since when it has been asked.
        since: Instant,
    },
    /// The peer has answered nothing for too long. Messages to and from it that had no event yet
    /// will have none.
    Lost {
        /// The peer.
        node: NodeId,
        /// The values that were kept with the messages to it.
        unsent: Vec<Out>,
        /// Messages from it that have not arrived, each with what was kept of it.
        unfinished: Vec<(IncomingId, Option<In>)>,
    },
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Message<Out = ()> {
    /// Bytes.
    pub len: u64,
    /// The caller waits for its end, so the receiver is asked to acknowledge at once instead of
    /// when it suits it (rule K; classic always does).
    pub is_awaited: bool,
    /// The value kept with it until then: its bytes, for example.
    pub kept: Out,
}

impl Message {
    /// A message with which nothing is kept.
    #[must_use]
    pub fn of(len: u64, is_awaited: bool) -> Self {
        Self {
            len,
            is_awaited,
            kept: (),
        }
    }
}
