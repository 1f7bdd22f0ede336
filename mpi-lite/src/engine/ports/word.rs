//! What the engines of a job report to each other and ask each other: the first service.

use super::head::Head;
use crate::engine::envelope::{Envelope, Flags};
use crate::ids::Context;
use crate::transport::{ENVELOPE_BYTES, EnvelopeBytes, Token};

/// A message of the engine's service. The source field of its envelope says which one; the tag
/// field has the number in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Word {
    /// The message with this envelope is asked for back, if no receive has matched it. The answer
    /// names the token. [`Withdrawals`](crate::engine::outbox) has the rules.
    Question(Token, EnvelopeBytes),
    /// The answer: a receive has matched it.
    Matched(Token),
    /// The answer: it is dropped.
    Dropped(Token),
    /// The process with this rank in the world answers no more.
    Lost(u32),
    /// Nothing; only whether it arrives matters.
    Hello,
    /// The sender completes no collective of this context any more.
    GivenUp(Context, Notice),
}

/// Why a process completes some collectives no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Notice {
    /// From this call on.
    pub(in crate::engine) from: u32,
    /// The number of the collective, in its place in the source of an envelope.
    pub(in crate::engine) number: u32,
    /// A message was longer than its place.
    pub(in crate::engine) is_truncated: bool,
    /// In words.
    pub(in crate::engine) why: String,
}

/// The longest reason, in bytes.
const WHY_MOST: usize = 391;

const QUESTION: u32 = 0;
const MATCHED: u32 = 1;
const DROPPED: u32 = 2;
const LOST: u32 = 3;
const HELLO: u32 = 4;
const GIVEN_UP: u32 = 5;

impl Word {
    /// The envelope and the body of the message.
    pub(in crate::engine) fn encode(&self) -> (Envelope, Vec<u8>) {
        let (kind, number, body) = match self {
            Self::Question(token, envelope) => (QUESTION, token.0, envelope.to_vec()),
            Self::Matched(token) => (MATCHED, token.0, Vec::new()),
            Self::Dropped(token) => (DROPPED, token.0, Vec::new()),
            Self::Lost(rank) => (LOST, *rank, Vec::new()),
            Self::Hello => (HELLO, 0, Vec::new()),
            Self::GivenUp(context, notice) => (GIVEN_UP, context.0, notice.encode()),
        };
        let envelope = Envelope {
            context: Context::SERVICE,
            source: kind,
            tag: number.cast_signed(),
            flags: Flags::default(),
        };
        (envelope, body)
    }

    /// The message that this is; `None` if it is nonsense from the network.
    pub(in crate::engine) fn decode(head: &Head) -> Option<Self> {
        let envelope = head.envelope();
        let number = envelope.tag.cast_unsigned();
        let token = Token(number);
        match envelope.source {
            QUESTION => {
                let asked: [u8; ENVELOPE_BYTES] = head.bytes().try_into().ok()?;
                Some(Self::Question(token, asked))
            }
            MATCHED => Some(Self::Matched(token)),
            DROPPED => Some(Self::Dropped(token)),
            LOST => Some(Self::Lost(number)),
            HELLO => Some(Self::Hello),
            GIVEN_UP => {
                let context = Context(number);
                let notice = Notice::decode(head.bytes())?;
                context
                    .is_collective()
                    .then_some(Self::GivenUp(context, notice))
            }
            _ => None,
        }
    }
}

impl Notice {
    fn encode(&self) -> Vec<u8> {
        let mut body = self.from.to_le_bytes().to_vec();
        body.extend_from_slice(&self.number.to_le_bytes());
        body.push(self.is_truncated.into());
        let is_end = |at: &usize| self.why.is_char_boundary(*at);
        let end = (0..=self.why.len().min(WHY_MOST)).rev().find(is_end);
        body.extend_from_slice(&self.why.as_bytes()[..end.unwrap_or(0)]);
        body
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (from, rest) = bytes.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (is_truncated, why) = rest.split_first()?;
        if why.len() > WHY_MOST {
            return None;
        }
        let why = String::from_utf8_lossy(why);
        Some(Self {
            from: u32::from_le_bytes(*from),
            number: u32::from_le_bytes(*number),
            is_truncated: *is_truncated != 0,
            why: why.chars().filter(|it| !it.is_control()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PeerId;

    fn notice(why: &str) -> Notice {
        Notice {
            from: 7,
            number: 3 << 24,
            is_truncated: true,
            why: why.to_owned(),
        }
    }

    fn come(word: &Word) -> Head {
        let (envelope, body) = word.encode();
        Head::new(PeerId(1), envelope, body)
    }

    #[test]
    fn a_word_survives_the_way() {
        let context = Context::WORLD.collective();
        for word in [
            Word::Question(Token(9), [7; ENVELOPE_BYTES]),
            Word::Matched(Token(u32::MAX)),
            Word::Dropped(Token(0)),
            Word::Lost(4),
            Word::Hello,
            Word::GivenUp(context, notice("it is über")),
        ] {
            assert_eq!(Word::decode(&come(&word)), Some(word));
        }
    }

    #[test]
    fn a_long_reason_is_cut_at_a_character() {
        let long = "ü".repeat(400);
        let word = Word::GivenUp(Context::WORLD.collective(), notice(&long));
        let Some(Word::GivenUp(_, notice)) = Word::decode(&come(&word)) else {
            panic!("it is one");
        };
        assert_eq!(notice.why, long[..WHY_MOST - 1]);
    }

    #[test]
    fn nonsense_is_no_word() {
        let (envelope, _) = Word::Question(Token(1), [0; ENVELOPE_BYTES]).encode();
        let short = Head::new(PeerId(1), envelope, vec![0; 3]);
        assert_eq!(Word::decode(&short), None);
        let unknown = Envelope {
            source: 99,
            ..envelope
        };
        assert_eq!(Word::decode(&Head::new(PeerId(1), unknown, vec![])), None);
        let (envelope, body) = Word::GivenUp(Context::WORLD, notice("x")).encode();
        let of_no_collective = Head::new(PeerId(1), envelope, body);
        assert_eq!(Word::decode(&of_no_collective), None);
    }
}
