//! The line about hosts that are slow to start.

use std::time::{Duration, Instant};

use crate::failure::printable;

/// How often it is printed at most.
const PERIOD: Duration = Duration::from_secs(10);
/// The most hosts that it names.
const NAMED_MAX: usize = 3;

/// A host that is not ready.
#[derive(Debug, Clone, Copy)]
pub struct Late<'a> {
    /// Its name.
    pub host: &'a str,
    /// What the last attempt has met.
    pub reason: &'static str,
    /// The user has read a line about it already.
    pub is_announced: bool,
}

/// When the next line is due.
#[derive(Debug)]
pub struct Progress {
    period: Duration,
    due_at: Option<Instant>,
}

impl Progress {
    /// The lines about hosts that have so much time: if it is more than a second, there is one
    /// before its end.
    pub fn new(ready_within: Duration) -> Progress {
        Progress {
            period: (ready_within * 2 / 3).clamp(PERIOD / 10, PERIOD),
            due_at: None,
        }
    }

    /// When [`Progress::line`] may have something to say.
    pub fn wake_at(&self) -> Option<Instant> {
        self.due_at
    }

    /// There is nothing more to wait for.
    pub fn stop(&mut self) {
        self.due_at = None;
    }

    /// The line, if it is time for one.
    pub fn line(&mut self, late: &[Late<'_>], hosts: usize, now: Instant) -> Option<String> {
        let due_at = *self.due_at.get_or_insert(now + self.period);
        if now < due_at {
            return None;
        }
        self.due_at = Some(now + self.period);
        if late.iter().all(|late| late.is_announced) {
            return None;
        }
        let named = late.iter().take(NAMED_MAX);
        let named = named.map(|late| format!("{} ({})", printable(late.host), late.reason));
        let mut named: Vec<String> = named.collect();
        if late.len() > NAMED_MAX {
            named.push(format!("{} more", late.len() - NAMED_MAX));
        }
        let ready = hosts - late.len();
        let are = if ready == 1 { "is" } else { "are" };
        Some(format!(
            "{ready} of {hosts} hosts {are} ready; waiting for {}",
            named.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Late<'_> = Late {
        host: "n4",
        reason: "cannot be resolved",
        is_announced: false,
    };

    #[test]
    fn a_line_comes_every_ten_seconds_and_names_some_hosts() {
        let mut progress = Progress::new(3 * PERIOD);
        let start = Instant::now();
        let mut at =
            |second, late: &[Late<'_>]| progress.line(late, 8, start + Duration::from_secs(second));
        assert_eq!(at(0, &[LATE]), None);
        assert_eq!(at(9, &[LATE]), None);
        let words = "7 of 8 hosts are ready; waiting for n4 (cannot be resolved)";
        assert_eq!(at(10, &[LATE]).as_deref(), Some(words));
        assert_eq!(at(19, &[LATE]), None);
        let line = at(20, &[LATE; 7]).unwrap();
        assert!(line.starts_with("1 of 8 hosts is ready; "), "{line}");
        assert!(line.ends_with("(cannot be resolved), 4 more"), "{line}");
    }

    #[test]
    fn hosts_with_little_time_are_shown_before_its_end() {
        let mut progress = Progress::new(Duration::from_secs(3));
        let start = Instant::now();
        let mut at = |second| progress.line(&[LATE], 2, start + Duration::from_secs(second));
        assert_eq!([0, 1].map(&mut at), [None, None]);
        assert!(at(2).is_some() && at(3).is_none());
    }

    #[test]
    fn hosts_that_have_a_line_of_their_own_are_no_reason_for_one() {
        let mut progress = Progress::new(3 * PERIOD);
        let start = Instant::now();
        let announced = Late {
            is_announced: true,
            ..LATE
        };
        progress.line(&[announced], 2, start);
        let later = start + PERIOD;
        assert_eq!(progress.line(&[announced], 2, later), None);
        assert!(
            progress
                .line(&[announced, LATE], 3, later + PERIOD)
                .is_some()
        );
    }
}
