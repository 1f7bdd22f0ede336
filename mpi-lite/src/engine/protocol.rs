//! Eager or rendezvous: the decisions of sender and receiver, as pure functions.

use crate::config::Settings;
use crate::ids::Mode;

/// How a send completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// At once: the engine keeps a copy (eager).
    Copied,
    /// When the transport reports that the body is with its receiver.
    Delivered,
}

/// Returns how many bytes a copy of `len` bytes counts in the budget: with its records, as
/// measured. Source: decision 0034.
#[must_use]
pub fn kept_by_copy(len: u64) -> u64 {
    len + 320
}

/// Returns how many bytes an unexpected message of `len` bytes counts in the budget: with its
/// records, as measured. Source: decision 0034.
#[must_use]
pub fn kept_unexpected(len: u64) -> u64 {
    len + 160
}

/// Returns up to how many bytes a standard send is copied. `is_waited_for`: the call waits for it,
/// and it goes over a network.
#[must_use]
pub fn copied_most(is_waited_for: bool, settings: &Settings) -> u64 {
    if is_waited_for {
        settings.eager_copy_bytes.max(settings.waited_copy_bytes)
    } else {
        settings.eager_copy_bytes
    }
}

/// Returns when a send of `len` bytes is complete. It is copied up to `most` bytes, unless the
/// `kept` bytes of copies that already wait leave no room.
#[must_use]
pub fn completion(
    mode: Mode,
    (len, most): (u64, u64),
    kept: u64,
    settings: &Settings,
) -> Completion {
    let fits = len <= most && kept + kept_by_copy(len) <= settings.eager_budget_bytes;
    match mode {
        Mode::Buffered => Completion::Copied,
        Mode::Standard | Mode::Ready if fits => Completion::Copied,
        Mode::Standard | Mode::Ready | Mode::Synchronous => Completion::Delivered,
    }
}

/// What happens to a message that no receive waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmatched {
    /// The body is taken in (eager).
    TakeIn,
    /// The body waits at the sender for its receive (rendezvous).
    Wait,
}

/// Returns what happens to the body of an unexpected message of `len` bytes, while the budget has
/// `room` left. A synchronous one always waits, because its sender completes at the match.
#[must_use]
pub fn unmatched(synchronous: bool, len: u64, room: u64, settings: &Settings) -> Unmatched {
    let fits = kept_unexpected(len) <= room;
    if fits && is_buffered(synchronous, len, settings) {
        Unmatched::TakeIn
    } else {
        Unmatched::Wait
    }
}

/// Returns true if the body of an unexpected message of `len` bytes is taken in if there is room.
#[must_use]
pub fn is_buffered(synchronous: bool, len: u64, settings: &Settings) -> bool {
    len <= settings.unexpected_bytes && !synchronous
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synchronous_send_is_never_complete_before_its_match() {
        let settings = Settings::default();
        assert_eq!(
            completion(Mode::Synchronous, (0, 16), 0, &settings),
            Completion::Delivered
        );
        assert_eq!(unmatched(true, 0, u64::MAX, &settings), Unmatched::Wait);
    }

    #[test]
    fn a_send_that_would_wait_for_an_acknowledgement_copies_more() {
        let mut settings = Settings::default();
        let choice = |len, is_waited_for, settings: &Settings| {
            let lens = (len, copied_most(is_waited_for, settings));
            completion(Mode::Standard, lens, 0, settings)
        };
        let default = [(16_384, 16_385), (65_536, 65_537)];
        for (is_waited_for, (copied, delivered)) in [false, true].into_iter().zip(default) {
            let choice = |len| choice(len, is_waited_for, &settings);
            assert_eq!(choice(copied), Completion::Copied);
            assert_eq!(choice(delivered), Completion::Delivered);
        }
        settings.eager_copy_bytes = 100_000;
        assert_eq!(choice(100_000, true, &settings), Completion::Copied);
    }

    #[test]
    fn memory_for_copies_and_for_unexpected_messages_is_bounded() {
        let settings = Settings::default();
        let full = settings.eager_budget_bytes;
        assert_eq!(
            completion(Mode::Standard, (8, 16), full, &settings),
            Completion::Delivered
        );
        assert_eq!(
            completion(Mode::Standard, (8, 16), full - kept_by_copy(8), &settings),
            Completion::Copied
        );
        assert_eq!(unmatched(false, 8, 0, &settings), Unmatched::Wait);
        let room = kept_unexpected(8);
        assert_eq!(unmatched(false, 8, room - 1, &settings), Unmatched::Wait);
        assert_eq!(unmatched(false, 8, room, &settings), Unmatched::TakeIn);
    }
}
