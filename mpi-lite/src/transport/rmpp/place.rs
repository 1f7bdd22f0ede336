//! Where the bytes of an incoming message go.

use super::super::ENVELOPE_BYTES;
use crate::data::Area;
use crate::memory::Span;

#[derive(Debug)]
pub(super) enum Place {
    /// Not landed; the body bytes of the first packet.
    Held(Vec<u8>),
    /// Its turn has not come; the message from its envelope on, as far as it is here.
    Early(Vec<u8>),
    Into(Area),
    Bounce(Vec<u8>),
}

impl Place {
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        match self {
            Self::Into(area) => area.write(offset, Span::of_read(bytes)),
            Self::Bounce(buffer) => {
                Span::of(buffer).write(offset, bytes);
            }
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

    /// The body of a complete message, if it is in a buffer of ours.
    #[inline]
    pub(super) fn into_body(self) -> Option<Vec<u8>> {
        match self {
            Self::Bounce(buffer) => Some(buffer),
            Self::Into(_) | Self::Held(_) | Self::Early(_) => None,
        }
    }
}
