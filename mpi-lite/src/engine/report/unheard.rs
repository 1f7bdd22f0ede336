//! Warns the user of peers that have never answered anything.

use std::time::Duration;

use crate::peers::PeerTable;
use crate::transport::{Hindrance, PeerId, Unheard};

/// How long a peer may leave all packets unanswered before the warning, if it does not count as
/// lost before that. Peers answer in less than a second, whatever their program does.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most lines that one process writes: the first ones are enough.
const LINES: usize = 3;

/// The peers that the user was warned of.
#[derive(Debug)]
pub(crate) struct UnheardPeers {
    patience: Duration,
    named: Vec<PeerId>,
}

impl UnheardPeers {
    /// Peers count as lost after `lost_s` seconds, 0: never.
    pub(crate) fn new(lost_s: u64) -> Self {
        let lost_after = (lost_s > 0).then(|| Duration::from_secs(lost_s));
        Self {
            patience: lost_after.map_or(PATIENCE, |lost_after| PATIENCE.min(lost_after / 2)),
            named: Vec::new(),
        }
    }

    /// Returns the warning of a peer that has never answered, if the user must be warned of it.
    pub(crate) fn warning(&mut self, unheard: &Unheard, peers: &PeerTable) -> Option<String> {
        self.is_news(unheard).then(|| self.line(unheard, peers))
    }

    fn line(&self, unheard: &Unheard, peers: &PeerTable) -> String {
        let name = |peer| format!("rank {} on host {}", peers.rank(peer), peers.host(peer));
        let (me, other) = (name(peers.me()), name(unheard.peer));
        let carrier = unheard.carrier;
        let at = unheard.address;
        let at = at.map_or_else(String::new, |at| format!(" at {at} ({carrier})"));
        let seconds = unheard.waited.as_secs();
        let rest = self.rest();
        match &unheard.hindrance {
            Some(Hindrance::Refusal(refusal)) => format!(
                "mpi-lite: {me}: cannot send to {other}{at} for {seconds} s: {refusal} \
                 (--interface chooses another network); this rank goes on trying{rest}"
            ),
            Some(Hindrance::BadNetwork(network)) => format!(
                "mpi-lite: {me}: no answer yet from {other}{at} for {seconds} s: does --net \
                 {network} let any through? This rank goes on trying{rest}"
            ),
            None => format!(
                "mpi-lite: {me}: no answer yet from {other}{at} for {seconds} s: does a firewall \
                 let only ssh through? Open {carrier} between the hosts (--port-range LOW-HIGH \
                 chooses the ports, --interface another network); this rank goes on trying{rest}"
            ),
        }
    }

    /// Returns true if the user must be warned of a peer: once, and of a few peers only.
    fn is_news(&mut self, unheard: &Unheard) -> bool {
        let is_refused = matches!(unheard.hindrance, Some(Hindrance::Refusal(_)));
        let is_time = is_refused || unheard.waited >= self.patience;
        let is_news = is_time && self.named.len() < LINES && !self.named.contains(&unheard.peer);
        if is_news {
            self.named.push(unheard.peer);
        }
        is_news
    }

    /// Returns the end of the last line: that there may be more.
    fn rest(&self) -> &'static str {
        if self.named.len() < LINES {
            return "";
        }
        "; other peers are not named"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unheard(peer: u32, seconds: u64, refusal: Option<&str>) -> Unheard {
        Unheard {
            peer: PeerId(peer),
            address: None,
            carrier: "UDP",
            waited: Duration::from_secs(seconds),
            hindrance: refusal.map(|words| Hindrance::Refusal(words.to_owned())),
        }
    }

    #[test]
    fn a_peer_without_an_answer_is_named_once_and_after_ten_seconds_or_before_it_is_lost() {
        for (lost_s, at) in [(120, 10), (0, 10), (20, 10), (12, 6), (6, 3)] {
            let mut peers = UnheardPeers::new(lost_s);
            let told: Vec<u64> = (3..30)
                .filter(|&second| peers.is_news(&unheard(1, second, None)))
                .collect();
            assert_eq!(told, [at], "lost after {lost_s} s");
        }
    }

    #[test]
    fn a_peer_that_the_system_does_not_send_to_is_named_at_once_and_once() {
        let mut peers = UnheardPeers::new(120);
        let told: Vec<u64> = (3..30)
            .filter(|&second| peers.is_news(&unheard(1, second, Some("no route"))))
            .collect();
        assert_eq!(told, [3]);
        assert!(!peers.is_news(&unheard(1, 40, None)), "it is the same peer");
    }

    #[test]
    fn a_process_warns_of_a_few_peers_only_and_its_last_line_names_that_limit() {
        let mut peers = UnheardPeers::new(120);
        let mut lines = Vec::new();
        for peer in 0..100 {
            if peers.is_news(&unheard(peer, 10, None)) {
                lines.push(peers.rest());
            }
        }
        assert_eq!(lines, ["", "", "; other peers are not named"]);
    }
}
