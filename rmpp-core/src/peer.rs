//! What must be kept of a peer: the paper's two integers.

/// All that must outlive a message (paper §2.3, §3.8): two integers per node.
// Rule P13.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Peer {
    next_out: u32,
    next_in: u32,
}

impl Peer {
    /// A peer that is known to be at these numbers.
    pub(crate) fn at(next_out: u32, next_in: u32) -> Self {
        Self { next_out, next_in }
    }

    /// `msgNum` of the next message to this node.
    #[inline]
    pub(crate) fn next_out(self) -> u32 {
        self.next_out
    }

    /// `msgNum` of the next message from this node.
    #[inline]
    pub(crate) fn next_in(self) -> u32 {
        self.next_in
    }

    /// The number of a message that begins now.
    #[inline]
    pub(crate) fn take_out(&mut self) -> u32 {
        let number = self.next_out;
        self.next_out = number.wrapping_add(1);
        number
    }

    /// The message of this number has had its turn, and so have those before it.
    #[inline]
    pub(crate) fn pass_in(&mut self, number: u32) {
        self.next_in = number.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incoming::FromPeer;
    use crate::outgoing::ToPeer;

    #[test]
    fn rule_p13_two_integers_per_peer() {
        assert_eq!(size_of::<Peer>(), 2 * size_of::<u32>());
    }

    #[test]
    fn rule_p13_the_records_beside_them_are_fixed_and_small() {
        let bytes = size_of::<ToPeer>() + size_of::<FromPeer>();
        assert!(bytes <= 176, "{bytes}");
    }
}
