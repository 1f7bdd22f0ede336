//! Names of nodes and of messages.

use core::fmt;

use crate::slab::NO_POSITION;

/// The number of a node, `0..nodes` (paper §3.1, `srcNID`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// A slab position with the generation that distinguishes its tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Key {
    /// The key of no value.
    pub(crate) const NONE: Self = Self {
        index: NO_POSITION,
        generation: 0,
    };
}

macro_rules! message_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) Key);

        impl $name {
            /// A small number, unique among the messages that live now: good for a side table.
            #[must_use]
            pub fn index(self) -> usize {
                self.0.index as usize
            }
        }
    };
}

message_id! {
    /// A message on its way out, from [`send`](crate::Endpoint::send) to its last event.
    OutgoingId
}
message_id! {
    /// A message on its way in, from [`Placement::First`](crate::Placement::First) to its last
    /// event.
    IncomingId
}

/// Returns true if message number `a` comes before `b`, on a circle of 2³² numbers.
pub(crate) fn precedes(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) > u32::MAX / 2
}

/// Returns true if attempt `a` is later than `b`, on a circle of 2¹⁶ numbers.
pub(crate) fn later_attempt(a: u16, b: u16) -> bool {
    b.wrapping_sub(a) > u16::MAX / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_l_attempts_compare_on_a_circle_exhaustively() {
        for a in 0..=u16::MAX {
            for step in [1, 2, 77, 0x7fff] {
                let b = a.wrapping_add(step);
                assert!(later_attempt(b, a) && !later_attempt(a, b), "{a} {b}");
            }
            assert!(!later_attempt(a, a));
        }
    }

    #[test]
    fn rule_l_message_numbers_compare_on_a_circle() {
        for a in (0..=u32::MAX)
            .step_by(65_521)
            .chain([0, 1, u32::MAX, 1 << 31, (1 << 31) - 1])
        {
            for step in [1, 2, 65_535, 0x7fff_ffff] {
                let b = a.wrapping_add(step);
                assert!(precedes(a, b) && !precedes(b, a), "{a} {b}");
            }
            assert!(!precedes(a, a));
        }
    }
}
