//! The only reader of the clock.

pub use rmpp_core::Instant;

/// Nanoseconds since 1970, by the clock that all processes of a machine share.
#[must_use]
pub fn since_1970() -> u64 {
    let passed = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default();
    u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds since this process started to count. Copies count from the same origin.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this file reads the clock")]
    pub fn start() -> Self {
        Self {
            origin: std::time::Instant::now(),
        }
    }

    /// The time now.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Instant {
        let passed = self.origin.elapsed();
        Instant(passed.as_secs() * 1_000_000_000 + u64::from(passed.subsec_nanos()))
    }
}
