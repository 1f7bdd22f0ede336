//! How long to wait for an answer (rule T).

use crate::config::Config;
use crate::peer::Path;
use crate::rng::Rng;
use crate::time::nanoseconds;

/// The bounds of all timeouts, in nanoseconds, and the generator that spreads them.
#[derive(Clone, Debug)]
pub(crate) struct Timeouts {
    first_ns: u64,
    probe_ns: u64,
    min_ns: u64,
    max_ns: u64,
    restart_ns: u64,
    rng: Rng,
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
            spread: 0,
        };
        timeouts.spread_anew();
        timeouts
    }

    /// From now on waits are longer by another part. Once for each time that something is due:
    /// nodes that have fallen into step then fall out of it.
    pub(crate) fn spread_anew(&mut self) {
        self.spread = (self.rng.bits() >> 32) as u32;
    }

    /// The next wait on `path` after `backoff` doublings: twice as long each time, up to the
    /// greatest, and up to an eighth more so that nodes do not fall into step.
    // Rule T.
    #[inline]
    pub(crate) fn wait_ns(&self, path: &Path, backoff: u8) -> u64 {
        let base = match path.round_trip_ns {
            0 => self.first_ns,
            mean => (mean + 4 * path.deviation_ns).max(self.min_ns),
        };
        let wait = base.saturating_mul(1 << backoff.min(30)).min(self.max_ns);
        self.spread(wait)
    }

    fn spread(&self, wait: u64) -> u64 {
        wait + ((u128::from(wait / 8) * u128::from(self.spread)) >> 32) as u64
    }

    /// The wait before something is asked after once more, after `tries` times, where that throws
    /// nothing away: two round trips, since an answer that takes longer is most likely lost, then
    /// twice as long each time, at most the timeout. Source: RFC 8985, 7.2.
    // Rule T.
    pub(crate) fn before_probe_ns(&self, path: &Path, tries: u8) -> u64 {
        let timeout = self.wait_ns(path, 0);
        match path.round_trip_ns {
            0 => timeout,
            mean => timeout.min(self.spread((2 * mean).max(self.probe_ns) << tries)),
        }
    }

    /// The least wait before an attempt that has taken `taken_ns` is thrown away: as long again,
    /// so that a pause of the peer costs at most twice what it must.
    // Rule T.
    pub(crate) fn before_restart_ns(&self, taken_ns: u64) -> u64 {
        taken_ns.max(self.restart_ns).min(self.max_ns)
    }
}

/// Takes a measured round trip into account (Jacobson and Karels: gains 1/8 and 1/4).
// Rule T.
pub(crate) fn sample(path: &mut Path, round_trip_ns: u64) {
    let measured = round_trip_ns.max(1);
    if path.round_trip_ns == 0 {
        path.round_trip_ns = measured;
        path.deviation_ns = measured / 2;
        return;
    }
    let error = measured.abs_diff(path.round_trip_ns);
    path.deviation_ns = (path.deviation_ns * 3 + error) / 4;
    path.round_trip_ns = (path.round_trip_ns * 7 + measured) / 8;
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn wait(path: &Path, backoff: u8) -> u64 {
        Timeouts::new(&Config::classic(2, 1000)).wait_ns(path, backoff)
    }

    #[test]
    fn rule_t_the_first_wait_is_20_ms_and_doubles_up_to_a_second() {
        for (backoff, expected) in [(0, 20), (1, 40), (2, 80), (5, 640), (6, 1000), (200, 1000)] {
            let waited = wait(&Path::NEW, backoff);
            let range = expected * MS..=expected * MS * 9 / 8;
            assert!(range.contains(&waited), "{backoff}: {waited}");
        }
    }

    #[test]
    fn rule_t_a_measured_round_trip_sets_the_wait_but_never_below_a_millisecond() {
        let mut path = Path::NEW;
        (0..100).for_each(|_| sample(&mut path, 20_000));
        assert!((MS..=MS * 9 / 8).contains(&wait(&path, 0)));
        (0..100).for_each(|_| sample(&mut path, 50 * MS));
        assert!((50 * MS..=60 * MS).contains(&wait(&path, 0)));
    }
}
