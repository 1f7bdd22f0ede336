//! The receive machine (paper, Figure 4) as a table.
//!
//! ```text
//!            RTS, LAST_RTS in order                 NULL in order: MSGEND
//!  Init ------------- announce ------> Held  <-- GCH (rule H) --.   (Init stays Init)
//!   ^                                  | | |  ------------------' RTS, LAST_RTS again
//!   |               wanted, long: CTS[n] | |
//!   |            .---------------------' | | wanted, short: MSGEND
//!   |            v                       | '-------------------------.
//!   |        Receiving --DATA: place     |                           |
//!   |          |  | ^ |  STOP_DATA:      | not wanted:               |
//!   |          |  | '-'  place, CTS[n]   | MSGDROP                   |
//!   |          |  | RTS again: CTS       |                           |
//!   |          |  |                      |                           |
//!   |          |  | NULL: MSGEND, "aborted" (also from Held)         |
//!   |          |  '-----------------------------------------.        |
//!   |          | LAST_DATA: place, MSGEND|                  |        |
//!   |          '------------------------------------------. |        |
//!   |                                    v                v v        v
//!   |                                 Dropped              Ended
//!   |                                    | any repeat:       | any repeat:
//!   |                                    | MSGDROP           | MSGEND
//!   '------------ GCH, or rule P8, C ----'-------------------'
//!
//!  Fast: a first packet ahead of its turn: Init --> Early --its turn: announce--> Held (rule O).
//!  With cumulative acknowledgement nothing is remembered of an ended message: Ended and Dropped
//!  are left as soon as they are reached (rule K).
//! ```

/// Where an incoming message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// Nothing is known of it.
    Init,
    /// Kept until its turn comes (rule O).
    Early,
    /// Announced; it has not landed.
    Held,
    /// Granted; data is coming.
    Receiving,
    /// Answered with MSGEND.
    Ended,
    /// Answered with MSGDROP.
    Dropped,
}

/// An event of an incoming message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// RTS or LAST_RTS; in state Init: with the number expected next.
    Opener,
    /// The messages before it have come.
    Turn,
    /// The layer above accepts a message that came whole in its first packet.
    AcceptShort,
    /// The layer above accepts a message of which more is to come.
    AcceptLong,
    /// The layer above refuses it.
    Refuse,
    /// DATA, next in sequence.
    Data,
    /// STOP_DATA, next in sequence.
    StopData,
    /// LAST_DATA, next in sequence.
    LastData,
    /// Any data packet that is not next in sequence; in state Init: of a number not yet accepted.
    StrayData,
    /// NULL; in state Init: with the number expected next.
    Null,
    /// GCH from the sender.
    Gch,
}

/// The action that an event causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Consume the number and announce the message.
    Announce,
    /// Drop the packet, and report the numbers missing before it.
    TellGap,
    /// Number consumed; MSGEND.
    Consume,
    /// GCH towards the sender: known, answer later.
    Hint,
    /// CTS with a new grant.
    Grant,
    /// CTS with the grant it already has, if no data has come; with selective NAK whatever has
    /// come, and it names what is missing of the unscheduled data.
    GrantAgain,
    /// Place the data.
    Place,
    /// Place the data, CTS with a new grant.
    PlaceGrant,
    /// Place the data, send MSGEND, report the arrival.
    PlaceEnd,
    /// Send MSGEND, report the arrival.
    End,
    /// MSGDROP.
    Drop,
    /// Send MSGEND, report the abort.
    Abort,
    /// MSGEND once more.
    EndAgain,
    /// MSGDROP once more.
    DropAgain,
    /// Free the state.
    Forget,
}

/// The next state and what to do; `None`: unexpected, dropped (rule P14).
pub(crate) type Step = Option<(State, Action)>;

/// Figure 4, with `Held` between the first packet and the answer of the layer above.
// Rule P6. Rule P14. Rule H. Rule O.
pub(crate) fn step(state: State, input: Input) -> Step {
    use State::{Dropped, Early, Ended, Held, Init, Receiving};
    let repeat = matches!(
        input,
        Input::Opener
            | Input::Data
            | Input::StopData
            | Input::LastData
            | Input::StrayData
            | Input::Null
    );
    Some(match (state, input) {
        (Init, Input::Opener) => (Held, Action::Announce),
        (Init, Input::StrayData) => (Init, Action::TellGap),
        (Init, Input::Null) => (Init, Action::Consume),
        (Early, Input::Opener | Input::Null) => (Early, Action::TellGap),
        (Early, Input::Turn) => (Held, Action::Announce),
        (Held, Input::Opener) => (Held, Action::Hint),
        (Held, Input::AcceptShort) => (Ended, Action::End),
        (Held, Input::AcceptLong) => (Receiving, Action::Grant),
        (Held, Input::Refuse) => (Dropped, Action::Drop),
        (Held | Receiving, Input::Null) => (Ended, Action::Abort),
        (Receiving, Input::Opener) => (Receiving, Action::GrantAgain),
        (Receiving, Input::Data) => (Receiving, Action::Place),
        (Receiving, Input::StopData) => (Receiving, Action::PlaceGrant),
        (Receiving, Input::LastData) => (Ended, Action::PlaceEnd),
        (Ended, _) if repeat => (Ended, Action::EndAgain),
        (Dropped, _) if repeat => (Dropped, Action::DropAgain),
        (Ended | Dropped, Input::Gch) => (Init, Action::Forget),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_text::table;

    const STATES: [State; 6] = [
        State::Init,
        State::Early,
        State::Held,
        State::Receiving,
        State::Ended,
        State::Dropped,
    ];
    const INPUTS: [Input; 11] = [
        Input::Opener,
        Input::Turn,
        Input::AcceptShort,
        Input::AcceptLong,
        Input::Refuse,
        Input::Data,
        Input::StopData,
        Input::LastData,
        Input::StrayData,
        Input::Null,
        Input::Gch,
    ];

    #[test]
    fn rule_p6_the_receive_machine_is_this_table() {
        assert_eq!(table(&STATES, &INPUTS, step), include_str!("receive.table"));
    }
}
