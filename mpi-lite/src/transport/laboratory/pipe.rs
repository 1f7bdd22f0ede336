//! The interface of a packet protocol that carries streams of bytes. It knows no messages: the
//! layer above (`transport/streams`) writes messages into the streams.

use std::time::Duration;

use crate::clock::Instant;
use crate::transport::{PeerId, Tallies};

/// What a pipe is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// This process.
    pub(crate) me: PeerId,
    /// Processes of the job, this one included. Their `PeerId`s are 0 to `nodes - 1`.
    pub(crate) nodes: u32,
    /// Bytes of the longest packet that all paths carry, the header of the protocol included.
    pub(crate) packet_bytes: usize,
    /// Bytes of the receive buffer of this process's socket, as the system counts them.
    pub(crate) buffer_bytes: usize,
    /// A peer is lost if it has not answered for so long; `None`: never.
    pub(crate) lost_after: Option<Duration>,
    /// A peer that has never answered is reported after so long.
    pub(crate) unheard_after: Duration,
    /// The least time until a packet is repeated: more where ranks share cores.
    pub(crate) min_timeout: Duration,
    /// The greatest time until a packet is repeated.
    pub(crate) max_timeout: Duration,
    /// Each packet is acknowledged at once (`MPILITE_RMPP_ACK=eager`).
    pub(crate) acks_eagerly: bool,
}

/// Bytes that have arrived in their order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fragment<'a> {
    /// The sender.
    pub(crate) from: PeerId,
    /// The channel of the sender that they came on.
    pub(crate) channel: u32,
    /// The bytes: all that one `push` of the sender has put in.
    pub(crate) bytes: &'a [u8],
}

/// A change of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It is lost: it has not answered for too long.
    Lost(PeerId),
    /// It has never answered since this time, when a packet was first sent to it.
    Unheard(PeerId, Instant),
}

/// A packet protocol that carries fragments reliably, and in order on each channel of each peer.
///
/// It has no socket and no clock. The driver calls `transmit` after each call that may have made
/// packets due: `push`, `handle`, `next_fragment`, `handle_timeout`.
pub(crate) trait Pipe {
    /// Its number in a record of packets (`packets`).
    const NUMBER: u8;

    /// Bytes of the longest header of a packet.
    const HEADER_BYTES: usize;

    /// Bytes up to which a message is sent without asking its receiver first.
    const SHORT_MOST: u64;

    /// The pipe of one process.
    fn new(setup: &Setup) -> Self;

    /// Adds what was counted to `tallies`.
    fn count(&self, tallies: &mut Tallies);

    /// Bytes that one fragment carries at most.
    fn fragment_bytes(&self) -> usize;

    /// The channel of messages with this key: `key` is equal for messages of the same tag, sender
    /// and context. A protocol with one stream per peer returns 0.
    fn channel_of(&self, _key: u32) -> u32 {
        0
    }

    /// Returns true if `push` may be called for this channel.
    fn has_room(&self, to: PeerId, channel: u32) -> bool;

    /// Takes the next fragment of a channel. `fill` appends its bytes to the packet, at least one
    /// and at most `fragment_bytes`. Call it only if `has_room` returns true.
    fn push(&mut self, to: PeerId, channel: u32, now: Instant, fill: impl FnOnce(&mut Vec<u8>));

    /// Hands out packets that are due. `send` returns false if it has not taken the packet: then
    /// the call ends. Returns true if there may be more.
    fn transmit(&mut self, now: Instant, send: impl FnMut(PeerId, &[u8]) -> bool) -> bool;

    /// Handles a packet that `from` has sent. A bad one is counted and dropped.
    fn handle(&mut self, from: PeerId, packet: &[u8], now: Instant);

    /// Takes the next fragment that has arrived. Until then it keeps its place in the receive
    /// buffer, and counts against what the sender may send.
    fn next_fragment(&mut self) -> Option<Fragment<'_>>;

    /// Returns true if `next_fragment` has something to return.
    fn has_fragment(&self) -> bool;

    /// Takes the next notice.
    fn next_notice(&mut self) -> Option<Notice>;

    /// Returns when `handle_timeout` must be called.
    fn next_timeout(&self) -> Option<Instant>;

    /// Does what is due. Returns true if anything was.
    fn handle_timeout(&mut self, now: Instant) -> bool;

    /// Returns true if all that was pushed is acknowledged by its receiver, and no acknowledgement
    /// is owed.
    fn is_quiet(&self) -> bool;

    /// Notes that `MPI_Finalize` has begun: acknowledgements go at once from now on. A peer that
    /// does not answer a number of repetitions is reported as lost, and the process ends with a
    /// warning: the peer may have received all and be gone. Call it once, then wait for `is_quiet`.
    fn close(&mut self, _now: Instant) {}
}
