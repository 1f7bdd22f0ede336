//! Time as the caller passes it in: nanoseconds since an origin of the caller's choice.

use core::hash::{Hash, Hasher};
use core::time::Duration;

/// A moment, in nanoseconds since the caller's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub u64);

// A word of its own kind, so that a hasher can distinguish moments from numbers: the explorer's
// takes them relative to the present.
impl Hash for Instant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from(self.0));
    }
}

impl Instant {
    /// The caller's origin.
    pub const ZERO: Self = Self(0);
    /// Later than every deadline: "no timer".
    pub const NEVER: Self = Self(u64::MAX);

    /// The moment `span` later; sticks at the end of time.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        self.plus_ns(nanoseconds(span))
    }

    /// The span from `earlier` to here; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The moment `span_ns` nanoseconds later; sticks at the end of time.
    #[must_use]
    pub fn plus_ns(self, span_ns: u64) -> Self {
        Self(self.0.saturating_add(span_ns))
    }
}

/// A span in whole nanoseconds; sticks at 584 years.
pub(crate) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
