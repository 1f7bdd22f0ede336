//! The first message of an operation on a port, and how heads and bodies are told apart.

use crate::data::Area;
use crate::engine::envelope::{Envelope, Flags};
use crate::ids::Context;
use crate::memory::Span;
use crate::transport::PeerId;

/// The longest head, in bytes: a page.
pub const HEAD_MOST: u64 = 4096;

/// The first message of an operation on a port.
#[derive(Debug)]
pub struct Head {
    from: PeerId,
    envelope: Envelope,
    bytes: Vec<u8>,
    /// By which the door knows it.
    serial: u64,
}

impl Head {
    pub(in crate::engine) fn new(from: PeerId, envelope: Envelope, bytes: Vec<u8>) -> Self {
        Self {
            from,
            envelope,
            bytes,
            serial: 0,
        }
    }

    /// One that comes with `len` bytes.
    pub(super) fn with_room((from, envelope): (PeerId, Envelope), len: u64, serial: u64) -> Self {
        let bytes = vec![0; len as usize];
        Self {
            serial,
            ..Self::new(from, envelope, bytes)
        }
    }

    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    /// Its sender.
    #[must_use]
    pub fn from(&self) -> PeerId {
        self.from
    }

    /// Its number, by which the sender tells its operations apart.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.envelope.tag.cast_unsigned()
    }

    /// What it says.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(in crate::engine) fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Where a link writes it. It is not read before.
    pub(in crate::engine) fn area(&mut self) -> Area {
        Area::Run(Span::held(&mut self.bytes))
    }

    pub(super) fn name(&self) -> HeadName {
        HeadName::of(self.from, &self.envelope)
    }
}

/// A head and its body have the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct HeadName {
    pub(super) context: Context,
    /// The sender or the receiver.
    pub(super) peer: PeerId,
    pub(super) number: u32,
}

impl HeadName {
    pub(super) fn of(peer: PeerId, envelope: &Envelope) -> Self {
        Self {
            context: envelope.context,
            peer,
            number: envelope.tag.cast_unsigned(),
        }
    }
}

/// What the source field of a body has; that of a head has 0. Both have the number in the tag
/// field, so that they take the same of several channels, and stay in order.
const BODY: u32 = 1;

/// The envelope of a head.
pub(in crate::engine) fn head_envelope(context: Context, number: u32) -> Envelope {
    Envelope {
        context,
        source: 0,
        tag: number.cast_signed(),
        flags: Flags::default(),
    }
}

/// The envelope of the body with this number.
pub(in crate::engine) fn body_envelope(context: Context, number: u32) -> Envelope {
    Envelope {
        source: BODY,
        ..head_envelope(context, number)
    }
}

/// Returns true if the message with this envelope is a body.
pub(super) fn is_body(envelope: &Envelope) -> bool {
    envelope.source == BODY && envelope.context != Context::SERVICE
}
