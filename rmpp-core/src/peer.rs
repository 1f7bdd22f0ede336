//! What must be kept of a peer: the paper's two integers.

/// All that must outlive a message (paper §2.3, §3.8): two integers per node.
// Rule P13.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Peer {
    /// `msgNum` of the next message to this node.
    pub(crate) next_out: u32,
    /// `msgNum` of the next message from this node.
    pub(crate) next_in: u32,
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
