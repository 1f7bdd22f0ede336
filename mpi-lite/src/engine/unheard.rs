//! Warns the user of peers that have never answered anything.

use std::time::Duration;

use crate::transport::{Hindrance, PeerId, Unheard};

/// How long a peer may leave all packets unanswered before the warning. Peers answer in less than a
/// second, whatever their program does.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most lines that one process writes: the first ones are enough.
const LINES: usize = 3;

/// The peers that the user was warned of.
#[derive(Debug, Default)]
pub(super) struct UnheardPeers(Vec<PeerId>);

impl UnheardPeers {
    /// Returns true if the user must be warned of a peer: once, and of a few peers only.
    pub(super) fn is_news(&mut self, unheard: &Unheard) -> bool {
        let is_refused = matches!(unheard.hindrance, Some(Hindrance::Refusal(_)));
        let is_time = is_refused || unheard.waited >= PATIENCE;
        let is_news = is_time && self.0.len() < LINES && !self.0.contains(&unheard.peer);
        if is_news {
            self.0.push(unheard.peer);
        }
        is_news
    }

    /// Returns the end of the last line: that there may be more.
    pub(super) fn rest(&self) -> &'static str {
        if self.0.len() < LINES {
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
    fn a_peer_without_an_answer_is_named_once_and_after_ten_seconds() {
        let mut peers = UnheardPeers::default();
        let told: Vec<u64> = (3..30)
            .filter(|&second| peers.is_news(&unheard(1, second, None)))
            .collect();
        assert_eq!(told, [10]);
    }

    #[test]
    fn a_peer_that_the_system_does_not_send_to_is_named_at_once_and_once() {
        let mut peers = UnheardPeers::default();
        let told: Vec<u64> = (3..30)
            .filter(|&second| peers.is_news(&unheard(1, second, Some("no route"))))
            .collect();
        assert_eq!(told, [3]);
        assert!(!peers.is_news(&unheard(1, 40, None)), "it is the same peer");
    }

    #[test]
    fn a_process_warns_of_a_few_peers_only_and_its_last_line_names_that_limit() {
        let mut peers = UnheardPeers::default();
        let mut lines = Vec::new();
        for peer in 0..100 {
            if peers.is_news(&unheard(peer, 10, None)) {
                lines.push(peers.rest());
            }
        }
        assert_eq!(lines, ["", "", "; other peers are not named"]);
    }
}
