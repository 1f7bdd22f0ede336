//! How many bytes of unexpected messages a rank has taken in, and how many it may. Decision 0034.

use std::time::Duration;

use crate::config::Settings;

/// A wait of this length may last for ever. It is longer than a sender on a busy machine takes to
/// send a requested body, and short enough to be lost once in each flood.
pub(crate) const LONG_WAIT: Duration = Duration::from_millis(20);

/// The unexpected messages that are taken in, and how much room is left.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) bytes: u64,
    /// The senders must keep their bodies: there is little room left.
    pub(crate) is_full: bool,
    /// The larger budget counts.
    pub(crate) is_wide: bool,
    /// Something was left with its sender, since there was no room.
    pub(crate) has_refused: bool,
    /// The warning that no budget suffices was printed.
    pub(crate) is_told: bool,
}

impl Taken {
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if the senders must keep their bodies: there is little room left.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns true if a thread that waits for long should ask for more room.
    #[inline]
    pub(crate) fn wants_room(&self) -> bool {
        self.has_refused && !(self.is_wide && self.is_told)
    }

    pub(crate) fn budget(&self, settings: &Settings) -> u64 {
        if self.is_wide {
            widest(settings)
        } else {
            settings.unexpected_budget_bytes
        }
    }

    pub(crate) fn room(&self, settings: &Settings) -> u64 {
        self.budget(settings).saturating_sub(self.bytes)
    }
}

/// Returns the largest budget of a rank, in bytes.
pub(crate) fn widest(settings: &Settings) -> u64 {
    let Settings {
        unexpected_budget_bytes,
        waiting_budget_bytes,
        ..
    } = *settings;
    waiting_budget_bytes.max(unexpected_budget_bytes)
}
