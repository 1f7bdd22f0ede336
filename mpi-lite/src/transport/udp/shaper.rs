//! A bad network, imitated where datagrams are sent: some are lost, some go twice, the others go
//! later.
//!
//! ```text
//!   sealed datagram -> lost? -> twice? -> waits for the rate -> delay and jitter -> the system
//!                        |                        |
//!                        v                        v
//!                     dropped              queue full: dropped
//! ```
//!
//! Loss and rate are those of the one cable by which this rank reaches all others. What happens to
//! its nth datagram depends on the job's seed, the rank and n alone, not on time.

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::{BinaryHeap, VecDeque};

use rmpp_core::Rng;

use crate::clock::{Clock, Instant};
use crate::config::Network;
use crate::counters::Datagrams;

/// Bytes of datagrams that are held at most, whatever the delay. More are dropped.
const HELD_BYTES: usize = 1 << 28;

/// Datagrams that are not with the system yet, and the faults that they meet.
pub(super) struct Shaper {
    network: Network,
    clock: Clock,
    fates: Fates,
    /// When all that was sent is through the rate.
    free_at: Instant,
    /// When each datagram that waits for the rate is through, in their order.
    waiting: VecDeque<Instant>,
    /// When the last datagram to each peer goes, by rank.
    last_due: Vec<Instant>,
    held: BinaryHeap<Reverse<Held>>,
    held_bytes: usize,
    /// The number of the next datagram that is held.
    next: u64,
}

/// A datagram to be sent when it is due. Of those due at the same time the first one goes first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    due: Instant,
    number: u64,
    to: u32,
    datagram: Vec<u8>,
}

impl Shaper {
    /// The cable of rank `me` among `ranks`.
    pub(super) fn new(network: Network, (me, ranks): (u32, usize), clock: Clock) -> Self {
        Self {
            network,
            clock,
            fates: Fates::new(&network, me),
            free_at: Instant::ZERO,
            waiting: VecDeque::new(),
            last_due: vec![Instant::ZERO; ranks],
            held: BinaryHeap::new(),
            held_bytes: 0,
            next: 0,
        }
    }

    /// What it imitates.
    pub(super) fn network(&self) -> Network {
        self.network
    }

    /// The time now.
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Takes a sealed datagram for rank `to`.
    pub(super) fn take(
        &mut self,
        (to, datagram): (u32, Vec<u8>),
        now: Instant,
        counters: &mut Datagrams,
    ) {
        let fate = self.fates.draw();
        if fate.is_lost {
            counters.net_lost += 1;
            return;
        }
        if fate.goes_twice {
            counters.net_duplicated += 1;
            self.hold((to, datagram.clone()), &fate, now, counters);
        }
        self.hold((to, datagram), &fate, now, counters);
    }

    /// Holds a datagram until it is due, unless the queue is full.
    fn hold(
        &mut self,
        (to, datagram): (u32, Vec<u8>),
        fate: &Fate,
        now: Instant,
        counters: &mut Datagrams,
    ) {
        while self.waiting.front().is_some_and(|through| *through <= now) {
            self.waiting.pop_front();
        }
        let is_full = self.waiting.len() >= self.network.queue as usize;
        if is_full || self.held_bytes + datagram.len() > HELD_BYTES {
            counters.net_overflowed += 1;
            return;
        }
        let through = self.pass_rate(datagram.len(), now);
        let due = if fate.skips_delay {
            counters.net_reordered += 1;
            through
        } else {
            let last = &mut self.last_due[to as usize];
            *last = (*last).max(through.plus(self.network.delay + fate.jitter));
            *last
        };
        self.held_bytes += datagram.len();
        self.held.push(Reverse(Held {
            due,
            number: self.next,
            to,
            datagram,
        }));
        self.next += 1;
    }

    /// When a datagram of so many bytes is through the rate.
    fn pass_rate(&mut self, bytes: usize, now: Instant) -> Instant {
        let Some(rate) = self.network.rate else {
            return now;
        };
        let time_ns = bytes as u64 * 8 * 1_000_000_000 / rate;
        self.free_at = self.free_at.max(now).plus(Duration::from_nanos(time_ns));
        self.waiting.push_back(self.free_at);
        self.free_at
    }

    /// The next datagram that is due by `now`, and its peer.
    pub(super) fn release(&mut self, now: Instant) -> Option<(u32, Vec<u8>)> {
        self.next_due().filter(|due| *due <= now)?;
        let Reverse(Held { to, datagram, .. }) = self.held.pop()?;
        self.held_bytes -= datagram.len();
        Some((to, datagram))
    }

    /// When the next datagram is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.held.peek().map(|Reverse(held)| held.due)
    }
}

/// What happens to one datagram.
struct Fate {
    is_lost: bool,
    goes_twice: bool,
    skips_delay: bool,
    jitter: Duration,
}

/// Draws what happens to one datagram after the other.
///
/// Bursts of losses are those of Gilbert ("Capacity of a burst-noise channel", Bell System
/// Technical Journal 39, 1960) in the simplest form: in the bad state all are lost, in the good one
/// none. The state changes with the probability `begin` or `end` from one datagram to the next.
struct Fates {
    rng: Rng,
    begin: f64,
    end: f64,
    is_bad: bool,
    goes_twice: f64,
    skips_delay: f64,
    jitter_ns: u64,
}

impl Fates {
    fn new(network: &Network, me: u32) -> Self {
        let job = Rng::new(network.seed.unwrap_or(0)).bits();
        let loss = network.loss.probability();
        let (begin, end) = match network.burst.map(f64::from) {
            None => (loss, 1.0 - loss),
            // The share of time in the bad state is begin / (begin + end).
            Some(burst) => (loss / (1.0 - loss) / burst, 1.0 / burst),
        };
        Self {
            rng: Rng::new(job ^ Rng::new(me.into()).bits()),
            begin,
            end,
            is_bad: false,
            goes_twice: network.duplicate.probability(),
            skips_delay: network.reorder.probability(),
            jitter_ns: u64::try_from(network.jitter.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// Draws as many numbers for each datagram, so that all parts of a fate are independent.
    fn draw(&mut self) -> Fate {
        let change = if self.is_bad { self.end } else { self.begin };
        self.is_bad ^= self.happens(change);
        Fate {
            is_lost: self.is_bad,
            goes_twice: self.happens(self.goes_twice),
            skips_delay: self.happens(self.skips_delay),
            jitter: Duration::from_nanos(self.rng.below(self.jitter_ns)),
        }
    }

    /// Returns true with this probability.
    fn happens(&mut self, probability: f64) -> bool {
        // The 53 bits that a number between 0 and 1 has.
        const STEPS: f64 = (1_u64 << 53) as f64;
        ((self.rng.bits() >> 11) as f64) < probability * STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 1000;

    fn shaper(network: &str) -> Shaper {
        Shaper::new(network.parse().unwrap(), (0, 3), Clock::start())
    }

    fn at(us: u64) -> Instant {
        Instant(us * 1000)
    }

    /// A datagram to `to` that contains its number.
    fn datagram(to: u32, number: u32) -> (u32, Vec<u8>) {
        let mut bytes = vec![0; BYTES];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        (to, bytes)
    }

    /// Hands in `count` datagrams to rank 1 at once, every `gap_us` microseconds one. Returns the
    /// numbers of those that come out with the time when each is due, and what was counted.
    fn play(network: &str, count: u32, gap_us: u64) -> (Vec<(u32, Instant)>, Datagrams) {
        let (mut shaper, mut counters) = (shaper(network), Datagrams::default());
        let mut out = Vec::new();
        for number in 0..count {
            let now = at(u64::from(number) * gap_us);
            drain(&mut shaper, now, &mut out);
            shaper.take(datagram(1, number), now, &mut counters);
        }
        drain(&mut shaper, Instant(u64::MAX), &mut out);
        assert_eq!(shaper.held_bytes, 0);
        (out, counters)
    }

    fn drain(shaper: &mut Shaper, now: Instant, out: &mut Vec<(u32, Instant)>) {
        while let Some(due) = shaper.next_due() {
            let Some((to, bytes)) = shaper.release(now) else {
                assert!(due > now);
                return;
            };
            assert_eq!((to, bytes.len()), (1, BYTES));
            out.push((u32::from_be_bytes(bytes[..4].try_into().unwrap()), due));
        }
    }

    /// The numbers of the datagrams that come out.
    fn numbers(out: &[(u32, Instant)]) -> Vec<u32> {
        out.iter().map(|(number, _)| *number).collect()
    }

    /// The lengths of the rows of losses among `count` datagrams.
    fn bursts(network: &str, count: u32) -> Vec<u32> {
        let mut bursts = Vec::new();
        let mut next = 0;
        for number in numbers(&play(network, count, 1).0)
            .into_iter()
            .chain([count])
        {
            if number > next {
                bursts.push(number - next);
            }
            next = number + 1;
        }
        bursts
    }

    #[test]
    fn a_good_network_sends_all_at_once() {
        let (out, counters) = play("loss=0%", 100, 7);
        let expected: Vec<_> = (0..100).map(|n| (n, at(u64::from(n) * 7))).collect();
        assert_eq!(out, expected);
        assert_eq!(counters, Datagrams::default());
    }

    #[test]
    fn the_share_that_is_lost_is_the_one_that_was_asked_for() {
        for (network, share) in [
            ("loss=1%,seed=7", 0.01),
            ("loss=20%,seed=8", 0.2),
            ("loss=1%,burst=4,seed=9", 0.01),
            ("loss=30%,burst=10,seed=10", 0.3),
        ] {
            let count = 200_000;
            let (out, counters) = play(network, count, 1);
            let lost = f64::from(count) - out.len() as f64;
            let found = lost / f64::from(count);
            assert_eq!(counters.net_lost as f64, lost);
            assert!((found / share - 1.0).abs() < 0.1, "{network}: {found}");
        }
        assert_eq!(play("loss=100%", 100, 1).0, []);
    }

    #[test]
    fn losses_come_in_bursts_of_the_length_that_was_asked_for() {
        for (network, mean) in [
            ("loss=5%,burst=1,seed=1", 1.0),
            ("loss=5%,burst=4,seed=2", 4.0),
            ("loss=5%,burst=25,seed=3", 25.0),
            // Independent losses: 1 / (1 - loss).
            ("loss=20%,seed=4", 1.25),
        ] {
            let bursts = bursts(network, 200_000);
            let found = f64::from(bursts.iter().sum::<u32>()) / bursts.len() as f64;
            assert!((found / mean - 1.0).abs() < 0.1, "{network}: {found}");
        }
    }

    #[test]
    fn the_seed_and_the_rank_alone_decide_what_happens_to_the_nth_datagram() {
        let fates = |seed: u64, me| {
            let network = "loss=10%,duplicate=10%,reorder=10%,delay=1ms,jitter=1ms";
            let mut network: Network = network.parse().unwrap();
            network.seed = Some(seed);
            let mut fates = Fates::new(&network, me);
            let fate = |fate: Fate| (fate.is_lost, fate.goes_twice, fate.skips_delay, fate.jitter);
            (0..100).map(|_| fate(fates.draw())).collect::<Vec<_>>()
        };
        assert_eq!(fates(7, 0), fates(7, 0));
        assert_ne!(fates(7, 0), fates(7, 1));
        assert_ne!(fates(7, 0), fates(8, 0));
        let lost = |gap| play("loss=10%,duplicate=10%,seed=3", 1000, gap).1;
        assert_eq!(lost(1), lost(1000));
    }

    #[test]
    fn jitter_keeps_the_order_and_reorder_does_not() {
        let (out, counters) = play("delay=5ms,jitter=2ms,seed=1", 10_000, 10);
        assert!(numbers(&out).is_sorted());
        assert_eq!(counters.net_reordered, 0);
        for (number, due) in out {
            let sent = at(u64::from(number) * 10);
            assert!((5000..7000).contains(&(due.since(sent).as_micros())));
        }
        let (out, counters) = play("delay=5ms,jitter=2ms,reorder=2%,seed=1", 10_000, 10);
        let is_early = |(number, due): &&(u32, Instant)| *due == at(u64::from(*number) * 10);
        assert_eq!(out.len(), 10_000);
        assert_eq!(
            out.iter().filter(is_early).count() as u64,
            counters.net_reordered
        );
        assert!((100..300).contains(&counters.net_reordered));
        assert!(!numbers(&out).is_sorted());
        let others = out.iter().filter(|it| !is_early(it));
        assert!(others.map(|it| it.0).is_sorted());
    }

    #[test]
    fn a_peer_does_not_wait_for_the_jitter_of_another() {
        let (mut shaper, mut counters) = (shaper("jitter=1s,seed=5"), Datagrams::default());
        for number in 0..100 {
            shaper.take(datagram(1 + number % 2, number), at(0), &mut counters);
        }
        let mut out = Vec::new();
        while let Some((to, bytes)) = shaper.release(Instant(u64::MAX)) {
            out.push((to, u32::from_be_bytes(bytes[..4].try_into().unwrap())));
        }
        let of = |peer| out.iter().filter(move |(to, _)| *to == peer);
        assert!(of(1).is_sorted() && of(2).is_sorted());
        assert!(!out.iter().map(|(_, number)| number).is_sorted());
    }

    #[test]
    fn the_rate_spaces_datagrams_by_their_length() {
        // 1000 bytes at 8 Mbit/s take a millisecond.
        let (out, _) = play("rate=8mbit,delay=3ms", 50, 0);
        let expected: Vec<_> = (0..50)
            .map(|n| (n, at(u64::from(n) * 1000 + 4000)))
            .collect();
        assert_eq!(out, expected);
        // Those that come later than the rate demands do not wait.
        let (out, _) = play("rate=8mbit", 50, 1500);
        let expected: Vec<_> = (0..50)
            .map(|n| (n, at(u64::from(n) * 1500 + 1000)))
            .collect();
        assert_eq!(out, expected);
    }

    #[test]
    fn what_the_queue_has_no_room_for_is_dropped() {
        let (out, counters) = play("rate=8mbit,queue=20", 50, 0);
        assert_eq!(numbers(&out), (0..20).collect::<Vec<_>>());
        assert_eq!(counters.net_overflowed, 30);
        // Half as fast as they come: the queue fills up, and then takes every other one.
        let (out, counters) = play("rate=8mbit,queue=20", 1000, 500);
        assert_eq!(counters.net_overflowed + out.len() as u64, 1000);
        assert!((500..=520).contains(&out.len()), "{}", out.len());
        // What is through the rate does not count.
        let (_, counters) = play("rate=8mbit,queue=1,delay=10s", 1000, 1000);
        assert_eq!(counters.net_overflowed, 0);
    }

    #[test]
    fn a_delay_holds_only_so_many_bytes() {
        let (mut shaper, mut counters) = (shaper("delay=60s"), Datagrams::default());
        for _ in 0..=HELD_BYTES / (1 << 20) {
            shaper.take((1, vec![0; 1 << 20]), at(0), &mut counters);
        }
        assert_eq!(counters.net_overflowed, 1);
        assert_eq!(shaper.held_bytes, HELD_BYTES);
    }

    #[test]
    fn duplicates_come_right_behind_the_first() {
        let (out, counters) = play("duplicate=10%,delay=1ms,jitter=1ms,seed=6", 1000, 1);
        let numbers = numbers(&out);
        let twice = numbers.windows(2).filter(|it| it[0] == it[1]).count();
        assert!(numbers.is_sorted());
        assert_eq!(twice as u64, counters.net_duplicated);
        assert_eq!(out.len(), 1000 + twice);
        assert!((70..130).contains(&twice), "{twice}");
    }
}
