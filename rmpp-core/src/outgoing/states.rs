//! The two send machines (paper, Figures 2 and 3) as tables.
//!
//! ```text
//!  short (Figure 2)                          long (Figure 3)
//!
//!  Waiting                                   Waiting
//!     | LAST_RTS sent                           | RTS sent
//!     v                                         v
//!  Pending --GCH--> Held                     Pending --GCH--> Held
//!     | ^ timer: LAST_RTS  |                    | ^ timer: RTS   |
//!     | '--'               |                    | '--'           |
//!     |<-------------------'                    |<---------------'
//!     | MSGEND, MSGDROP: send GCH               | CTS[n]
//!     v                                         v
//!  Closed                                    Granted: DATA ... DATA <----------.
//!                                               |            |                 |
//!                                               | STOP_DATA  | LAST_DATA       |
//!                                               v            v                 |
//!                                            Blocked       Closing             |
//!                                               | CTS[n]     | timer: again    |
//!                                               | or timer:  | from 1          |
//!                                               | from 1     |                 |
//!                                               '------------'-----------------'
//!                                            any of these --MSGEND, MSGDROP: send GCH--> Closed
//!
//!  both: abort --> Aborting: NULL instead of each retry --MSGEND, MSGDROP: send GCH--> Closed
//! ```
//!
//! `Held` is ours (rule H); a paper-conformant receiver never leads there.

/// Where an outgoing message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// First packet not yet sent.
    Waiting,
    /// First packet sent, no answer.
    Pending,
    /// The receiver holds it and will answer later.
    Held,
    /// Sending a granted block.
    Granted,
    /// Block sent, next CTS awaited.
    Blocked,
    /// All sent, MSGEND awaited.
    Closing,
    /// Given up; NULL goes out until it is answered.
    Aborting,
    /// Over.
    Closed,
}

/// An event of an outgoing message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// First packet (or the NULL in its place) handed to the layer below.
    OpenerSent,
    /// STOP_DATA handed to the layer below.
    BlockSent,
    /// LAST_DATA handed to the layer below.
    LastSent,
    /// A CTS that grants what comes next (rule B has been checked).
    Cts,
    /// The cumulative acknowledgement has passed it (rule K).
    Accepted,
    /// MSGEND.
    End,
    /// MSGDROP.
    Drop,
    /// GCH from the receiver.
    Hint,
    /// Its timer.
    Timeout,
    /// The layer above gives it up.
    Abort,
}

/// The action that an event causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing more.
    Nothing,
    /// Set the timer.
    Arm,
    /// Send the first packet (or NULL) again.
    Repeat,
    /// Remember that the receiver holds it.
    Hold,
    /// Send the granted block.
    SendBlock,
    /// Send data packet 1 again, as a block of its own.
    Restart,
    /// Send the last data packet again, to learn what is missing.
    Probe,
    /// Send NULL.
    SendNull,
    /// Send GCH; report that it was received.
    Complete,
    /// Send GCH; report that it was refused.
    Refuse,
    /// Send GCH; report that the abort is finished.
    Cancel,
}

/// The next state and what to do; `None`: unexpected, dropped (rule P14).
pub(crate) type Step = Option<(State, Action)>;

/// Figure 2.
// Rule P3. Rule P14. Rule K.
pub(crate) fn short(state: State, input: Input) -> Step {
    use State::{Aborting, Closed, Held, Pending, Waiting};
    Some(match (state, input) {
        (Waiting | Pending, Input::OpenerSent) => (Pending, Action::Arm),
        (Held, Input::OpenerSent) => (Held, Action::Nothing),
        (Pending | Held, Input::Timeout) => (state, Action::Repeat),
        (Pending, Input::Hint) => (Held, Action::Hold),
        (Held, Input::Hint) => (Held, Action::Nothing),
        (Pending, Input::Accepted) => (Closed, Action::Complete),
        (Pending | Held, Input::End) => (Closed, Action::Complete),
        (Pending | Held, Input::Drop) => (Closed, Action::Refuse),
        (Waiting | Pending | Held, Input::Abort) => (Aborting, Action::SendNull),
        (Aborting, Input::OpenerSent) => (Aborting, Action::Arm),
        (Aborting, Input::Timeout) => (Aborting, Action::Repeat),
        (Aborting, Input::End | Input::Drop) => (Closed, Action::Cancel),
        _ => return None,
    })
}

/// Figure 3; where it is like Figure 2, it is Figure 2.
// Rule P5. Rule P14.
pub(crate) fn long(state: State, input: Input) -> Step {
    use State::{Aborting, Blocked, Closed, Closing, Granted, Held, Pending};
    Some(match (state, input) {
        (Pending | Held | Blocked, Input::Cts) => (Granted, Action::SendBlock),
        (Granted, Input::BlockSent) => (Blocked, Action::Arm),
        (Granted, Input::LastSent) => (Closing, Action::Arm),
        (Blocked | Closing, Input::Timeout) => (Granted, Action::Restart),
        (Granted | Blocked | Closing, Input::End) => (Closed, Action::Complete),
        (Granted | Blocked | Closing, Input::Drop) => (Closed, Action::Refuse),
        (Granted | Blocked | Closing, Input::Abort) => (Aborting, Action::SendNull),
        (_, Input::Accepted) => return None,
        _ => return short(state, input),
    })
}

/// The machine of a long message whose grants come before the last one is used up (rule W).
pub(crate) fn pipelined(state: State, input: Input) -> Step {
    match (state, input) {
        (State::Granted, Input::Cts) => Some((State::Granted, Action::SendBlock)),
        _ => long(state, input),
    }
}

/// A long message with selective NAK: nothing is ever begun anew, so being granted is one state.
/// `BlockSent` and `LastSent` mean that nothing more may be sent now.
///
/// ```text
///  Waiting
///     | RTS sent
///     v
///  Pending: unscheduled data --GCH--> Held
///     | | ^ timer: RTS                  |
///     | | '--'                          |
///     | '-------------.  .--------------'
///     | acknowledged  |  | CTS
///     v               v  v
///    Granted: data, what is missing first
///     | ^ nothing more to send: timer: the last data again, PROBE
///     | '--'
///     | MSGEND, MSGDROP
///     v
///  Closed        abort as above
/// ```
// Rule R. Rule U.
pub(crate) fn selective(state: State, input: Input) -> Step {
    use State::{Aborting, Closed, Granted, Held, Pending};
    Some(match (state, input) {
        (Pending | Held | Granted, Input::Cts) | (Pending, Input::Accepted) => {
            (Granted, Action::SendBlock)
        }
        (Pending, Input::BlockSent | Input::LastSent) => (Pending, Action::Nothing),
        (Granted, Input::BlockSent | Input::LastSent) => (Granted, Action::Arm),
        (Granted, Input::OpenerSent) => (Granted, Action::Arm),
        (Granted, Input::Timeout) => (Granted, Action::Probe),
        (Granted, Input::End) => (Closed, Action::Complete),
        (Granted, Input::Drop) => (Closed, Action::Refuse),
        (Granted, Input::Abort) => (Aborting, Action::SendNull),
        _ => return short(state, input),
    })
}

/// The machine of a message that goes wholly unscheduled: the acknowledgement passes it only when
/// all of it has come.
// Rule K. Rule U.
pub(crate) fn unscheduled(state: State, input: Input) -> Step {
    match (state, input) {
        (State::Pending, Input::Accepted) => short(state, input),
        _ => selective(state, input),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::table_text::table;

    type Arrow = (State, Input);

    const STATES: [State; 8] = [
        State::Waiting,
        State::Pending,
        State::Held,
        State::Granted,
        State::Blocked,
        State::Closing,
        State::Aborting,
        State::Closed,
    ];
    const INPUTS: [Input; 10] = [
        Input::OpenerSent,
        Input::BlockSent,
        Input::LastSent,
        Input::Cts,
        Input::Accepted,
        Input::End,
        Input::Drop,
        Input::Hint,
        Input::Timeout,
        Input::Abort,
    ];

    #[test]
    fn rule_p3_the_short_send_machine_is_this_table() {
        assert_eq!(table(&STATES, &INPUTS, short), include_str!("short.table"));
    }

    #[test]
    fn rule_p5_the_long_send_machine_is_this_table() {
        assert_eq!(table(&STATES, &INPUTS, long), include_str!("long.table"));
    }

    fn different(one: fn(State, Input) -> Step, other: fn(State, Input) -> Step) -> Vec<Arrow> {
        STATES
            .iter()
            .flat_map(|&state| INPUTS.map(|input| (state, input)))
            .filter(|&(state, input)| one(state, input) != other(state, input))
            .collect()
    }

    #[test]
    fn rule_w_pipelining_adds_one_arrow() {
        assert_eq!(different(long, pipelined), [(State::Granted, Input::Cts)]);
    }

    #[test]
    fn rule_k_a_wholly_unscheduled_message_is_ended_by_its_number() {
        let accepted = (State::Pending, Input::Accepted);
        assert_eq!(different(selective, unscheduled), [accepted]);
        let ended = Some((State::Closed, Action::Complete));
        assert_eq!(unscheduled(accepted.0, accepted.1), ended);
    }

    #[test]
    fn rule_r_the_selective_send_machine_is_this_table() {
        assert_eq!(
            table(&STATES, &INPUTS, selective),
            include_str!("selective.table")
        );
    }
}
