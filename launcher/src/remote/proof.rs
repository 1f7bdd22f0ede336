//! How an agent that srun has started and `mpirun` prove to each other that they are of one job.
//!
//! ```text
//!   mpirun                                   agent
//!      | GREETING, nonce A ------------------> |
//!      | <------ nonce B, proof, length, name  |   proof = HMAC(token, "agent" A B name)
//!      | proof ------------------------------> |   proof = HMAC(token, "mpirun" A B name)
//! ```
//!
//! The token is drawn for the job and goes through the environment of srun alone. Neither side
//! sends it, so an address that leads to somebody else gives nothing away.

use std::cmp::Ordering;
use std::fmt;

use mpi_boot::hex;
use ring::hmac::{self, HMAC_SHA256};

use crate::failure::Failure;

/// What `mpirun` sends first.
pub(crate) const GREETING: &[u8] = b"\x01mpi-lite srun 1\n";
/// Length of a nonce, and of a proof.
pub(crate) const BLOCK: usize = 32;
/// The longest answer of an agent.
pub(super) const ANSWER_MAX: usize = 2 * BLOCK + 1 + 255;

/// What stands in front of what is proven.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Agent,
    Mpirun,
}

/// The secret of a job's agents; its bytes never show in debug output.
#[derive(Clone)]
pub(crate) struct Token([u8; BLOCK]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Random bytes. Returns a failure that names their purpose if the system has none.
pub(crate) fn random<const BYTES: usize>(purpose: &str) -> Result<[u8; BYTES], Failure> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::launch(format!("no random numbers for {purpose}: {error}")))?;
    Ok(bytes)
}

impl Token {
    /// A new one.
    pub(crate) fn new() -> Result<Token, Failure> {
        Ok(Token(random("a token")?))
    }

    /// The token that [`Token::text`] has written.
    pub(crate) fn parse(text: &str) -> Option<Token> {
        let mut bytes = [0; BLOCK];
        if text.len() != 2 * BLOCK || !text.is_ascii() {
            return None;
        }
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Token(bytes))
    }

    /// The token as hexadecimal digits.
    pub(crate) fn text(&self) -> String {
        hex(&self.0)
    }

    /// What this side sends to prove that it has the token.
    pub(crate) fn proof(&self, side: Side, nonces: &[u8], name: &str) -> [u8; BLOCK] {
        let mac = hmac::sign(&self.key(), &covered(side, nonces, name));
        mac.as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// Returns true if the other side has the token.
    pub(crate) fn is_proven(&self, side: Side, nonces: &[u8], name: &str, proof: &[u8]) -> bool {
        hmac::verify(&self.key(), &covered(side, nonces, name), proof).is_ok()
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(HMAC_SHA256, &self.0)
    }
}

fn covered(side: Side, nonces: &[u8], name: &str) -> Vec<u8> {
    let side: &[u8] = match side {
        Side::Agent => b"agent ",
        Side::Mpirun => b"mpirun ",
    };
    [side, nonces, name.as_bytes()].concat()
}

/// What an agent answers to the nonce `a`.
pub(crate) fn answer(token: &Token, a: &[u8], b: &[u8], name: &str) -> Vec<u8> {
    let proof = token.proof(Side::Agent, &[a, b].concat(), name);
    let length = u8::try_from(name.len()).unwrap_or(0);
    [b, &proof, &[length], name.as_bytes()].concat()
}

/// What `mpirun` makes of an answer to its nonce.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// More bytes must come.
    Incomplete,
    /// It is not an agent of the job.
    Stranger,
    /// The agent of this node, with what to send to it.
    Agent { node: String, reply: [u8; BLOCK] },
}

/// Checks an answer.
pub(super) fn judge(token: &Token, a: &[u8], answer: &[u8]) -> Verdict {
    let Some((head, [length, name @ ..])) = answer.split_at_checked(2 * BLOCK) else {
        return Verdict::Incomplete;
    };
    let (b, proof) = head.split_at(BLOCK);
    let nonces = [a, b].concat();
    match (
        name.len().cmp(&usize::from(*length)),
        std::str::from_utf8(name),
    ) {
        (Ordering::Less, _) => Verdict::Incomplete,
        // An agent sends nothing more before it has our proof.
        (Ordering::Greater, _) => Verdict::Stranger,
        (_, Ok(name)) if token.is_proven(Side::Agent, &nonces, name, proof) => Verdict::Agent {
            node: name.to_string(),
            reply: token.proof(Side::Mpirun, &nonces, name),
        },
        _ => Verdict::Stranger,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_with_the_token_is_known_by_its_node_and_no_other() {
        let token = Token::new().unwrap();
        let [a, b]: [[u8; BLOCK]; 2] = [(); 2].map(|()| random("a test").unwrap());
        let right = answer(&token, &a, &b, "n2");
        let Verdict::Agent { node, reply } = judge(&token, &a, &right) else {
            panic!("it has the token");
        };
        assert_eq!(node, "n2");
        let longer = [&right[..], b"x"].concat();
        assert_eq!(judge(&token, &a, &longer), Verdict::Stranger);
        assert!(token.is_proven(Side::Mpirun, &[a, b].concat(), "n2", &reply));
        for cut in 0..right.len() {
            assert_eq!(judge(&token, &a, &right[..cut]), Verdict::Incomplete);
        }
        for at in 0..right.len() {
            let mut wrong = right.clone();
            wrong[at] ^= 1;
            let is_known = matches!(judge(&token, &a, &wrong), Verdict::Agent { .. });
            assert!(!is_known, "byte {at}");
        }
        assert_eq!(judge(&token, &b, &right), Verdict::Stranger);
        let other = Token::new().unwrap();
        assert_eq!(judge(&other, &a, &right), Verdict::Stranger);
    }

    #[test]
    fn the_proof_of_one_side_is_none_of_the_other() {
        let token = Token::new().unwrap();
        let nonces = [1; 2 * BLOCK];
        let proof = token.proof(Side::Agent, &nonces, "n1");
        assert!(!token.is_proven(Side::Mpirun, &nonces, "n1", &proof));
    }

    #[test]
    fn a_token_survives_its_text_and_does_not_show() {
        let token = Token::new().unwrap();
        let again = Token::parse(&token.text()).unwrap();
        assert_eq!(again.text(), token.text());
        assert!(Token::parse("12").is_none());
        assert!(Token::parse(&"g".repeat(64)).is_none());
        assert!(!format!("{token:?}").contains(&token.text()));
    }
}
