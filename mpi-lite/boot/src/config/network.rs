//! The bad network that `mpirun --net` asks for, as text and as numbers.
//!
//! The text is a list such as `loss=1%,delay=5ms,rate=1gbit,seed=7`. What is left out is as on a
//! good network.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// What a network does to the datagrams that one rank sends. A default one does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The share of datagrams that are lost.
    pub loss: Share,
    /// How many datagrams in a row are lost on the average; `None`: each is lost for itself.
    pub burst: Option<u32>,
    /// How long a datagram is on its way.
    pub delay: Duration,
    /// It takes longer by a random time below this.
    pub jitter: Duration,
    /// Bits that the rank can send in a second; `None`: any number.
    pub rate: Option<u64>,
    /// Datagrams that wait for the rate at most. More are dropped.
    pub queue: u32,
    /// The share of datagrams that skip delay and jitter, and so overtake others.
    pub reorder: Share,
    /// The share of datagrams that come twice.
    pub duplicate: Share,
    /// Seed of all that is random; `mpirun` draws one if there is none.
    pub seed: Option<u64>,
}

/// A share in parts of a million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    /// As a number from 0 to 1.
    #[must_use]
    pub fn probability(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 1e4)
    }
}

/// As many as netem(8) keeps.
const QUEUE: u32 = 1000;

const QUEUE_MOST: u32 = 1_000_000;
const BURST_MOST: u32 = 1_000_000;
const TIME_MOST_NS: u64 = 60_000_000_000;

const KEYS: &str = "loss, burst, delay, jitter, rate, queue, reorder, duplicate or seed";

/// Units of a time, in nanoseconds; of a rate, in bits per second; of a share, in millionths.
const TIMES: &[(&str, u64)] = &[
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("ns", 1),
];
const RATES: &[(&str, u64)] = &[
    ("gbit", 1_000_000_000),
    ("mbit", 1_000_000),
    ("kbit", 1000),
    ("bit", 1),
];
const SHARES: &[(&str, u64)] = &[("%", 10_000), ("", 1_000_000)];

impl Default for Network {
    fn default() -> Self {
        Self {
            loss: Share(0),
            burst: None,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            rate: None,
            queue: QUEUE,
            reorder: Share(0),
            duplicate: Share(0),
            seed: None,
        }
    }
}

impl FromStr for Network {
    /// One line that names the part which is wrong, and what is possible.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut network = Self::default();
        let mut seen = Vec::new();
        for part in text.split(',').map(str::trim) {
            let shown = part.escape_debug();
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!(
                    "\"{shown}\" is not NAME=VALUE, as in loss=1%,delay=5ms"
                ));
            };
            if seen.contains(&key) {
                return Err(format!("{} is given twice", key.escape_debug()));
            }
            network
                .set(key, value)
                .map_err(|possible| format!("{shown}: {possible}"))?;
            seen.push(key);
        }
        network.check(&seen)?;
        Ok(network)
    }
}

impl Network {
    /// Returns true if it alone may keep a host from hearing of another one for seconds.
    #[must_use]
    pub fn may_silence(&self) -> bool {
        const LOSS: Share = Share(900_000);
        const IN_A_ROW: u32 = 20;
        /// Of a datagram that fills a frame of Ethernet.
        const BITS: u64 = 12_000;
        const LONG: Duration = Duration::from_secs(1);
        let has_bursts = self.burst.is_some_and(|burst| burst >= IN_A_ROW);
        self.loss >= LOSS
            || (has_bursts && self.loss > Share(0))
            || self.rate.is_some_and(|rate| rate < BITS)
            || self.delay + self.jitter >= LONG
    }

    /// Sets one part.
    ///
    /// # Errors
    /// What is possible.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "loss" => self.loss = share(value)?,
            "burst" => self.burst = Some(count(value, BURST_MOST)?),
            "delay" => self.delay = time(value)?,
            "jitter" => self.jitter = time(value)?,
            "rate" => self.rate = Some(rate(value)?),
            "queue" => self.queue = count(value, QUEUE_MOST)?,
            "reorder" => self.reorder = share(value)?,
            "duplicate" => self.duplicate = share(value)?,
            "seed" => {
                let possible = || format!("a whole number from 0 to {} is possible", u64::MAX);
                self.seed = Some(value.parse().map_err(|_| possible())?);
            }
            _ => return Err(format!("expected {KEYS}")),
        }
        Ok(())
    }

    /// Checks that each part of `seen` has the others that it needs.
    fn check(&self, seen: &[&str]) -> Result<(), String> {
        for (key, needed) in [
            ("burst", &["loss"][..]),
            ("queue", &["rate"]),
            ("reorder", &["delay", "jitter"]),
        ] {
            if seen.contains(&key) && !needed.iter().any(|it| seen.contains(it)) {
                return Err(format!("{key} needs {} as well", needed.join(" or ")));
            }
        }
        let Some(burst) = self.burst.map(f64::from) else {
            return Ok(());
        };
        // Between two bursts at least one datagram arrives.
        let most = burst / (burst + 1.0);
        if self.loss.probability() > most {
            return Err(format!(
                "loss={} is more than burst={burst} allows: at most {:.0}% are lost if one \
                 arrives after each burst",
                self.loss,
                (most * 100.0).floor()
            ));
        }
        Ok(())
    }
}

/// The text that [`FromStr`] reads, without what is as by default.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_share = |share: Share| (share != Share(0)).then(|| share.to_string());
        let is_time = |time: Duration| (!time.is_zero()).then(|| shown(nanoseconds(time), TIMES));
        let parts = [
            ("loss", is_share(self.loss)),
            ("burst", self.burst.map(|burst| burst.to_string())),
            ("delay", is_time(self.delay)),
            ("jitter", is_time(self.jitter)),
            ("rate", self.rate.map(|rate| shown(rate, RATES))),
            (
                "queue",
                (self.queue != QUEUE).then(|| self.queue.to_string()),
            ),
            ("reorder", is_share(self.reorder)),
            ("duplicate", is_share(self.duplicate)),
            ("seed", self.seed.map(|seed| seed.to_string())),
        ];
        let parts = parts.into_iter();
        let given = parts.filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        let text = given.collect::<Vec<_>>().join(",");
        f.write_str(if text.is_empty() { "loss=0%" } else { &text })
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn share(text: &str) -> Result<Share, String> {
    let share = measured(text, SHARES).filter(|share| *share <= 1_000_000);
    let share = share.and_then(|share| u32::try_from(share).ok());
    share
        .map(Share)
        .ok_or_else(|| "a share from 0% to 100% is possible, as 1% or 0.01".into())
}

fn time(text: &str) -> Result<Duration, String> {
    let time = measured(text, TIMES).filter(|time| *time <= TIME_MOST_NS);
    time.map(Duration::from_nanos)
        .ok_or_else(|| "a time up to 60s is possible, as 5ms (units: ns, us, ms, s)".into())
}

fn rate(text: &str) -> Result<u64, String> {
    let rate = measured(text, RATES).filter(|rate| *rate > 0);
    rate.ok_or_else(|| {
        "bits per second are possible, as 1gbit (units: bit, kbit, mbit, gbit)".into()
    })
}

fn count(text: &str, most: u32) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| format!("a whole number from 1 to {most} is possible"))
}

/// A decimal number with one of `units`, in the smallest unit. Nothing if it is more than nothing,
/// but too little to be told from it.
fn measured(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let is_unit = |c: char| !c.is_ascii_digit() && c != '.';
    let (number, unit) = text.split_at(text.find(is_unit).unwrap_or(text.len()));
    let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
    let number: f64 = number.parse().ok()?;
    let rounded = (number * *size as f64).round() as u64;
    (rounded > 0 || number == 0.0).then_some(rounded)
}

/// A number of the smallest unit, in the greatest of `units` in which it is whole.
fn shown(number: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().find(|(_, size)| number.is_multiple_of(*size));
    let (unit, size) = whole.expect("the smallest unit is 1");
    format!("{}{unit}", number / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Network {
        text.parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn every_part_is_read_in_its_unit() {
        let all = "loss=1%,burst=4,delay=5ms,jitter=1500us,rate=1.5gbit,queue=200,reorder=0.002,\
                   duplicate=0.5%,seed=7";
        let expected = Network {
            loss: Share(10_000),
            burst: Some(4),
            delay: Duration::from_millis(5),
            jitter: Duration::from_micros(1500),
            rate: Some(1_500_000_000),
            queue: 200,
            reorder: Share(2000),
            duplicate: Share(5000),
            seed: Some(7),
        };
        assert_eq!(read(all), expected);
        assert_eq!(read(" loss=1% , delay=0.5s").delay.as_millis(), 500);
    }

    #[test]
    fn what_is_shown_is_read_as_the_same() {
        for text in [
            "loss=1%",
            "loss=0%",
            "loss=0.0001%",
            "loss=33.3333%,burst=1",
            "delay=1ns,jitter=60s",
            "delay=1500us",
            "rate=1bit",
            "rate=1500mbit,queue=1",
            "delay=5ms,reorder=100%,duplicate=0.5%",
            "seed=18446744073709551615",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        for text in ["loss=0.25", "loss=0.1%,queue=1000,rate=0.5kbit", "seed=0"] {
            assert_eq!(read(&read(text).to_string()), read(text), "{text}");
        }
    }

    #[test]
    fn a_network_that_lets_enough_through_explains_no_silence() {
        for text in [
            "loss=0%",
            "loss=50%,burst=3,delay=100ms,jitter=200ms,rate=1mbit",
            "reorder=100%,delay=1ms,duplicate=100%",
        ] {
            assert!(!read(text).may_silence(), "{text}");
        }
        for text in [
            "loss=100%",
            "loss=95%",
            "loss=1%,burst=1000",
            "rate=1kbit",
            "delay=900ms,jitter=100ms",
        ] {
            assert!(read(text).may_silence(), "{text}");
        }
    }

    #[test]
    fn a_wrong_part_is_named_with_what_is_possible() {
        for (text, part, possible) in [
            ("", "\"\"", "NAME=VALUE"),
            ("loss", "loss", "NAME=VALUE"),
            ("loss=1%,", "\"\"", "NAME=VALUE"),
            ("loss=1%,los=2%", "los=2%", KEYS),
            ("loss=", "loss=", "0% to 100%"),
            ("loss=101%", "loss=101%", "0% to 100%"),
            ("loss=-1%", "loss=-1%", "0% to 100%"),
            ("loss=nan", "loss=nan", "0% to 100%"),
            ("loss=0.00001%", "loss=0.00001%", "0% to 100%"),
            ("delay=5", "delay=5", "as 5ms"),
            ("delay=5.5.5ms", "delay=5.5.5ms", "as 5ms"),
            ("jitter=61s", "jitter=61s", "up to 60s"),
            ("rate=1gb", "rate=1gb", "gbit"),
            ("rate=0bit", "rate=0bit", "as 1gbit"),
            ("rate=1mbit,queue=0", "queue=0", "from 1 to 1000000"),
            ("loss=1%,burst=0.5", "burst=0.5", "from 1 to 1000000"),
            ("seed=-1", "seed=-1", "whole number"),
            ("loss=1%,loss=2%", "loss", "twice"),
            ("burst=2", "burst", "loss"),
            ("queue=2", "queue", "rate"),
            ("reorder=2%", "reorder", "delay or jitter"),
            ("loss=90%,burst=2", "loss=90%", "at most 66%"),
            ("x\ny=1", "x\\ny=1", "loss"),
        ] {
            let error = text.parse::<Network>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.contains(possible), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
