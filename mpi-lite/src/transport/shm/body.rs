//! Where the bytes of a message on its way in are put.

use super::ring::RegisteredWords;
use crate::data::Area;
use crate::memory::{Bytes, Span};

/// Where the bytes of a message on its way in are put.
#[derive(Debug)]
pub(super) enum Room {
    /// Not landed: what has come so far.
    Kept(Vec<u8>),
    /// Not landed: all of it. Its sender waits for the match.
    Registered(RegisteredWords),
    Into(Area),
}

impl Room {
    /// The memory, if the message has landed in one stretch.
    pub(super) fn span(&self) -> Option<Span> {
        match self {
            Self::Kept(_) | Self::Registered(_) => None,
            Self::Into(area) => area.span(),
        }
    }

    pub(super) fn put<'a>(&mut self, at: usize, piece: impl Into<Bytes<'a>>) {
        let piece = piece.into();
        match self {
            Self::Kept(bytes) => piece.append_to(bytes),
            Self::Into(area) => area.write(at, piece),
            Self::Registered(_) => {}
        }
    }

    /// Puts a long piece that another core has written. Its lines are fetched while those before
    /// them are copied: the processor alone looks less far ahead.
    pub(super) fn put_from_afar(&mut self, at: usize, piece: Span) {
        const BLOCK: usize = 2048;
        const AHEAD: usize = 2 * BLOCK;
        piece.part(0, AHEAD).fetch();
        for from in (0..piece.len()).step_by(BLOCK) {
            piece.part(from + AHEAD, BLOCK).fetch();
            self.put(at + from, piece.part(from, BLOCK));
        }
    }
}
