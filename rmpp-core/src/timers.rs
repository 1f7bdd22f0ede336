//! How long to wait for an answer (rule T).

use crate::config::Config;
use crate::rng::Rng;
use crate::time::{Instant, nanoseconds};

/// No sample counts for more.
const LONGEST_NS: u64 = 4_000_000_000;

/// An estimate begins with at most this much: few networks take longer, but a peer that sleeps may.
const FIRST_NS: u64 = 2_000_000_000;

/// A sample counts for at most so much more than the least of the last ones: a peer that computes
/// answers late.
const LATENESS_NS: u64 = 4_000_000;

/// After this many samples the least one is taken of these alone: a path may have become longer.
const PERIOD: u8 = 16;

/// This many answers that came much too soon, and no sample, show that a path has become shorter.
const EARLY: u8 = 8;

/// The estimate of the round trip of a path (RFC 6298, 2), in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    /// Smoothed; 0 before the first sample.
    mean_ns: u32,
    deviation_ns: u32,
    /// The least sample of the period before this one.
    least_ns: u32,
    /// The least sample of this period.
    recent_ns: u32,
    /// How many samples this period has.
    samples: u8,
    /// How many answers since the last sample came sooner than the path can answer.
    early: u8,
}

impl RoundTrip {
    pub(crate) const UNKNOWN: Self = Self {
        mean_ns: 0,
        deviation_ns: 0,
        least_ns: u32::MAX,
        recent_ns: u32::MAX,
        samples: 0,
        early: 0,
    };

    /// The smoothed round trip, in nanoseconds, if there was a sample.
    #[inline]
    pub(crate) fn mean_ns(&self) -> Option<u64> {
        (self.mean_ns > 0).then_some(self.mean_ns.into())
    }

    /// The least of the last samples, in nanoseconds; 0 if there was none.
    pub(crate) fn least_ns(&self) -> u64 {
        match self.mean_ns {
            0 => 0,
            _ => self.least_ns.min(self.recent_ns).into(),
        }
    }

    /// Returns true if a time is so much less than the mean that the path must have become shorter.
    fn is_far_below(&self, measured_ns: u64) -> bool {
        measured_ns < u64::from(self.mean_ns / 8)
    }

    /// Notes an answer that came `measured_ns` after a packet that may not be the one it answers.
    /// Returns true if `EARLY` answers came too soon since the last sample.
    // Rule T.
    pub(crate) fn is_early_again(&mut self, measured_ns: u64) -> bool {
        self.early += u8::from(self.is_far_below(measured_ns));
        self.early >= EARLY
    }

    /// Begins with one sample: everything before is forgotten. The deviation may be half of it.
    // Rule T.
    pub(crate) fn begin(&mut self, measured_ns: u64) {
        let mean_ns = measured_ns.clamp(1, FIRST_NS / 2);
        self.begin_with(mean_ns, mean_ns / 2, measured_ns);
    }

    /// Begins with what is most likely more than the round trip. It is no sample: how many answers
    /// have come too soon is not forgotten.
    // Rule T.
    pub(crate) fn begin_at_most(&mut self, measured_ns: u64) {
        let early = self.early;
        self.begin_with(measured_ns.clamp(1, FIRST_NS), 0, measured_ns);
        self.early = early;
    }

    fn begin_with(&mut self, mean_ns: u64, deviation_ns: u64, measured_ns: u64) {
        *self = Self {
            mean_ns: mean_ns as u32,
            deviation_ns: deviation_ns as u32,
            recent_ns: measured_ns.clamp(1, LONGEST_NS) as u32,
            ..Self::UNKNOWN
        };
    }

    /// Takes a measured round trip into account (Jacobson and Karels: gains 1/8 and 1/4).
    // Rule T.
    pub(crate) fn sample(&mut self, measured_ns: u64) {
        // A path cannot answer sooner than it can: much less than before is the truth.
        if self.mean_ns == 0 || self.is_far_below(measured_ns) {
            return self.begin(measured_ns);
        }
        self.early = 0;
        let measured_ns = measured_ns.clamp(1, LONGEST_NS);
        self.recent_ns = self.recent_ns.min(measured_ns as u32);
        self.samples += 1;
        let most_ns = self.least_ns() + LATENESS_NS;
        if self.samples == PERIOD {
            self.least_ns = core::mem::replace(&mut self.recent_ns, u32::MAX);
            self.samples = 0;
        }
        let (measured_ns, mean_ns) = (measured_ns.min(most_ns), u64::from(self.mean_ns));
        let error = measured_ns.abs_diff(mean_ns);
        self.deviation_ns = ((u64::from(self.deviation_ns) * 3 + error) / 4) as u32;
        self.mean_ns = ((mean_ns * 7 + measured_ns) / 8).max(1) as u32;
    }

    /// How long an answer may take: four deviations more than the mean, at least a quarter more,
    /// since a path that never varies may begin to.
    fn timeout_ns(&self) -> u64 {
        let mean_ns = u64::from(self.mean_ns);
        mean_ns + (4 * u64::from(self.deviation_ns)).max(mean_ns / 4)
    }
}

/// The bounds of all timeouts, in nanoseconds, and the generator that spreads them.
#[derive(Clone, Debug)]
pub(crate) struct Timeouts {
    first_ns: u64,
    probe_ns: u64,
    min_ns: u64,
    max_ns: u64,
    restart_ns: u64,
    rng: Rng,
    awake_since: Instant,
    /// The part of an eighth by which waits are longer now, in 2^-32.
    spread: u32,
}

impl Timeouts {
    pub(crate) fn new(config: &Config) -> Self {
        let mut timeouts = Self {
            first_ns: nanoseconds(config.first_timeout),
            probe_ns: nanoseconds(config.probe_timeout),
            min_ns: nanoseconds(config.min_timeout),
            max_ns: nanoseconds(config.max_timeout),
            restart_ns: nanoseconds(config.restart_timeout),
            rng: Rng::new(config.seed),
            awake_since: Instant::ZERO,
            spread: 0,
        };
        timeouts.spread_anew();
        timeouts
    }

    /// This node has just woken up from a pause.
    pub(crate) fn note_wake(&mut self, now: Instant) {
        self.awake_since = now;
    }

    /// When this node last woke up from a pause: earlier packets measure no round trip.
    #[inline]
    pub(crate) fn awake_since(&self) -> Instant {
        self.awake_since
    }

    /// From now on waits are longer by another part. Once for each time that something is due:
    /// nodes that have fallen into step then fall out of it.
    pub(crate) fn spread_anew(&mut self) {
        self.spread = (self.rng.bits() >> 32) as u32;
    }

    /// The next wait for an answer after `backoff` doublings: twice as long each time, up to the
    /// greatest or what an answer may take, and up to an eighth more so that nodes do not fall
    /// into step.
    // Rule T.
    #[inline]
    pub(crate) fn wait_ns(&self, round_trip: &RoundTrip, backoff: u8) -> u64 {
        let base = self.base_ns(round_trip);
        let wait = base.saturating_mul(1 << backoff.min(30));
        self.spread(wait.min(self.max_ns.max(base)))
    }

    #[inline]
    fn base_ns(&self, round_trip: &RoundTrip) -> u64 {
        match round_trip.mean_ns {
            0 => self.first_ns,
            _ => round_trip.timeout_ns().max(self.min_ns),
        }
    }

    /// Returns true if an answer that took `taken_ns` is within the timeout, not doubled.
    // Rule T.
    pub(crate) fn is_in_time(&self, round_trip: &RoundTrip, taken_ns: u64) -> bool {
        taken_ns <= self.base_ns(round_trip)
    }

    /// Returns true if the wait after `backoff` doublings is the longest there is.
    // Rule T.
    pub(crate) fn is_longest(&self, round_trip: &RoundTrip, backoff: u8) -> bool {
        let base = self.base_ns(round_trip);
        base.saturating_mul(1 << backoff.min(30)) >= self.max_ns.max(base)
    }

    fn spread(&self, wait: u64) -> u64 {
        wait + ((u128::from(wait / 8) * u128::from(self.spread)) >> 32) as u64
    }

    /// The wait before something is asked after once more, after `tries` times, where that throws
    /// nothing away: two round trips, since an answer that takes longer is most likely lost, then
    /// twice as long each time, at most the timeout. Source: RFC 8985, 7.2.
    // Rule T.
    pub(crate) fn before_probe_ns(&self, round_trip: &RoundTrip, tries: u8) -> u64 {
        let timeout = self.wait_ns(round_trip, 0);
        match round_trip.mean_ns() {
            None => timeout,
            Some(mean) => timeout.min(self.spread((2 * mean).max(self.probe_ns) << tries)),
        }
    }

    /// The least wait before an attempt that has taken `taken_ns` is thrown away: as long again,
    /// so that a pause of the peer costs at most twice what it must.
    // Rule T.
    pub(crate) fn before_restart_ns(&self, taken_ns: u64) -> u64 {
        taken_ns.max(self.restart_ns).min(self.max_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn wait(round_trip: &RoundTrip, backoff: u8) -> u64 {
        Timeouts::new(&Config::classic(2, 1000)).wait_ns(round_trip, backoff)
    }

    fn measured(samples: impl IntoIterator<Item = u64>) -> RoundTrip {
        let mut round_trip = RoundTrip::UNKNOWN;
        samples.into_iter().for_each(|ns| round_trip.sample(ns));
        round_trip
    }

    #[test]
    fn rule_t_the_first_wait_is_20_ms_and_doubles_up_to_a_second() {
        for (backoff, expected) in [(0, 20), (1, 40), (2, 80), (5, 640), (6, 1000), (200, 1000)] {
            let waited = wait(&RoundTrip::UNKNOWN, backoff);
            let range = expected * MS..=expected * MS * 9 / 8;
            assert!(range.contains(&waited), "{backoff}: {waited}");
        }
    }

    #[test]
    fn rule_t_a_measured_round_trip_sets_the_wait_but_never_below_a_millisecond() {
        let near = measured([20_000; 100]);
        assert!((MS..=MS * 9 / 8).contains(&wait(&near, 0)));
        let far = measured([50 * MS; 100]);
        assert!((60 * MS..=75 * MS).contains(&wait(&far, 0)));
    }

    #[test]
    fn rule_t_the_wait_is_longer_than_any_round_trip() {
        for round_trip_ns in [100 * MS, 999 * MS, 1_200 * MS, 3_000 * MS] {
            let far = measured([round_trip_ns; 100]);
            for backoff in 0..10 {
                assert!(wait(&far, backoff) >= round_trip_ns * 5 / 4);
            }
            assert!(wait(&far, 200) <= (2 * round_trip_ns).max(1_125 * MS));
        }
    }

    #[test]
    fn rule_t_one_late_answer_makes_the_wait_little_longer_and_many_make_it_long() {
        let late = measured([100_000; 100].into_iter().chain([660_000 * MS]));
        assert!(wait(&late, 0) <= 8 * MS);
        let later = measured([100_000; 100].into_iter().chain([30 * MS; 100]));
        assert!((30 * MS..=60 * MS).contains(&wait(&later, 0)));
    }

    #[test]
    fn rule_t_one_much_shorter_sample_makes_the_path_short() {
        let short = measured([1_000 * MS; 100].into_iter().chain([100_000]));
        assert!(wait(&short, 0) <= 2 * MS);
    }
}
