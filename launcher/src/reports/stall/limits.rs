//! How large the state of a rank may be: a longer one is not from our library.

use mpi_boot::protocol::encode;
use mpi_boot::state::{
    COMMUNICATORS_MAX, FRAMES_MAX, LISTED_MAX, RUNS_MAX, RankState, STATE_MAX, THREADS_MAX,
};

/// The longest state in bytes with the program lines that the launcher of its host has added.
pub const WITH_LINES_MAX: usize = 4 * STATE_MAX;

/// Checks a state that is to have at most so many bytes: [`STATE_MAX`] as a rank sends it to its
/// launcher, [`WITH_LINES_MAX`] as another host reports it.
///
/// # Errors
///
/// What is too long, in words that follow the name of the rank.
pub fn check(state: &RankState, bytes_max: usize) -> Result<(), String> {
    let at_most = |what: &str, number: usize, most: usize| match number > most {
        true => Err(format!("described {number} {what} ({most} at most)")),
        false => Ok(()),
    };
    at_most("threads", state.threads.len(), THREADS_MAX)?;
    at_most("messages", state.unexpected.len(), LISTED_MAX)?;
    at_most("receives", state.awaited.len(), LISTED_MAX)?;
    at_most(
        "communicators",
        state.communicators.len(),
        COMMUNICATORS_MAX,
    )?;
    for thread in &state.threads {
        at_most("operations", thread.operations.len(), LISTED_MAX)?;
        at_most("frames", thread.frames.len(), FRAMES_MAX)?;
    }
    for communicator in &state.communicators {
        at_most("runs of ranks", communicator.members.len(), RUNS_MAX)?;
    }
    // What cannot be encoded is longer than a frame.
    let bytes = encode(state).map_or(usize::MAX, |frame| frame.len());
    at_most("bytes", bytes, bytes_max)
}

/// Drops what is beyond the limits, and counts it.
pub(super) fn cut(state: &mut RankState) {
    let threads = shorten(&mut state.threads, THREADS_MAX);
    let threads = u32::try_from(threads).unwrap_or(u32::MAX);
    state.threads_left_out = state.threads_left_out.saturating_add(threads);
    for thread in &mut state.threads {
        let operations = shorten(&mut thread.operations, LISTED_MAX);
        thread.left_out = thread.left_out.saturating_add(operations);
    }
    let unexpected = shorten(&mut state.unexpected, LISTED_MAX);
    state.unexpected_left_out = state.unexpected_left_out.saturating_add(unexpected);
    shorten(&mut state.awaited, LISTED_MAX);
    shorten(&mut state.communicators, COMMUNICATORS_MAX);
    for communicator in &mut state.communicators {
        shorten(&mut communicator.members, RUNS_MAX);
    }
}

/// Returns how much it has dropped.
fn shorten<T>(list: &mut Vec<T>, most: usize) -> u64 {
    let beyond = list.len().saturating_sub(most);
    list.truncate(most);
    beyond as u64
}

#[cfg(test)]
mod tests {
    use mpi_boot::state::{Address, CommunicatorState, Operation, Run, ThreadState};

    use super::*;

    #[test]
    fn a_state_at_the_limits_is_right_and_one_more_of_anything_is_not() {
        let state = |threads, operations, frames, communicators, runs| {
            let run = Run {
                first: 0,
                step: 1,
                count: 1,
            };
            let thread = ThreadState {
                operations: vec![Operation::Job; operations],
                frames: vec![Address::default(); frames],
                ..ThreadState::default()
            };
            let communicator = CommunicatorState {
                members: vec![run; runs],
                ..CommunicatorState::default()
            };
            RankState {
                threads: vec![thread; threads],
                communicators: vec![communicator; communicators],
                ..RankState::default()
            }
        };
        let most = [
            THREADS_MAX,
            LISTED_MAX,
            FRAMES_MAX,
            COMMUNICATORS_MAX,
            RUNS_MAX,
        ];
        let of = |n: [usize; 5]| state(n[0], n[1], n[2], n[3], n[4]);
        assert_eq!(check(&of(most), STATE_MAX), Ok(()));
        for place in 0..most.len() {
            let mut more = most;
            more[place] += 1;
            assert!(check(&of(more), STATE_MAX).is_err(), "{place}");
        }
    }

    #[test]
    fn a_long_state_is_refused_and_a_host_may_add_lines() {
        let state = |bytes| RankState {
            last_call: "x".repeat(bytes),
            ..RankState::default()
        };
        assert!(check(&state(STATE_MAX), STATE_MAX).is_err());
        assert_eq!(check(&state(STATE_MAX), WITH_LINES_MAX), Ok(()));
        assert!(check(&state(WITH_LINES_MAX), WITH_LINES_MAX).is_err());
    }
}
