//! What the driver knows of messages on their way in.

use rmpp_core::{IncomingId, NodeId};

use crate::clock::Instant;
use crate::data::Area;
use crate::memory::Span;
use crate::transport::sink::Event;
use crate::transport::{Arrival, ENVELOPE_BYTES, PeerId};

/// The name of a message for those above.
pub(super) fn arrival_of(id: IncomingId) -> Arrival {
    Arrival(u32::try_from(id.index()).expect("core indices have 32 bits"))
}

/// What there is to tell.
#[derive(Debug)]
pub(super) enum News {
    Event(Event),
    /// The turn of a message that came early has come; its sender, and its bytes.
    Due(IncomingId, NodeId, u64),
    /// A peer has never answered anything, and since when it has been asked.
    Unheard(PeerId, Instant),
}

/// Where the bytes of a message go: what the core keeps with it.
#[derive(Debug)]
pub(super) enum Place {
    /// Not landed; the body bytes of the first packet.
    Held(Vec<u8>),
    /// Its turn has not come; the message from its envelope on, as far as it is here.
    Early(Vec<u8>),
    Into(Area),
}

impl Place {
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        match self {
            Self::Into(area) => area.write(offset, Span::of_read(bytes)),
            Self::Early(kept) => {
                let end = ENVELOPE_BYTES + offset + bytes.len();
                if kept.len() < end {
                    kept.resize(end, 0);
                }
                kept[end - bytes.len()..end].copy_from_slice(bytes);
            }
            Self::Held(_) => unreachable!("a message that is held is sent no more of"),
        }
    }
}
