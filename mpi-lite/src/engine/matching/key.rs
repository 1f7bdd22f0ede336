//! What a receive or a probe asks for, and under which names it is found.

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

    fn shape(&self) -> Shape {
        match (self.source, self.tag) {
            (Some(_), Some(_)) => Shape::Exact,
            (None, Some(_)) => Shape::AnySource,
            (Some(_), None) => Shape::AnyTag,
            (None, None) => Shape::Any,
        }
    }
}

/// Which of source and tag a pattern leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Exact,
    AnySource,
    AnyTag,
    Any,
}

impl Shape {
    pub(super) const ALL: [Self; 4] = [Self::Exact, Self::AnySource, Self::AnyTag, Self::Any];
}

/// What patterns of one shape and the envelopes that fit them have in common: the words that the
/// shape names, zero for those that it leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) context: u32,
    pub(super) source: u32,
    pub(super) tag: i32,
}

/// One of the two sides of a match: a pattern or an envelope. A pattern and an envelope fit if and
/// only if they have the same label of some shape.
pub(super) trait Side: Copy {
    type Other: Side;

    fn fits(&self, other: &Self::Other) -> bool;

    /// The label of this shape. An envelope has one of each, a pattern one of its own shape.
    fn label(&self, shape: Shape) -> Option<Label>;
}

impl Side for Pattern {
    type Other = Envelope;

    #[inline]
    fn fits(&self, other: &Envelope) -> bool {
        self.fits(other)
    }

    #[inline]
    fn label(&self, shape: Shape) -> Option<Label> {
        (self.shape() == shape).then(|| Label {
            context: self.context.0,
            source: self.source.unwrap_or_default(),
            tag: self.tag.unwrap_or_default(),
        })
    }
}

impl Side for Envelope {
    type Other = Pattern;

    #[inline]
    fn fits(&self, other: &Pattern) -> bool {
        other.fits(self)
    }

    #[inline]
    fn label(&self, shape: Shape) -> Option<Label> {
        let (source, tag) = match shape {
            Shape::Exact => (self.source, self.tag),
            Shape::AnySource => (0, self.tag),
            Shape::AnyTag => (self.source, 0),
            Shape::Any => (0, 0),
        };
        Some(Label {
            context: self.context.0,
            source,
            tag,
        })
    }
}
