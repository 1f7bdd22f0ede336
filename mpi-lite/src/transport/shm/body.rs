//! Where the bytes of a message are, at its sender and at its receiver.

use super::super::Landing;
use super::link::RegisteredWords;
use super::shelf::Shelf;
use crate::data::Scattered;
use crate::memory::{Span, Way};

/// Where the bytes of a message on its way in are put.
#[derive(Debug)]
pub(super) enum Room {
    /// Not landed: what has come so far.
    Kept(Vec<u8>),
    /// Not landed: all of it, whose sender waits to hear of the match.
    Registered(RegisteredWords),
    Into(Span),
    Bounce(Vec<u8>),
    /// Between the gaps of what the program receives.
    Scattered(Box<Scattered>),
}

impl Room {
    pub(super) fn of(landing: Landing, len: u64, shelf: &mut Shelf) -> Self {
        match landing {
            Landing::Into(span) => Self::Into(span),
            Landing::Bounce(most) => {
                let mut buffer = shelf.take();
                buffer.resize(usize::try_from(len.min(most)).unwrap_or(0), 0);
                Self::Bounce(buffer)
            }
            Landing::Later => Self::Kept(shelf.take()),
        }
    }

    /// The memory, if the message has landed.
    pub(super) fn span(&mut self) -> Option<Span> {
        match self {
            Self::Kept(_) | Self::Registered(_) | Self::Scattered(_) => None,
            Self::Into(span) => Some(*span),
            Self::Bounce(buffer) => Some(Span::of(buffer)),
        }
    }

    pub(super) fn put(&mut self, at: usize, piece: Span) {
        match self {
            Self::Kept(bytes) => piece.append_to(bytes),
            Self::Scattered(scattered) => {
                scattered.copy(at as u64, piece, Way::Into);
            }
            Self::Registered(_) | Self::Into(_) | Self::Bounce(_) => {
                if let Some(span) = self.span() {
                    span.part(at, piece.len()).copy_from(piece);
                }
            }
        }
    }

    pub(super) fn into_body(self) -> Option<Vec<u8>> {
        match self {
            Self::Bounce(buffer) => Some(buffer),
            Self::Kept(_) | Self::Registered(_) | Self::Into(_) | Self::Scattered(_) => None,
        }
    }
}

/// The bytes of a message on its way out.
#[derive(Debug)]
pub(super) enum Body {
    Run(Span),
    /// With gaps between them. They go through the ring.
    Scattered(Box<Scattered>),
}

impl Body {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Run(span) => span.len(),
            Self::Scattered(scattered) => usize::try_from(scattered.len()).unwrap_or(usize::MAX),
        }
    }

    /// The memory, if it is in one stretch.
    pub(super) fn span(&self) -> Option<Span> {
        match self {
            Self::Run(span) => Some(*span),
            Self::Scattered(_) => None,
        }
    }

    /// Fills `room` with what is there from byte `at` on.
    pub(super) fn write_to(&self, at: usize, room: Span) {
        match self {
            Self::Run(span) => room.copy_from(span.part(at, room.len())),
            Self::Scattered(scattered) => scattered.copy(at as u64, room, Way::Out),
        };
    }
}
