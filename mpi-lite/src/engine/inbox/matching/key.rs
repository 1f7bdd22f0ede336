//! Patterns of receives and probes, and the labels under which they are found.

use crate::engine::envelope::Envelope;
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
    /// Returns true if `envelope` fits. Source: MPI 5.0, 3.2.4.
    #[inline]
    #[must_use]
    pub fn fits(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }

    fn shape(&self) -> Shape {
        Shape(u8::from(self.source.is_none()) | u8::from(self.tag.is_none()) << 1)
    }
}

/// The words that a pattern leaves open: the lowest bit is for the source, the next one for the
/// tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape(u8);

/// How many shapes there are.
pub(super) const SHAPES: usize = 4;

impl Shape {
    #[inline]
    pub(super) fn number(self) -> usize {
        usize::from(self.0)
    }

    fn has_source(self) -> bool {
        self.0 & 1 == 0
    }

    fn has_tag(self) -> bool {
        self.0 & 2 == 0
    }
}

/// Some of the shapes, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shapes(u8);

impl Shapes {
    const ALL: Self = Self((1 << SHAPES) - 1);

    #[inline]
    fn of(shape: Shape) -> Self {
        Self(1 << shape.0)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(super) fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    #[inline]
    pub(super) fn or(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    #[inline]
    pub(super) fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Each of them.
    #[inline]
    pub(super) fn iter(self) -> impl Iterator<Item = Shape> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let shape = (left != 0).then(|| Shape(left.trailing_zeros() as u8));
            left &= left.wrapping_sub(1);
            shape
        })
    }
}

/// The words that patterns of one shape and the envelopes that fit them have in common. Those that
/// the shape leaves open are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) context: u32,
    pub(super) source: u32,
    pub(super) tag: i32,
}

/// A side of a match: a pattern or an envelope. A pattern and an envelope fit if and only if they
/// have the same label of some shape.
pub(super) trait Side: Copy {
    type Other: Side;

    fn fits(&self, other: &Self::Other) -> bool;

    /// The shapes of which it has a label: an envelope of all, a pattern of its own.
    fn shapes(&self) -> Shapes;

    /// The label of one of these shapes.
    fn label(&self, shape: Shape) -> Label;
}

impl Side for Pattern {
    type Other = Envelope;

    #[inline]
    fn fits(&self, other: &Envelope) -> bool {
        self.fits(other)
    }

    #[inline]
    fn shapes(&self) -> Shapes {
        Shapes::of(self.shape())
    }

    #[inline]
    fn label(&self, _own: Shape) -> Label {
        Label {
            context: self.context.0,
            source: self.source.unwrap_or_default(),
            tag: self.tag.unwrap_or_default(),
        }
    }
}

impl Side for Envelope {
    type Other = Pattern;

    #[inline]
    fn fits(&self, other: &Pattern) -> bool {
        other.fits(self)
    }

    #[inline]
    fn shapes(&self) -> Shapes {
        Shapes::ALL
    }

    #[inline]
    fn label(&self, shape: Shape) -> Label {
        Label {
            context: self.context.0,
            source: if shape.has_source() { self.source } else { 0 },
            tag: if shape.has_tag() { self.tag } else { 0 },
        }
    }
}
