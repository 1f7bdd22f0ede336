//! How both ends of a new connection prove that they belong to the job.
//!
//! ```text
//!  acceptor -> connector   Challenge: magic (8), nonce A (32)
//!  connector -> acceptor   Claim: rank (4), channel (4), nonce C (32), MAC (32)
//!  acceptor -> connector   Verdict: 1 or 2 (1), MAC (32)                        big endian
//! ```
//!
//! The MAC is HMAC-SHA256 (RFC 2104) over the direction, both nonces, both ranks, the channel and
//! the verdict. Its key comes from the job's key and the cards of all ranks (HKDF, RFC 5869): the
//! salts in the cards are new in each Init. Both nonces are new for each connection, so a recorded
//! one proves nothing; the ranks are in the MAC, so none can be turned to another rank.

use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom, SystemRandom};

use super::card::Card;
use crate::hidden::Hidden;
use crate::transport::PeerId;
use crate::transport::cards::digest_of;

/// Bytes of the job's key.
pub(super) const KEY_BYTES: usize = 32;

const MAC_BYTES: usize = 32;

/// Bytes of the messages.
pub(super) const CHALLENGE_BYTES: usize = MAGIC.len() + NONCE_BYTES;
pub(super) const CLAIM_BYTES: usize = 4 + 4 + NONCE_BYTES + MAC_BYTES;
pub(super) const VERDICT_BYTES: usize = 1 + MAC_BYTES;

const NONCE_BYTES: usize = 32;

/// What a challenge begins with.
const MAGIC: [u8; 8] = *b"mpilite1";

/// What comes instead of a challenge from a process that has no descriptor left.
const FULL: [u8; 8] = *b"mpifull1";

/// Random bytes that are used once.
pub(super) type Nonce = [u8; NONCE_BYTES];

/// Draws random bytes.
///
/// # Errors
/// A line for humans if the system has none.
pub(super) fn draw() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| "the system gives no random numbers (getrandom)".to_owned())?;
    Ok(bytes)
}

/// What an acceptor begins with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// The connector must prove itself for this nonce.
    Nonce(Nonce),
    /// It has no descriptor left for the connection.
    Full,
}

impl Challenge {
    pub(super) fn encode(&self) -> [u8; CHALLENGE_BYTES] {
        let mut bytes = [0; CHALLENGE_BYTES];
        let (magic, rest) = bytes.split_at_mut(MAGIC.len());
        match self {
            Self::Nonce(nonce) => {
                magic.copy_from_slice(&MAGIC);
                rest.copy_from_slice(nonce);
            }
            Self::Full => magic.copy_from_slice(&FULL),
        }
        bytes
    }

    /// `None`: it is none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (magic, nonce) = bytes.split_first_chunk::<8>()?;
        match *magic {
            MAGIC => Some(Self::Nonce(nonce.try_into().ok()?)),
            FULL => Some(Self::Full),
            _ => None,
        }
    }
}

/// A connection as both of its ends see it, once both nonces are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) connector: PeerId,
    pub(super) acceptor: PeerId,
    /// The channel key; see [`Outbound`](crate::transport::Outbound).
    pub(super) key: u32,
    pub(super) challenge: Nonce,
    pub(super) answer: Nonce,
}

/// What the acceptor decides about a connector that has proved itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The connection carries messages from now on.
    Accepted = 1,
    /// Another connection of the same channel carries them, or will.
    Crossed = 2,
}

/// Makes and checks proofs of the job's key.
pub(super) struct Prover {
    key: Hidden<hmac::Key>,
}

impl core::fmt::Debug for Prover {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Prover")
    }
}

impl Prover {
    /// For the round of Init in which these `cards`, by rank, were exchanged, of the job with this
    /// key.
    pub(super) fn new(key: &[u8; KEY_BYTES], cards: &[Card]) -> Self {
        let all = digest_of(cards);
        let secret = Salt::new(HKDF_SHA256, all.as_ref()).extract(key);
        let key = secret.expand(&[b"tcp"], HMAC_SHA256);
        let key = key.expect("HKDF gives 32 bytes");
        Self {
            key: Hidden::new(key.into()),
        }
    }

    /// The bytes with which the connector proves itself.
    pub(super) fn claim(&self, claim: &Claim) -> [u8; CLAIM_BYTES] {
        let mut bytes = [0; CLAIM_BYTES];
        bytes[..4].copy_from_slice(&claim.connector.0.to_be_bytes());
        bytes[4..8].copy_from_slice(&claim.key.to_be_bytes());
        bytes[8..8 + NONCE_BYTES].copy_from_slice(&claim.answer);
        let mac = hmac::sign(&self.key, &covered(claim, CLAIMS));
        bytes[8 + NONCE_BYTES..].copy_from_slice(mac.as_ref());
        bytes
    }

    /// What a connector claims that has answered `challenge` of `acceptor`; `None` if it has not
    /// proved it.
    pub(super) fn check_claim(
        &self,
        acceptor: PeerId,
        challenge: &Nonce,
        bytes: &[u8],
    ) -> Option<Claim> {
        let (connector, bytes) = bytes.split_first_chunk()?;
        let (key, bytes) = bytes.split_first_chunk()?;
        let (answer, mac) = bytes.split_first_chunk()?;
        let claim = Claim {
            connector: PeerId(u32::from_be_bytes(*connector)),
            acceptor,
            key: u32::from_be_bytes(*key),
            challenge: *challenge,
            answer: *answer,
        };
        hmac::verify(&self.key, &covered(&claim, CLAIMS), mac).ok()?;
        Some(claim)
    }

    /// The bytes with which the acceptor proves itself.
    pub(super) fn verdict(&self, claim: &Claim, verdict: Verdict) -> [u8; VERDICT_BYTES] {
        let mut bytes = [verdict as u8; VERDICT_BYTES];
        let mac = hmac::sign(&self.key, &covered(claim, verdict as u8));
        bytes[1..].copy_from_slice(mac.as_ref());
        bytes
    }

    /// The acceptor's verdict; `None` if it has not proved it.
    pub(super) fn check_verdict(&self, claim: &Claim, bytes: &[u8]) -> Option<Verdict> {
        let (&first, mac) = bytes.split_first()?;
        let all = [Verdict::Accepted, Verdict::Crossed];
        let verdict = all.into_iter().find(|it| *it as u8 == first)?;
        hmac::verify(&self.key, &covered(claim, first), mac).ok()?;
        Some(verdict)
    }
}

/// What a connector's proof says; an acceptor's says its verdict.
const CLAIMS: u8 = 0;

/// The bytes that a MAC covers.
fn covered(claim: &Claim, says: u8) -> [u8; 1 + 4 + 4 + 4 + 2 * NONCE_BYTES] {
    let mut bytes = [says; 1 + 4 + 4 + 4 + 2 * NONCE_BYTES];
    bytes[1..5].copy_from_slice(&claim.connector.0.to_be_bytes());
    bytes[5..9].copy_from_slice(&claim.acceptor.0.to_be_bytes());
    bytes[9..13].copy_from_slice(&claim.key.to_be_bytes());
    bytes[13..][..NONCE_BYTES].copy_from_slice(&claim.challenge);
    bytes[13 + NONCE_BYTES..].copy_from_slice(&claim.answer);
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::card::SALT_BYTES;
    use super::*;

    fn cards(salt: u8) -> Vec<Card> {
        let card = |port| Card {
            address: ([127, 0, 0, 1], port).into(),
            salt: [salt; SALT_BYTES],
        };
        [4000, 4001].map(card).to_vec()
    }

    fn prover() -> Prover {
        Prover::new(&[5; KEY_BYTES], &cards(1))
    }

    const CLAIM: Claim = Claim {
        connector: PeerId(1),
        acceptor: PeerId(0),
        key: 0x0102_0304,
        challenge: [3; NONCE_BYTES],
        answer: [4; NONCE_BYTES],
    };

    #[test]
    fn both_ends_of_a_round_prove_themselves() {
        let (one, other) = (prover(), prover());
        let claim = one.claim(&CLAIM);
        let checked = other.check_claim(PeerId(0), &CLAIM.challenge, &claim);
        assert_eq!(checked, Some(CLAIM));
        for verdict in [Verdict::Accepted, Verdict::Crossed] {
            let bytes = other.verdict(&CLAIM, verdict);
            assert_eq!(one.check_verdict(&CLAIM, &bytes), Some(verdict));
        }
    }

    #[test]
    fn a_proof_with_any_bit_changed_proves_nothing() {
        let prover = prover();
        let claim = prover.claim(&CLAIM);
        for bit in 0..8 * claim.len() {
            let mut changed = claim;
            changed[bit / 8] ^= 1 << (bit % 8);
            let checked = prover.check_claim(PeerId(0), &CLAIM.challenge, &changed);
            assert_eq!(checked, None, "bit {bit}");
        }
        let verdict = prover.verdict(&CLAIM, Verdict::Accepted);
        for bit in 0..8 * verdict.len() {
            let mut changed = verdict;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(prover.check_verdict(&CLAIM, &changed), None, "bit {bit}");
        }
    }

    #[test]
    fn a_proof_is_for_one_connection_only() {
        let prover = prover();
        let (claim, challenge) = (prover.claim(&CLAIM), CLAIM.challenge);
        assert_eq!(prover.check_claim(PeerId(2), &challenge, &claim), None);
        assert_eq!(prover.check_claim(PeerId(0), &[9; 32], &claim), None);
        let verdict = prover.verdict(&CLAIM, Verdict::Accepted);
        let others = [
            Claim {
                answer: [9; 32],
                ..CLAIM
            },
            Claim { key: 1, ..CLAIM },
            Claim {
                acceptor: PeerId(2),
                ..CLAIM
            },
        ];
        for other in others {
            assert_eq!(prover.check_verdict(&other, &verdict), None);
        }
    }

    #[test]
    fn another_key_or_another_round_proves_nothing() {
        let claim = prover().claim(&CLAIM);
        let others = [
            Prover::new(&[6; KEY_BYTES], &cards(1)),
            Prover::new(&[5; KEY_BYTES], &cards(2)),
        ];
        for other in others {
            let checked = other.check_claim(PeerId(0), &CLAIM.challenge, &claim);
            assert_eq!(checked, None);
        }
    }

    #[test]
    fn a_challenge_is_read_as_it_was_written_and_nothing_else_is_one() {
        for challenge in [Challenge::Nonce([7; 32]), Challenge::Full] {
            let bytes = challenge.encode();
            assert_eq!(Challenge::decode(&bytes), Some(challenge));
        }
        for other in [&b"SSH-2.0-"[..], &[0; CHALLENGE_BYTES], &[]] {
            assert_eq!(Challenge::decode(other), None);
        }
    }
}
