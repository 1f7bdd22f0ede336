//! What engines say to each other, beside the program's messages: `withdraw` and `loss`.

use crate::engine::envelope::{Envelope, Flags};
use crate::engine::requests::request::Request;
use crate::error::Error;
use crate::ids::Context;
use crate::transport::{PeerId, Token};

/// A send that the program wants to take back, until its receiver refuses or the send is over.
/// Few programs ever want that, so these are in a list of their own: other sends carry nothing for
/// it, and finish with a look whether the list is empty.
#[derive(Clone, Debug)]
pub(crate) struct Withdrawal {
    pub(crate) token: Token,
    pub(crate) stage: Stage,
    /// The error of the send once it is withdrawn; without one it is cancelled.
    pub(crate) why: Option<Error>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The receiver was asked.
    Asked,
    /// The receiver was asked, and meanwhile the transport has finished.
    AskedAndSent,
    /// The receiver has dropped the message; the transport is still to finish.
    Granted,
}

/// A message of a peer's engine that has a body.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) from: PeerId,
    /// `QUESTION` or `GIVEN_UP`.
    pub(crate) says: u32,
    pub(crate) token: Token,
    /// Once it is here: the envelope of the message in question; the reason, in words.
    pub(crate) body: Vec<u8>,
}

/// The longest body of a letter, in bytes.
pub(crate) const LETTER_MOST: u64 = 400;

/// What a message of the engines says, in the envelope's source field. The tag field has the token
/// of the send in question.
pub(crate) const QUESTION: u32 = 0;
pub(crate) const MATCHED: u32 = 1;
pub(crate) const DROPPED: u32 = 2;
/// A process no longer answers: the token field has its rank in the world.
pub(crate) const LOST: u32 = 3;
/// Nothing; only whether it arrives matters.
pub(crate) const HELLO: u32 = 4;
/// A process completes no collective of a communicator any more: the token field has its context.
pub(crate) const GIVEN_UP: u32 = 5;

/// The envelope of a message of the engines.
pub(crate) fn word(says: u32, token: Token) -> Envelope {
    Envelope {
        context: Context::ENGINES,
        source: says,
        tag: token.0.cast_signed(),
        flags: Flags::default(),
    }
}

/// What follows from a loss. A process that finds a peer lost tells all others, since they may wait
/// for a process that has given up because of it. Nobody takes the loss on trust: a process that is
/// told of it says hello to the lost peer, and so finds out whether it has lost that peer too.
#[derive(Clone, Debug)]
pub(crate) enum Notice {
    /// All others are told that this peer is lost.
    Tell(PeerId),
    /// This peer is to show that it is not lost.
    Ask(PeerId),
    /// The message of this send is asked for back, as it may never be received; this is why.
    AskBack(Request, Error),
}
