//! The seals of three ranks of a job, and of a stranger without its key, driven by a fuzzer: true
//! datagrams open once, and nothing else opens.

use super::card::{Card, SALT_BYTES};
use super::round::Round;
use super::seal::{Seal, Stray};
use super::wrap::{KEY_BYTES, MARK_BYTES, WRAP_BYTES};
use crate::config::Secure;

/// Ranks of the job.
pub const RANKS: u32 = 3;

/// A datagram of one of the ranks.
struct Sent {
    from: u32,
    to: u32,
    bytes: Vec<u8>,
    packets: Vec<u8>,
    /// The first bytes, which the seal covers.
    covered: usize,
    is_opened: bool,
}

/// The ranks, and what they have sent to each other.
pub struct Seals {
    secure: Secure,
    seals: Vec<Seal>,
    sent: Vec<Sent>,
}

impl Seals {
    /// Ranks that seal their datagrams alike: by cookie, tag or encryption.
    #[must_use]
    pub fn new(secure: Secure) -> Self {
        let card = |rank: u32| Card {
            address: ([127, 0, 0, 1], 1000).into(),
            packet_bytes: 1400,
            caps: 0,
            buffer_bytes: 1 << 20,
            ranks_per_core: 1,
            secure,
            salt: [rank as u8; SALT_BYTES],
        };
        let cards: Vec<Card> = (0..RANKS).map(card).collect();
        let round = Round::new(&[7; KEY_BYTES], &cards);
        let seals = (0..RANKS).map(|me| Seal::new(secure, &round, me));
        Self {
            secure,
            seals: seals.collect(),
            sent: Vec::new(),
        }
    }

    /// Rank `from` seals `packets` for rank `to`; up to their byte `head` they are headers.
    pub fn send(&mut self, (from, to): (u32, u32), packets: &[u8], head: usize) {
        let seal = &mut self.seals[(from % RANKS) as usize];
        let mut bytes = vec![0; WRAP_BYTES];
        bytes[..MARK_BYTES].copy_from_slice(&seal.mark());
        bytes[MARK_BYTES..][..4].copy_from_slice(&(from % RANKS).to_be_bytes());
        bytes.extend_from_slice(packets);
        bytes.resize(bytes.len() + seal.tail_bytes(), 0);
        // No longer datagram has several packets, and so headers beyond the first.
        let head = head.min(seal.shared_bytes(packets.len()));
        let head = WRAP_BYTES + head.min(packets.len());
        let covered = seal.close(to % RANKS, &mut bytes, head);
        self.sent.push(Sent {
            from: from % RANKS,
            to: to % RANKS,
            bytes,
            packets: packets.to_vec(),
            covered,
            is_opened: false,
        });
    }

    /// A datagram comes as it was sent, perhaps not for the first time.
    pub fn give(&mut self, number: usize) {
        let Some(sent) = self.sent.get_mut(number) else {
            return;
        };
        let seal = &mut self.seals[sent.to as usize];
        let mut bytes = sent.bytes.clone();
        let outcome = seal.open(sent.from, &mut bytes);
        if sent.is_opened && self.secure == Secure::Encrypt {
            assert_eq!(outcome, Err(Stray::Replayed), "it was here before");
            return;
        }
        let packets = outcome.expect("a true datagram opens");
        assert_eq!(bytes[packets], sent.packets, "as they were sent");
        sent.is_opened = true;
    }

    /// A datagram comes to rank `at`, perhaps another one than it is for, with its byte `place`
    /// changed by `change`, and without its last `cut` bytes.
    pub fn lie(&mut self, number: usize, at: u32, (place, change): (usize, u8), cut: usize) {
        let Some(sent) = self.sent.get(number) else {
            return;
        };
        let mut bytes = sent.bytes.clone();
        let (at, place) = (at % RANKS, place % bytes.len());
        bytes[place] ^= change;
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        let is_changed = change != 0 && place < sent.covered || bytes.len() < sent.covered;
        if is_changed || at != sent.to {
            self.stray(at, sent.from, &bytes);
        }
    }

    /// Somebody without the key sends this to rank `at`, as from rank `from`.
    pub fn stray(&mut self, at: u32, from: u32, bytes: &[u8]) {
        let seal = &mut self.seals[(at % RANKS) as usize];
        let Some(wrap) = bytes.first_chunk::<WRAP_BYTES>() else {
            return;
        };
        let mut bytes = bytes.to_vec();
        // All that a cookie shows is whether it is there.
        if seal.seems_ours(wrap) && self.secure != Secure::Cookie {
            let outcome = seal.open(from, &mut bytes);
            assert!(outcome.is_err(), "{bytes:?} is no true datagram");
        }
    }
}
