//! The keys of one round of Init.
//!
//! The job's key is the same for every program that a script starts one after the other in its
//! ranks. So each Init draws a salt and writes it into its card, and all keys come from the job's
//! key and from the cards of all ranks. So the keys of a round were never used before: its salts
//! are new. Datagrams of another round, or for a rank with other cards, do not open.

use super::wrap::{KEY_BYTES, MARK_BYTES};
use ring::aead::{AES_128_GCM, LessSafeKey, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::{SecureRandom, SystemRandom};

use super::card::{Card, SALT_BYTES};
use crate::transport::cards::digest_of;

/// Draws the salt of one Init.
///
/// # Errors
/// A line for humans if the system has no random numbers.
pub(super) fn draw_salt() -> Result<[u8; SALT_BYTES], String> {
    let mut salt = [0; SALT_BYTES];
    SystemRandom::new()
        .fill(&mut salt)
        .map_err(|_| "the system gives no random numbers (getrandom)".to_owned())?;
    Ok(salt)
}

/// The secrets that the ranks of one round of Init share.
#[derive(Clone)]
pub(super) struct Round {
    secret: Prk,
    ranks: usize,
}

impl Round {
    /// The round in which these `cards`, by rank, were exchanged, of the job with this key.
    pub(super) fn new(key: &[u8; KEY_BYTES], cards: &[Card]) -> Self {
        let all = digest_of(cards);
        Self {
            secret: Salt::new(HKDF_SHA256, all.as_ref()).extract(key),
            ranks: cards.len(),
        }
    }

    /// Ranks of the job.
    pub(super) fn ranks(&self) -> usize {
        self.ranks
    }

    /// What all datagrams begin with if they are neither tagged nor encrypted. It is no secret from
    /// an attacker that reads the network.
    pub(super) fn cookie(&self) -> [u8; MARK_BYTES] {
        self.bytes(&[b"cookie"])
    }

    /// The key of all tags.
    pub(super) fn tag_key(&self) -> [u8; 16] {
        self.bytes(&[b"tag"])
    }

    /// The key with which one rank encrypts.
    pub(super) fn sender_key(&self, from: u32) -> LessSafeKey {
        let info = [b"encrypt".as_slice(), &from.to_be_bytes()];
        let okm = self.secret.expand(&info, &AES_128_GCM);
        let key = UnboundKey::from(okm.expect("HKDF gives 16 bytes"));
        LessSafeKey::new(key)
    }

    /// Seed of the generator of one rank's timers. It reveals nothing of the keys.
    pub(super) fn seed(&self, rank: u32) -> u64 {
        u64::from_be_bytes(self.bytes(&[b"timers", &rank.to_be_bytes()]))
    }

    fn bytes<const COUNT: usize>(&self, info: &[&[u8]]) -> [u8; COUNT] {
        struct Count(usize);
        impl KeyType for Count {
            fn len(&self) -> usize {
                self.0
            }
        }
        let mut bytes = [0; COUNT];
        self.secret
            .expand(info, Count(COUNT))
            .and_then(|okm| okm.fill(&mut bytes))
            .expect("HKDF gives up to 8160 bytes");
        bytes
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::Secure;

    /// Cards of `ranks` ranks in an Init whose salts all begin with this byte.
    pub(in super::super) fn cards(ranks: u8, salt: u8) -> Vec<Card> {
        let card = |rank| {
            let mut salts = [rank; SALT_BYTES];
            salts[0] = salt;
            Card {
                address: ([127, 0, 0, 1], 1000 + u16::from(rank)).into(),
                packet_bytes: 1400,
                caps: 0,
                buffer_bytes: 1 << 20,
                ranks_per_core: 1,
                secure: Secure::Cookie,
                salt: salts,
            }
        };
        (0..ranks).map(card).collect()
    }

    /// All that is derived.
    fn derived(round: &Round) -> Vec<Vec<u8>> {
        let mut all = vec![round.cookie().to_vec(), round.tag_key().to_vec()];
        for rank in 0..3 {
            all.push(round.seed(rank).to_be_bytes().to_vec());
            let nonce = || ring::aead::Nonce::assume_unique_for_key([0; 12]);
            let mut text = [0; 16];
            let key = round.sender_key(rank);
            let tag = key.seal_in_place_separate_tag(nonce(), ring::aead::Aad::empty(), &mut text);
            all.push([&text, tag.unwrap().as_ref()].concat());
        }
        all
    }

    #[test]
    fn all_ranks_of_a_round_come_to_the_same_keys() {
        let [one, other] = [(); 2].map(|()| derived(&Round::new(&[5; KEY_BYTES], &cards(3, 1))));
        assert_eq!(one, other);
    }

    #[test]
    fn nothing_derived_is_the_same_after_any_change_of_key_or_cards() {
        let same = derived(&Round::new(&[5; KEY_BYTES], &cards(3, 1)));
        let mut others = vec![derived(&Round::new(&[6; KEY_BYTES], &cards(3, 1)))];
        for rank in 0..3 {
            let changes: [fn(&mut Card); 3] = [
                |card| card.salt[31] ^= 1,
                |card| card.secure = Secure::Encrypt,
                |card| card.address.set_port(9),
            ];
            for change in changes {
                let mut cards = cards(3, 1);
                change(&mut cards[rank]);
                others.push(derived(&Round::new(&[5; KEY_BYTES], &cards)));
            }
        }
        let mut swapped = cards(3, 1);
        swapped.swap(0, 2);
        others.push(derived(&Round::new(&[5; KEY_BYTES], &swapped)));
        for other in others {
            let alike = same.iter().zip(&other).filter(|(one, other)| one == other);
            assert_eq!(alike.count(), 0);
        }
    }

    #[test]
    fn nothing_derived_shows_the_key_or_another_key() {
        let key: [u8; KEY_BYTES] = core::array::from_fn(|at| at as u8 + 100);
        let all = derived(&Round::new(&key, &cards(3, 1)));
        for (number, bytes) in all.iter().enumerate() {
            assert!(!key.windows(4).any(|part| bytes.starts_with(part)));
            let rest = &all[number + 1..];
            assert!(rest.iter().all(|other| other[..8] != bytes[..8]));
        }
    }

    #[test]
    fn no_salt_is_drawn_twice() {
        let drawn: std::collections::BTreeSet<_> = (0..100).map(|_| draw_salt().unwrap()).collect();
        assert_eq!(drawn.len(), 100);
    }
}
