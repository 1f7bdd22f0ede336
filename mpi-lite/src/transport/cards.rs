//! Cards: what each rank publishes about its end of the network.

use ring::digest::{Context, Digest, SHA256};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hosts::Hosts;

/// Reads the cards of the ranks of a job, on `hosts`, from their bytes, by rank.
///
/// # Errors
/// A line for humans that names the first rank whose card cannot be read.
pub fn read_cards<Card: DeserializeOwned>(
    cards: &[Vec<u8>],
    hosts: &Hosts,
) -> Result<Vec<Card>, String> {
    let read = |(rank, bytes): (usize, &Vec<u8>)| {
        postcard::from_bytes(bytes).map_err(|_| {
            let host = hosts.get(rank).unwrap_or("?");
            let len = bytes.len();
            format!(
                "the card of rank {rank} on {host} ({len} bytes) cannot be read: run all ranks \
                 with the same mpi-lite and the same --transport"
            )
        })
    };
    cards.iter().enumerate().map(read).collect()
}

/// A number for the round of Init in which these `cards`, by rank, were exchanged.
pub(super) fn digest_of(cards: &[impl Serialize]) -> Digest {
    let mut all = Context::new(&SHA256);
    for card in cards {
        let card = postcard::to_allocvec(card).expect("a card is numbers");
        all.update(&(card.len() as u64).to_be_bytes());
        all.update(&card);
    }
    all.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_cannot_be_read_is_named_by_its_rank() {
        let card = (7_u16, [7_u8; 9]);
        let hosts = Hosts::of(&["a", "b", "c"]);
        let mut cards = vec![postcard::to_allocvec(&card).unwrap(); 3];
        assert_eq!(read_cards(&cards, &hosts), Ok(vec![card; 3]));
        for bytes in [&[7][..], &[]] {
            cards[1] = bytes.to_vec();
            let error = read_cards::<(u16, [u8; 9])>(&cards, &hosts).unwrap_err();
            assert!(error.contains("card of rank 1 on b "), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }
}
