//! How long the other end of a connection has said nothing, and what that means.
//!
//! Both ends of the connection to another host give a sign of life in each period. TCP alone does
//! not notice a network that is cut: a reader would wait for ever.

use std::time::{Duration, Instant};

use crate::failure::{Failure, printable};

/// After this silence the other end counts as lost, unless `MPILITE_SILENT_S` says else. What runs
/// on a host that is cut off thus ends within fifteen seconds.
pub const LIMIT: Duration = Duration::from_secs(12);

/// Signs of life in the time of the limit: this many may be late before it matters.
const SIGNS_PER_LIMIT: u32 = 4;

/// The period where there is no limit.
const LONGEST_PERIOD: Duration = Duration::from_secs(5);

/// What `MPILITE_SILENT_S` says; `None`: never.
///
/// # Errors
///
/// A failure that shows the value if it is no number of seconds.
pub fn limit() -> Result<Option<Duration>, Failure> {
    let is_valid = |seconds| seconds == 0.0 || (0.1..=86_400.0).contains(&seconds);
    let limit = seconds_of("MPILITE_SILENT_S", is_valid, "0.1 to 86400, or 0: never")?;
    Ok(match limit {
        None => Some(LIMIT),
        Some(limit) => (!limit.is_zero()).then_some(limit),
    })
}

/// The time that a variable gives in seconds, if it is set. `range` says which values are valid.
pub(super) fn seconds_of(
    name: &str,
    is_valid: impl Fn(f64) -> bool,
    range: &str,
) -> Result<Option<Duration>, Failure> {
    let Some(setting) = std::env::var_os(name) else {
        return Ok(None);
    };
    let seconds = setting.to_str().and_then(|text| text.parse::<f64>().ok());
    match seconds.filter(|seconds| is_valid(*seconds)) {
        Some(seconds) => Ok(Some(Duration::from_secs_f64(seconds))),
        None => {
            let shown = printable(&setting.to_string_lossy());
            let what = format!("{name}={shown} is not a number of seconds ({range})");
            Err(Failure::usage(what))
        }
    }
}

/// The silence of the other end, as this process sees it.
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    limit: Option<Duration>,
    heard_at: Instant,
    looked_at: Instant,
}

impl Silence {
    /// Begins now. The owner calls [`Silence::look`] in each [`Silence::period`].
    pub fn new(limit: Option<Duration>, now: Instant) -> Silence {
        Silence {
            limit,
            heard_at: now,
            looked_at: now,
        }
    }

    /// After how much silence the other end is lost; `None`: never.
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// How often to give a sign of life, and to look for one.
    pub fn period(&self) -> Duration {
        let share = self.limit.map(|limit| limit / SIGNS_PER_LIMIT);
        share.map_or(LONGEST_PERIOD, |share| share.min(LONGEST_PERIOD))
    }

    /// When to look again.
    pub fn look_at(&self) -> Instant {
        self.looked_at + self.period()
    }

    /// The other end has said something.
    pub fn heard(&mut self, now: Instant) {
        self.heard_at = now;
        self.looked_at = now;
    }

    /// How long it has said nothing. After a time in which this process did not run, because it was
    /// stopped or its machine has too much to do, it begins anew: what came meanwhile is not read
    /// yet.
    pub fn look(&mut self, now: Instant) -> Duration {
        let gap = now.saturating_duration_since(self.looked_at);
        if gap > 2 * self.period() {
            self.heard_at = now;
        }
        self.looked_at = now;
        now.saturating_duration_since(self.heard_at)
    }

    /// Returns true if it has said nothing for too long.
    pub fn is_too_long(&mut self, now: Instant) -> bool {
        let silence = self.look(now);
        self.limit.is_some_and(|limit| silence >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silence(limit_s: u64) -> (Silence, Instant) {
        let now = Instant::now();
        (Silence::new(Some(Duration::from_secs(limit_s)), now), now)
    }

    #[test]
    fn a_silent_end_is_lost_after_the_limit_and_not_before() {
        let (mut silence, start) = silence(12);
        let mut now = start;
        while now + silence.period() < start + Duration::from_secs(12) {
            now = silence.look_at();
            assert!(!silence.is_too_long(now));
        }
        assert!(silence.is_too_long(start + Duration::from_secs(12)));
    }

    #[test]
    fn a_sign_of_life_starts_the_limit_anew() {
        let (mut silence, start) = silence(12);
        for second in 1..100 {
            let now = start + Duration::from_secs(second);
            assert!(!silence.is_too_long(now));
            if second % 11 == 0 {
                silence.heard(now);
            }
        }
    }

    #[test]
    fn time_in_which_one_was_stopped_oneself_is_not_held_against_the_other() {
        let (mut silence, start) = silence(12);
        silence.look(start + Duration::from_secs(3));
        let woken = start + Duration::from_secs(1000);
        assert!(!silence.is_too_long(woken));
        // From now on it counts again.
        let mut now = woken;
        while !silence.is_too_long(now) {
            now += Duration::from_secs(1);
        }
        assert!(now.duration_since(woken) <= Duration::from_secs(12));
    }

    #[test]
    fn without_a_limit_nobody_is_lost() {
        let now = Instant::now();
        let mut silence = Silence::new(None, now);
        for second in (0..86_400).step_by(5) {
            assert!(!silence.is_too_long(now + Duration::from_secs(second)));
        }
    }
}
