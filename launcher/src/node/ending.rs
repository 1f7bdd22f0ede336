//! How the ranks of a node are signalled and ended.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpgid};

use super::rank::RankProcess;
use crate::signals;

/// Between the polite and the final signal when the job ends by itself, because a rank has failed.
/// What a user's signal ends gets the time of `--grace`.
pub(super) const GRACE: Duration = Duration::from_millis(250);

/// Between the polite and the final signal when a rank has aborted the job: it exits by itself, and
/// its output includes what its exit handlers write.
const LAST_WORDS_GRACE: Duration = Duration::from_secs(1);

/// What the ranks of a node have been sent for their end.
#[derive(Debug, Default)]
pub struct Ending {
    has_begun: bool,
    /// SIGTERM has been sent; SIGKILL follows at this time.
    kill_at: Option<Instant>,
    /// We stopped the ranks ourselves.
    is_paused: bool,
    /// This signal has told the ranks to end: what they leave behind shall end as well.
    told: Option<Signal>,
}

impl Ending {
    /// Returns true if the ranks are being ended before their time.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Returns true if the ranks were stopped by order.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Returns true if a signal has told the ranks to end.
    pub(super) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// When to kill the ranks.
    pub(super) fn kill_at(&self) -> Option<Instant> {
        self.kill_at
    }

    /// Ends all ranks, politely at first. A rank that has aborted the job is left to its own end.
    pub(super) fn begin(&mut self, ranks: &mut [RankProcess], now: Instant) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let is_exiting = |rank: &RankProcess| rank.aborts && rank.ended.is_none();
        let is_aborted = ranks.iter().any(is_exiting);
        let grace = if is_aborted { LAST_WORDS_GRACE } else { GRACE };
        self.kill_at = Some(now + grace);
        for rank in ranks {
            if !is_exiting(rank) {
                rank.signal_group(Signal::SIGTERM);
            }
            // A stopped process would not notice.
            rank.signal_group(Signal::SIGCONT);
        }
    }

    /// Returns true if a signal has told the ranks to end, and they or what they started have not
    /// done so yet. A shell ends before the program that it waits for, which may be saving.
    pub(super) fn leaves_time(&self, ranks: &mut [RankProcess]) -> bool {
        self.told.is_some()
            && !self.has_begun
            && ranks.iter_mut().any(RankProcess::has_group)
            && !self.is_unheard(ranks)
    }

    /// Returns true if the ranks have ended on SIGINT, and all that they have left ignores it: a
    /// shell starts so what it does not wait for. SIGTERM is another matter: it is ignored by what
    /// saves its state, so as to hear no second one.
    fn is_unheard(&self, ranks: &[RankProcess]) -> bool {
        if self.told != Some(Signal::SIGINT) || ranks.iter().any(|it| it.ended.is_none()) {
            return false;
        }
        let mut left = signals::children();
        left.retain(|child| {
            let group = getpgid(Some(*child));
            group.is_ok_and(|group| ranks.iter().any(|rank| rank.pid == group))
        });
        !left.is_empty() && left.into_iter().all(ignores_interrupt)
    }

    /// Ends all ranks and what they started, at once.
    pub(super) fn kill(&mut self, ranks: &mut [RankProcess]) {
        (self.has_begun, self.kill_at) = (true, None);
        for rank in ranks {
            rank.signal_group(Signal::SIGKILL);
        }
    }

    /// Passes a signal of the user on.
    pub(super) fn forward(
        &mut self,
        ranks: &mut [RankProcess],
        signal: i32,
        is_from_terminal: bool,
    ) {
        let Ok(signal) = Signal::try_from(signal) else {
            return;
        };
        let ends = matches!(signal, Signal::SIGINT | Signal::SIGTERM);
        if ends {
            self.told = Some(signal);
        }
        let signal = match signal {
            Signal::SIGTSTP => Signal::SIGSTOP,
            other => other,
        };
        if ends || matches!(signal, Signal::SIGSTOP | Signal::SIGCONT) {
            self.is_paused = signal == Signal::SIGSTOP;
        }
        for rank in ranks {
            match signal {
                Signal::SIGUSR1 | Signal::SIGUSR2 => rank.signal(signal),
                // The terminal's own group has it already.
                _ if is_from_terminal && !rank.has_own_group() => {}
                _ => rank.signal_group(signal),
            }
            if ends {
                // A stopped process would not notice.
                rank.signal_group(Signal::SIGCONT);
            }
        }
    }
}

fn ignores_interrupt(process: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (Signal::SIGINT as i32 - 1) & 1 == 1)
}
