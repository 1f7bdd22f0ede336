//! What a receive or a probe asks for.

use super::super::envelope::Envelope;
use crate::ids::Context;

/// Which envelopes fit: exact context; source and tag exact or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The communicator's context.
    pub context: Context,
    /// The sender's rank, `None` for any.
    pub source: Option<u32>,
    /// The tag, `None` for any.
    pub tag: Option<i32>,
}

impl Pattern {
    /// Whether `envelope` fits. Source: MPI 5.0, 3.2.4.
    #[inline]
    #[must_use]
    pub fn fits(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }
}
