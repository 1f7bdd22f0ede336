//! Flow control (paper §3.7, Figure 8).

/// How many packets a node has room for, and how many of them it has granted.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Grants {
    pool: i64,
    max_data_pkts: u16,
    outstanding: i64,
}

impl Grants {
    pub(crate) fn new(max_rcv_buf: u32, nodes: u32, max_data_pkts: u16) -> Self {
        let pool = i64::from(max_rcv_buf) - i64::from(nodes);
        Self {
            pool,
            max_data_pkts,
            outstanding: 0,
        }
    }

    /// Figure 8: what the next CTS may grant, at least 1 and at most `MAX_DATA_PKTS`.
    // Rule P4.
    pub(crate) fn take(&mut self) -> u16 {
        let room = self.pool - self.outstanding;
        let n = room.clamp(1, i64::from(self.max_data_pkts));
        self.outstanding += n;
        n as u16
    }

    /// Gives back `n` packets that have come, or will not come any more.
    pub(crate) fn give_back(&mut self, n: u32) {
        self.outstanding -= i64::from(n);
        assert!(
            self.outstanding >= 0,
            "more packets given back than granted"
        );
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
                    assert_eq!(i64::from(grants.take()), expected);
                }
            }
        }
    }
}
