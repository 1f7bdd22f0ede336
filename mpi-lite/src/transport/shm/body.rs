//! Where the bytes of a message on its way in are put.

use super::super::Landing;
use super::link::RegisteredWords;
use super::shelf::Shelf;
use crate::data::Area;
use crate::memory::Span;

/// Where the bytes of a message on its way in are put.
#[derive(Debug)]
pub(super) enum Room {
    /// Not landed: what has come so far.
    Kept(Vec<u8>),
    /// Not landed: all of it, whose sender waits to hear of the match.
    Registered(RegisteredWords),
    Into(Area),
    Bounce(Vec<u8>),
}

impl Room {
    pub(super) fn of(landing: Landing, len: u64, shelf: &mut Shelf) -> Self {
        match landing {
            Landing::Into(area) => Self::Into(area),
            Landing::Bounce(most) => {
                let mut buffer = shelf.take();
                buffer.resize(usize::try_from(len.min(most)).unwrap_or(0), 0);
                Self::Bounce(buffer)
            }
            Landing::Later => Self::Kept(shelf.take()),
        }
    }

    /// The memory, if the message has landed in one stretch.
    pub(super) fn span(&mut self) -> Option<Span> {
        match self {
            Self::Kept(_) | Self::Registered(_) => None,
            Self::Into(area) => area.span(),
            Self::Bounce(buffer) => Some(Span::of(buffer)),
        }
    }

    pub(super) fn put(&mut self, at: usize, piece: Span) {
        match self {
            Self::Kept(bytes) => piece.append_to(bytes),
            Self::Into(area) => area.write(at, piece),
            Self::Bounce(buffer) => {
                Span::of(buffer).part(at, piece.len()).copy_from(piece);
            }
            Self::Registered(_) => {}
        }
    }

    pub(super) fn into_body(self) -> Option<Vec<u8>> {
        match self {
            Self::Bounce(buffer) => Some(buffer),
            Self::Kept(_) | Self::Registered(_) | Self::Into(_) => None,
        }
    }
}
