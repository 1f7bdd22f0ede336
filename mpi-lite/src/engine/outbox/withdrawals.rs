//! Sends that the program takes back. Source: MPI 5.0, 3.8.4. Decision 0031.
//!
//! Only the receiver knows whether a message is matched. So the sender asks, by a message of the
//! engine's service whose body is the envelope of the message in question. It goes the same way as
//! that message and arrives after it. The receiver takes an unmatched message out of its queue,
//! lets its body land nowhere, so that the transport finishes as always, and answers.
//!
//! The send is over when both have come, the transport's `sent` and the answer, in any order. It is
//! cancelled or complete, as the answer says. Source: MPI 5.0, 3.8.4 (either, never both).

use crate::error::Error;
use crate::transport::Token;

/// A send that the program wants to take back, until its receiver refuses or the send is over.
/// Few programs ever want that, so these are in a list of their own: other sends carry nothing for
/// it, and finish with a look whether the list is empty.
#[derive(Debug)]
struct Withdrawal {
    token: Token,
    awaits: Awaits,
    /// The error of the send once it is withdrawn; without one it is cancelled.
    why: Option<Error>,
}

/// What it waits for, once the receiver is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaits {
    /// The receiver's answer, and that the transport has finished.
    Both,
    /// The receiver's answer.
    Answer,
    /// That the transport has finished: the receiver has dropped the message.
    Transport,
}

/// What follows for a send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Verdict {
    /// Nothing yet.
    Pending,
    /// It is complete.
    Complete,
    /// It is cancelled.
    Cancelled,
    /// It has failed.
    Failed(Error),
}

/// The sends that are taken back.
#[derive(Debug, Default)]
pub(super) struct Withdrawals(Vec<Withdrawal>);

impl Withdrawals {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place(&self, token: Token) -> Option<usize> {
        self.0.iter().position(|it| it.token == token)
    }

    /// Enters a send. Returns true if its receiver is to be asked: it was not asked before.
    pub(super) fn enter(&mut self, token: Token, why: Option<Error>) -> bool {
        let is_new = self.place(token).is_none();
        if is_new {
            let awaits = Awaits::Both;
            self.0.push(Withdrawal { token, awaits, why });
        }
        is_new
    }

    /// The send is over, or can only end as if nobody had asked: its token is free for another one.
    pub(super) fn forget(&mut self, token: Token) {
        self.0.retain(|it| it.token != token);
    }

    /// The transport has finished a send.
    pub(super) fn note_sent(&mut self, token: Token) -> Verdict {
        let Some(place) = self.place(token) else {
            return Verdict::Complete;
        };
        match self.0[place].awaits {
            Awaits::Both | Awaits::Answer => {
                self.0[place].awaits = Awaits::Answer;
                Verdict::Pending
            }
            Awaits::Transport => self.end(place),
        }
    }

    /// The receiver has answered. It may answer what it was not asked.
    pub(super) fn note_answer(&mut self, token: Token, is_dropped: bool) -> Verdict {
        let Some(place) = self.place(token) else {
            return Verdict::Pending;
        };
        match (self.0[place].awaits, is_dropped) {
            (Awaits::Both, true) => {
                self.0[place].awaits = Awaits::Transport;
                Verdict::Pending
            }
            (Awaits::Both, false) => {
                self.forget(token);
                Verdict::Pending
            }
            (Awaits::Answer, true) => self.end(place),
            (Awaits::Answer, false) => {
                self.forget(token);
                Verdict::Complete
            }
            // It has answered before.
            (Awaits::Transport, _) => Verdict::Pending,
        }
    }

    /// The message of the withdrawal at `place` was withdrawn, and the transport has finished.
    fn end(&mut self, place: usize) -> Verdict {
        match self.0.remove(place).why {
            None => Verdict::Cancelled,
            Some(error) => Verdict::Failed(error),
        }
    }

    /// The sends of which only the answer is missing.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = Token> {
        let unanswered = self.0.iter();
        let unanswered = unanswered.filter(|asked| asked.awaits == Awaits::Answer);
        unanswered.map(|asked| asked.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;

    const TOKEN: Token = Token(3);

    #[test]
    fn a_send_ends_once_when_both_the_transport_and_the_receiver_have_said_so() {
        for is_sent_first in [false, true] {
            for is_dropped in [false, true] {
                let mut asked = Withdrawals::default();
                assert!(asked.enter(TOKEN, None));
                assert!(!asked.enter(TOKEN, None), "it is asked for once");
                let (first, second) = if is_sent_first {
                    let first = asked.note_sent(TOKEN);
                    (first, asked.note_answer(TOKEN, is_dropped))
                } else {
                    let first = asked.note_answer(TOKEN, is_dropped);
                    (first, asked.note_sent(TOKEN))
                };
                assert_eq!(first, Verdict::Pending);
                let expected = match is_dropped {
                    true => Verdict::Cancelled,
                    false => Verdict::Complete,
                };
                assert_eq!(second, expected);
                assert!(asked.is_empty());
            }
        }
    }

    #[test]
    fn a_withdrawn_send_fails_with_its_reason() {
        let mut asked = Withdrawals::default();
        let why = Error::from(Cause::Message);
        asked.enter(TOKEN, Some(why.clone()));
        assert_eq!(asked.note_sent(TOKEN), Verdict::Pending);
        assert_eq!(asked.unanswered().collect::<Vec<_>>(), [TOKEN]);
        assert_eq!(asked.note_answer(TOKEN, true), Verdict::Failed(why));
    }

    #[test]
    fn an_answer_to_no_question_changes_nothing() {
        let mut asked = Withdrawals::default();
        assert_eq!(asked.note_answer(TOKEN, true), Verdict::Pending);
        assert_eq!(asked.note_sent(TOKEN), Verdict::Complete);
        asked.enter(TOKEN, None);
        asked.note_answer(TOKEN, true);
        assert_eq!(asked.note_answer(TOKEN, false), Verdict::Pending);
        assert_eq!(asked.note_sent(TOKEN), Verdict::Cancelled);
    }
}
