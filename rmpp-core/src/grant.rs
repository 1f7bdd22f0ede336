//! Flow control (paper §3.7, Figure 8).

use crate::bits::WINDOW;
use crate::caps::Caps;
use crate::config::Config;
use crate::time::Instant;

/// How many packets a node has room for, and how many of them it has granted. How many of these
/// each peer has is kept with the peer's path: it is passed in as `to_peer`.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Grants {
    pool: i64,
    max_data_pkts: u16,
    outstanding: i64,
    /// Packets the pool has when nothing overflows.
    full_pool: i64,
    /// Peers that have a grant.
    peers: u32,
    /// Packets that came since the pool last grew.
    since_growth: u32,
    /// If paths may be longer than the buffer.
    reach: Option<Reach>,
}

/// How a path that holds more packets than the buffer is found, and filled. Time goes in rounds:
/// one is over when all that was granted at its beginning has come.
#[derive(Clone, Debug, Hash)]
struct Reach {
    /// Packets that the pool has at most.
    most: i64,
    /// All packets that were ever granted.
    granted: u64,
    began: Instant,
    /// Packets that were outstanding at its beginning.
    packets: i64,
    /// The count of packets granted at its beginning.
    goal: u64,
    /// A message got less than it wanted.
    was_short: bool,
    /// Packets that were lost.
    lost: u32,
    /// The pool grows by such a part of itself on trial.
    part: i64,
    /// The pool is greater on trial.
    trial: Option<Trial>,
    /// Rounds until the next trial.
    rest: u32,
    /// Packets per second of the round before.
    rate: u64,
}

/// A greater pool, for as long as it takes to see whether more comes with it.
#[derive(Clone, Debug, Hash)]
struct Trial {
    /// The pool before.
    before: i64,
    /// The pool that is tried. It grows as packets come, not at once: a burst would overflow the
    /// queues on the path.
    pool: i64,
    /// Packets per second before.
    rate: u64,
    /// The round of growth is over.
    has_grown: bool,
}

impl Reach {
    fn new(config: &Config) -> Option<Self> {
        config.caps.has(Caps::BUDGET).then(|| Self {
            most: i64::from(config.max_on_path),
            granted: 0,
            began: Instant::ZERO,
            packets: 0,
            goal: 0,
            was_short: false,
            lost: 0,
            part: LARGE_PART,
            trial: None,
            rest: 0,
            rate: 0,
        })
    }

    /// The pool after a round of `rate` packets per second. `is_long`: the pool was too small, and
    /// the packets were on the path. A trial is kept if the rate grew at least half as much as the
    /// pool.
    // Rule G.
    fn judge(&mut self, rate: u64, is_long: bool, (pool, full_pool): (i64, i64)) -> i64 {
        let is_lossy = i64::from(self.lost) > self.packets / LOSSY_PART;
        let before = core::mem::replace(&mut self.rate, rate);
        // A round may be short by chance, when the one before was long. That must not keep the
        // pool from its first growth, nor make it creep later.
        let usual = match self.part {
            LARGE_PART if before > 0 => rate.min(before),
            _ => rate.max(before),
        };
        if let Some(trial) = &mut self.trial {
            if !is_lossy && !core::mem::replace(&mut trial.has_grown, true) {
                return pool;
            }
            let least = trial
                .rate
                .saturating_add(trial.rate / (2 * self.part as u64));
            // As much as came with it, and no more.
            let filled = match self.part {
                LARGE_PART => {
                    let filled = (trial.before as u64).saturating_mul(rate) / trial.rate.max(1);
                    filled.min(trial.pool as u64) as i64
                }
                _ => trial.before,
            };
            let filled = filled.clamp(trial.before, trial.pool);
            self.trial = None;
            if is_lossy || rate < least {
                let is_last = core::mem::replace(&mut self.part, SMALL_PART) == SMALL_PART;
                self.rest = if is_last { REST_ROUNDS } else { SETTLE_ROUNDS };
                // An overflow meanwhile has taken half.
                return pool.min(filled);
            }
        }
        if self.rest > 0 {
            self.rest -= 1;
            return pool;
        }
        if is_long && !is_lossy && (full_pool..self.most).contains(&pool) {
            self.trial = Some(Trial {
                before: pool,
                pool: (pool + pool / self.part).min(self.most),
                rate: usual,
                has_grown: false,
            });
            return pool;
        }
        let less = match (is_lossy, is_long) {
            (true, _) => pool / 8,
            (false, false) => pool / 16,
            (false, true) => 0,
        };
        if is_lossy {
            self.rest = SETTLE_ROUNDS;
        }
        // What an overflow has taken is won back by other means.
        (pool - less).max(full_pool.min(pool))
    }
}

/// The parts by which the pool grows on trial: until the first trial that is in vain, and then.
const LARGE_PART: i64 = 2;
const SMALL_PART: i64 = 8;

/// More than this part of the packets of a round are lost on a path that is full.
const LOSSY_PART: i64 = 8;

/// Rounds until the pool changes again after a small trial that was in vain, and after another
/// change: so long does it take until what was granted before has come.
const REST_ROUNDS: u32 = 8;
const SETTLE_ROUNDS: u32 = 3;

/// A shorter round may be one in which packets waited in the buffer while this node slept.
const LONG_ROUND_NS: u64 = 5_000_000;

/// A message that has packets outstanding gets so many more at once, or none: a grant for each
/// packet that comes would cost a packet for each.
const LEAST_GRANT: i64 = 16;

/// After an overflow the pool grows by one packet for this many that come.
const GROWTH_EVERY: u32 = 8;

impl Grants {
    pub(crate) fn new(config: &Config) -> Self {
        let pool = i64::from(config.max_rcv_buf) - i64::from(config.nodes);
        Self {
            pool,
            max_data_pkts: config.max_data_pkts,
            outstanding: 0,
            full_pool: pool,
            peers: 0,
            since_growth: 0,
            // A pool that is too small for the nodes has no part that could grow.
            reach: Reach::new(config).filter(|reach| pool >= SMALL_PART && reach.most > pool),
        }
    }

    /// A message begins to be received: it holds `unscheduled` packets without a CTS.
    pub(crate) fn begin(&mut self, unscheduled: u32, to_peer: &mut u32) {
        self.add(unscheduled, to_peer);
    }

    /// The window of one message: its peer's share of the pool with the budget, else what four
    /// grants by Figure 8 are.
    // Rule G.
    pub(crate) fn window(&self, has_budget: bool) -> u32 {
        let share = if has_budget {
            self.pool / i64::from(self.peers.max(1))
        } else {
            4 * i64::from(self.max_data_pkts)
        };
        share.clamp(1, i64::from(WINDOW)) as u32
    }

    /// Grants up to `wanted` packets more to a message that has `granted` outstanding, as far as
    /// the pool and its peer's share of it go; one if it has none, whatever they hold.
    // Rule G.
    pub(crate) fn take_up_to(
        &mut self,
        wanted: u32,
        granted: u32,
        (to_peer, now): (&mut u32, Instant),
    ) -> u32 {
        self.look_at_round(now);
        let peers = self.peers + u32::from(*to_peer == 0);
        let share = self.pool / i64::from(peers) - i64::from(*to_peer);
        let room = share.min(self.pool - self.outstanding);
        let wanted = i64::from(wanted);
        if let Some(reach) = &mut self.reach {
            reach.was_short |= room < wanted;
        }
        let n = if granted == 0 {
            room.max(1).min(wanted)
        } else if room < wanted.min(LEAST_GRANT) {
            0
        } else {
            room.min(wanted)
        } as u32;
        self.add(n, to_peer);
        n
    }

    /// At the end of a round.
    // Rule G.
    fn look_at_round(&mut self, now: Instant) {
        let Some(reach) = &mut self.reach else {
            return;
        };
        if reach.granted - (self.outstanding as u64) < reach.goal {
            return;
        }
        let took_ns = now.since(reach.began).as_nanos() as u64;
        let rate = (reach.packets as u64).saturating_mul(1_000_000_000) / took_ns.max(1);
        let is_long = reach.was_short && took_ns >= LONG_ROUND_NS;
        self.pool = reach.judge(rate, is_long, (self.pool, self.full_pool));
        (reach.began, reach.packets) = (now, self.outstanding);
        reach.goal = reach.granted;
        (reach.was_short, reach.lost) = (false, 0);
    }

    /// Packets are lost: the path may hold no more of them.
    // Rule G.
    pub(crate) fn lose(&mut self, packets: u32) {
        if let Some(reach) = &mut self.reach {
            reach.lost = reach.lost.saturating_add(packets);
        }
    }

    fn add(&mut self, n: u32, to_peer: &mut u32) {
        if let Some(reach) = &mut self.reach {
            reach.granted += u64::from(n);
        }
        self.peers += u32::from(*to_peer == 0 && n > 0);
        self.outstanding += i64::from(n);
        *to_peer += n;
    }

    /// The layer below has lost packets because it had no room: half of the pool is given up, and
    /// won back little by little.
    // Rule G.
    pub(crate) fn overflow(&mut self) {
        self.pool = (self.pool / 2).max(1);
        self.since_growth = 0;
    }

    /// Figure 8: what the next CTS may grant, at least 1 and at most `MAX_DATA_PKTS`.
    // Rule P4.
    pub(crate) fn take(&mut self, to_peer: &mut u32) -> u16 {
        let room = self.pool - self.outstanding;
        let n = room.clamp(1, i64::from(self.max_data_pkts)) as u16;
        self.add(n.into(), to_peer);
        n
    }

    /// Gives back `n` packets that have come, or will not come any more.
    pub(crate) fn give_back(&mut self, n: u32, to_peer: &mut u32) {
        self.outstanding -= i64::from(n);
        *to_peer -= n;
        self.peers -= u32::from(*to_peer == 0 && n > 0);
        self.since_growth = self.since_growth.saturating_add(n);
        if self.since_growth >= GROWTH_EVERY && self.pool < self.full_pool {
            self.pool += i64::from(self.since_growth / GROWTH_EVERY);
            self.pool = self.pool.min(self.full_pool);
            self.since_growth = 0;
        }
        if let Some(trial) = self.trial() {
            self.pool = (self.pool + i64::from(n)).min(trial.pool);
        }
        assert!(
            self.outstanding >= 0,
            "more packets given back than granted"
        );
    }

    /// What makes the pool grow as packets come.
    fn trial(&self) -> Option<&Trial> {
        let trial = self.reach.as_ref()?.trial.as_ref();
        trial.filter(|trial| self.pool < trial.pool && !trial.has_grown)
    }

    /// Returns true if the pool does not grow as packets come.
    pub(crate) fn is_full(&self) -> bool {
        self.pool >= self.full_pool && self.trial().is_none()
    }

    #[cfg(feature = "simulated")]
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding as u64
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;
    use alloc::vec;

    use super::*;

    fn grants(max_rcv_buf: u32, nodes: u32, max_data_pkts: u16) -> Grants {
        Grants::new(&Config {
            max_rcv_buf,
            max_data_pkts,
            ..Config::with_caps(nodes, 1024, Caps::FAST)
        })
    }

    /// Figure 8 written down as printed.
    fn figure_8(max_rcv_buf: i64, nodes: i64, outstanding: i64, max_data_pkts: i64) -> i64 {
        let mut n = max_rcv_buf - nodes - outstanding;
        if n > max_data_pkts {
            n = max_data_pkts;
        } else if n < 1 {
            n = 1;
        }
        n
    }

    #[test]
    fn rule_g_without_a_budget_the_window_is_four_grants_as_far_as_bits_reach() {
        for max_data_pkts in 1..=100_u16 {
            let grants = grants(2048, 2, max_data_pkts);
            let four = 4 * u32::from(max_data_pkts);
            assert_eq!(grants.window(false), four.min(WINDOW));
        }
    }

    #[test]
    fn rule_p4_grants_are_figure_8_for_every_small_pool() {
        for (max_rcv_buf, nodes) in (0..40).flat_map(|m| (1..10).map(move |n| (m, n))) {
            for max_data_pkts in 1..=17 {
                let mut grants = grants(max_rcv_buf, nodes, max_data_pkts);
                for _ in 0..60 {
                    let before = grants.outstanding;
                    let expected = figure_8(
                        max_rcv_buf.into(),
                        nodes.into(),
                        before,
                        max_data_pkts.into(),
                    );
                    assert_eq!(i64::from(grants.take(&mut 0)), expected);
                }
            }
        }
    }

    /// A path that brings `rate` packets in a millisecond, `round_trip` milliseconds after they
    /// were granted, and keeps up to `queue` that come too fast. Returns the pool after five
    /// seconds, and how many packets came in the last of them.
    fn fill(rate: u32, round_trip: usize, queue: u32) -> (i64, u32) {
        let mut grants = Grants::new(&Config {
            max_rcv_buf: 1002,
            max_on_path: 32_000,
            ..Config::with_caps(2, 1024, Caps::FAST)
        });
        let mut under_way = VecDeque::from(vec![0_u32; round_trip]);
        let (mut waiting, mut to_peer, mut came) = (0, 0, 0);
        for ms in 1..=5000_u64 {
            let now = Instant(ms * 1_000_000);
            waiting += under_way.pop_front().expect("as many as milliseconds");
            let lost = waiting.saturating_sub(rate + queue);
            grants.lose(lost);
            let passing = rate.min(waiting - lost);
            waiting -= lost + passing;
            // What is lost comes again, with what is granted next.
            grants.give_back(passing + lost, &mut to_peer);
            came += if ms > 4000 { passing } else { 0 };
            under_way.push_back(grants.take_up_to(100_000, to_peer, (&mut to_peer, now)));
        }
        (grants.pool, came)
    }

    #[test]
    fn rule_g_a_path_longer_than_the_buffer_is_filled() {
        // 8,000 packets are under way; the buffer has room for 1,000.
        for queue in [8_000, 1_000] {
            let (pool, came) = fill(80, 100, queue);
            assert!(came > 72_000, "{came} packets in a second, pool {pool}");
            assert!(pool < 17_000, "{pool} packets wait in the queue");
        }
    }

    #[test]
    fn rule_g_a_path_that_is_shorter_than_the_buffer_gets_one_trial_more_at_most() {
        for round_trip in [1, 4, 10] {
            let (pool, came) = fill(80, round_trip, 100_000);
            assert!(pool < 1_600, "{pool} packets, {round_trip} ms");
            assert!(came > 79_000, "{came} packets in a second");
        }
    }

    #[test]
    fn rule_g_every_small_pool_grants_and_takes_back_whatever_time_it_takes() {
        let mut rng = crate::rng::Rng::new(1);
        let mut draw = |most: u64| rng.bits() % most;
        for nodes in (2..40).chain([3_000]) {
            let max_rcv_buf = draw(60) as u32;
            let mut grants = Grants::new(&Config {
                max_rcv_buf,
                max_on_path: draw(4) as u32 * max_rcv_buf,
                ..Config::with_caps(nodes, 1024, Caps::FAST)
            });
            let (mut now, mut to_peer) = (0, 0);
            for _ in 0..2_000 {
                now += draw(3) * draw(20_000_000);
                let wanted = draw(300) as u32 + 1;
                let granted = to_peer * draw(2) as u32;
                let n = grants.take_up_to(wanted, granted, (&mut to_peer, Instant(now)));
                assert!(n <= wanted && (n > 0 || granted > 0));
                grants.lose(draw(2) as u32);
                if draw(50) == 0 {
                    grants.overflow();
                }
                let back = draw(u64::from(to_peer) + 1) as u32;
                grants.give_back(back, &mut to_peer);
            }
        }
    }
}
