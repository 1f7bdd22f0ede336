//! The driver's records of messages on their way in.

use rmpp_core::{IncomingId, NodeId};

use super::super::{Route, SILENT, silence};
use crate::clock::Instant;
use crate::data::Area;
use crate::transport::sink::LinkEvent;
use crate::transport::{Arrival, ENVELOPE_BYTES, Lost, PeerId};

/// Why a peer is lost that announced a message and then gave it up (rule N).
pub(super) const ABORTED: &str = "it gave up a message that it had announced, which mpi-lite \
                                  never does (decision 0031): run all ranks with the same mpi-lite";

/// Completes what is known of a loss. A peer that cannot answer is not to blame.
#[cold]
pub(super) fn add_route(lost: &mut Lost, route: Route) {
    lost.address = route.address;
    if lost.reason == SILENT {
        lost.reason = silence(route.hindrance);
    }
}

/// The name of a message for those above.
pub(super) fn arrival_of(id: IncomingId) -> Arrival {
    Arrival(u32::try_from(id.index()).expect("core indices have 32 bits"))
}

/// What is to be reported.
#[derive(Debug)]
pub(super) enum News {
    Event(LinkEvent),
    /// The turn of a message that came early has come; its sender, and its bytes.
    Due(IncomingId, NodeId, u64),
    /// A peer has never answered anything, and since when it has been asked.
    Unheard(PeerId, Instant),
}

/// Where the bytes of a message go: what the core keeps with it.
#[derive(Debug)]
pub(super) enum Destination {
    /// Not landed; the body, as far as it is here.
    Held(Vec<u8>),
    /// Its turn has not come; the message from its envelope on, as far as it is here.
    Early(Vec<u8>),
    Into(Area),
}

impl Destination {
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        match self {
            Self::Into(area) => area.write(offset, bytes),
            Self::Early(kept) => put(kept, ENVELOPE_BYTES + offset, bytes),
            Self::Held(kept) => put(kept, offset, bytes),
        }
    }
}

/// Writes `bytes` from `offset` on, behind a gap if need be.
fn put(kept: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if kept.len() < end {
        kept.resize(end, 0);
    }
    kept[offset..end].copy_from_slice(bytes);
}
