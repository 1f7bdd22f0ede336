//! Cards: the ranks of a job exchange them to describe their ends of the network.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::config::Secure;
use crate::hosts::Hosts;

/// Bytes of a salt: as many as of a key, so that no two Inits ever draw the same salt.
pub(super) const SALT_BYTES: usize = 32;

/// What a rank publishes about its end of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Where its socket listens.
    pub address: SocketAddr,
    /// Payload bytes of a packet that its interface carries unfragmented.
    pub packet_bytes: u32,
    /// What its protocol does beyond the classic profile, as bits (`rmpp_core::Caps`).
    pub caps: u16,
    /// Bytes of its receive buffer, as the system counts them.
    pub buffer_bytes: u64,
    /// Ranks for each core of its node, rounded up: a measure of the time until a packet is read.
    pub ranks_per_core: u32,
    /// How it seals datagrams. It must be the same in all ranks.
    pub secure: Secure,
    /// Random bytes of this Init: no two rounds of it have the same keys.
    pub salt: [u8; SALT_BYTES],
}

/// Checks that the ranks of a job, on `hosts`, seal their datagrams alike.
///
/// # Errors
/// A line for humans that names the first rank that differs from rank 0.
pub fn agree(cards: &[Card], hosts: &Hosts) -> Result<(), String> {
    let Some((rank, card)) = (0..)
        .zip(cards)
        .find(|(_, card)| card.secure != cards[0].secure)
    else {
        return Ok(());
    };
    let host = |rank: usize| hosts.get(rank).unwrap_or("?");
    Err(format!(
        "rank {rank} on {} has MPILITE_SECURE={}, but rank 0 on {} has {}: set it alike for all \
         ranks, by mpirun --secure={}",
        host(rank),
        card.secure,
        host(0),
        cards[0].secure,
        card.secure.max(cards[0].secure),
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use rmpp_core::Caps;

    use super::*;

    pub(in crate::transport::udp) fn card(
        caps: Caps,
        buffer_bytes: u64,
        ranks_per_core: u32,
    ) -> Card {
        Card {
            address: ([127, 0, 0, 1], 1).into(),
            packet_bytes: 65_000,
            caps: caps.bits(),
            buffer_bytes,
            ranks_per_core,
            secure: Secure::Cookie,
            salt: [0; SALT_BYTES],
        }
    }

    #[test]
    fn ranks_that_seal_differently_do_not_start() {
        let with = |secure| Card {
            secure,
            ..card(Caps::FAST, 1 << 20, 1)
        };
        let hosts = Hosts::of(&["a", "b", "c"]);
        for secure in [Secure::Cookie, Secure::Tag, Secure::Encrypt] {
            assert_eq!(agree(&[with(secure), with(secure)], &hosts), Ok(()));
        }
        let cards = [Secure::Tag, Secure::Tag, Secure::Cookie].map(with);
        let error = agree(&cards, &hosts).unwrap_err();
        let says = |word| error.contains(word);
        assert!(
            says("rank 2 on c") && says("=cookie") && says("rank 0 on a has tag"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1);
    }
}
