//! Flow control (paper §3.7, Figure 8).

use crate::bits::WINDOW;

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
}

/// After an overflow the pool grows by one packet for this many that come.
const GROWTH_EVERY: u32 = 8;

impl Grants {
    pub(crate) fn new(max_rcv_buf: u32, nodes: u32, max_data_pkts: u16) -> Self {
        let pool = i64::from(max_rcv_buf) - i64::from(nodes);
        Self {
            pool,
            max_data_pkts,
            outstanding: 0,
            full_pool: pool,
            peers: 0,
            since_growth: 0,
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
    pub(crate) fn take_up_to(&mut self, wanted: u32, granted: u32, to_peer: &mut u32) -> u32 {
        let peers = self.peers + u32::from(*to_peer == 0);
        let share = self.pool / i64::from(peers) - i64::from(*to_peer);
        let room = share.min(self.pool - self.outstanding);
        let n = room
            .max(i64::from(granted == 0))
            .min(i64::from(wanted))
            .max(0) as u32;
        self.add(n, to_peer);
        n
    }

    fn add(&mut self, n: u32, to_peer: &mut u32) {
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
        assert!(
            self.outstanding >= 0,
            "more packets given back than granted"
        );
    }

    /// Returns true if the pool has its full size, so that it does not grow as packets come.
    pub(crate) fn is_full(&self) -> bool {
        self.pool == self.full_pool
    }

    #[cfg(feature = "sim")]
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let grants = Grants::new(2048, 2, max_data_pkts);
            let four = 4 * u32::from(max_data_pkts);
            assert_eq!(grants.window(false), four.min(WINDOW));
        }
    }

    #[test]
    fn rule_p4_grants_are_figure_8_for_every_small_pool() {
        for (max_rcv_buf, nodes) in (0..40).flat_map(|m| (1..10).map(move |n| (m, n))) {
            for max_data_pkts in 1..=17 {
                let mut grants = Grants::new(max_rcv_buf, nodes, max_data_pkts);
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
}
