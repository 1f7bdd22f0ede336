//! Cards: the ranks of a job exchange them to describe where they listen.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Bytes of a salt: as many as of a key, so that no two Inits ever draw the same salt.
pub(super) const SALT_BYTES: usize = 32;

/// What a rank publishes about its end of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Where its socket listens.
    pub address: SocketAddr,
    /// Random bytes of this Init: no two rounds of it have the same key.
    pub salt: [u8; SALT_BYTES],
}

/// Reads the cards of the ranks of a job, on `hosts`, from their bytes, by rank.
///
/// # Errors
/// A line for humans that names the first rank whose card cannot be read.
pub fn read_cards(cards: &[Vec<u8>], hosts: &[String]) -> Result<Vec<Card>, String> {
    let read = |(rank, bytes): (usize, &Vec<u8>)| {
        postcard::from_bytes(bytes).map_err(|_| {
            let host = hosts.get(rank).map_or("?", String::as_str);
            let len = bytes.len();
            format!(
                "the card of rank {rank} on {host} ({len} bytes) cannot be read: run all ranks \
                 with the same mpi-lite and the same --transport"
            )
        })
    };
    cards.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_cannot_be_read_is_named_by_its_rank() {
        let card = Card {
            address: ([127, 0, 0, 1], 4000).into(),
            salt: [7; SALT_BYTES],
        };
        let hosts = ["a", "b", "c"].map(str::to_owned);
        let mut cards = vec![postcard::to_allocvec(&card).unwrap(); 3];
        assert_eq!(read_cards(&cards, &hosts), Ok(vec![card; 3]));
        for bytes in [&[7][..], &[]] {
            cards[1] = bytes.to_vec();
            let error = read_cards(&cards, &hosts).unwrap_err();
            assert!(error.contains("card of rank 1 on b "), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }
}
