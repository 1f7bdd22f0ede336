//! What the ranks of a job agree on before the first packet.

use std::time::Duration;

use rmpp_core::{Caps, Config};

use super::super::super::Card;
use super::super::Agreed;
use crate::config::Acks;

/// How many messages may wait for their acknowledgement, where they share datagrams: a quarter of
/// what may be under way.
const ACK_EVERY: u32 = 128;

/// A path may hold so many times what the receive buffer does.
const PATH_BUFFERS: u32 = 32;

/// Packets that follow RTS without a grant, even if that is more than the core's measure: with one
/// packet of the loopback the sender is done before the grant is there.
const UNSCHEDULED_PACKETS: usize = 2;

/// What the cards of a job have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    nodes: u32,
    packet_bytes: usize,
    caps: Caps,
    /// The least receive buffer.
    buffer_bytes: u64,
    /// The greatest ranks_per_core.
    ranks_per_core: u32,
}

impl Terms {
    pub(super) fn of(cards: &[Card]) -> Self {
        let least = |of: fn(&Card) -> u64| cards.iter().map(of).min().expect("a job has a rank");
        let caps = cards.iter().map(|card| Caps::from_bits(card.caps));
        Self {
            nodes: u32::try_from(cards.len()).expect("ranks are counted in 32 bits"),
            packet_bytes: least(|card| card.packet_bytes.into()) as usize,
            caps: caps.fold(Caps::FAST, Caps::and),
            buffer_bytes: least(|card| card.buffer_bytes),
            ranks_per_core: cards
                .iter()
                .map(|card| card.ranks_per_core)
                .max()
                .unwrap_or(1),
        }
    }

    /// The protocol's parameters. All ranks come to the same, except for what is each one's own.
    pub(super) fn config(&self, agreed: &Agreed<'_>) -> Config {
        let settings = agreed.settings;
        let mut config = Config::with_caps(self.nodes, self.packet_bytes, self.caps);
        config.seed = agreed.seed;
        config.max_rcv_buf = receive_packets(agreed.buffer_bytes, self.packet_bytes);
        config.max_on_path = config.max_rcv_buf.saturating_mul(PATH_BUFFERS);
        config.unheard_after = Some(UNHEARD_AFTER);
        be_patient(&mut config, settings.lost_s);
        config.min_timeout =
            (config.min_timeout * self.ranks_per_core.max(1)).min(config.max_timeout);
        if self.ranks_per_core > 1 {
            // A peer may have to wait for a core before it answers.
            config.probe_timeout = config.min_timeout;
        }
        if !self.caps.is_classic() {
            let share = self.buffer_bytes / u64::from(self.nodes);
            let packet = self.packet_bytes as u64;
            // Unscheduled data cannot be taken back: there must be room for all peers at once.
            let unscheduled = config
                .unscheduled_bytes
                .max(UNSCHEDULED_PACKETS * self.packet_bytes);
            config.unscheduled_bytes = unscheduled.min(share as usize / 4);
            config.first_window_bytes = (share / 2).clamp(packet, (1 << 20).max(packet));
            if self.caps.has(Caps::COALESCE) {
                // A datagram brings dozens of messages: to answer each costs too much.
                config.ack_every = ACK_EVERY;
            }
            if settings.rmpp_ack == Acks::Eager {
                config.ack_every = 1;
            }
        }
        config
    }
}

/// A peer that has never answered is reported after this time at most: long enough for one that is busy or
/// whose network passes over a fault, and soon enough for a user who waits.
const UNHEARD_AFTER: Duration = Duration::from_secs(3);

/// A peer is lost after `lost_s` seconds of silence, 0: never.
fn be_patient(config: &mut Config, lost_s: u64) {
    config.lost_after = (lost_s > 0).then(|| Duration::from_secs(lost_s));
    if let Some(lost_after) = config.lost_after {
        // A rank that sleeps until the next timer must not take its sleep for a pause (rule T).
        config.max_timeout = config.max_timeout.min(lost_after / 4);
        // The user hears of it before it is lost.
        config.unheard_after = Some(UNHEARD_AFTER.min(lost_after / 2));
    }
}

/// How many full packets a socket buffer of `bytes` holds: the kernel charges a datagram with its
/// page-rounded memory, which for small ones is about twice their size (facts: truesize), and
/// half of the buffer is left to first packets and control packets.
fn receive_packets(bytes: usize, packet_bytes: usize) -> u32 {
    let charge = 2 * (packet_bytes + 512).next_multiple_of(2048);
    u32::try_from(bytes / charge).unwrap_or(u32::MAX).max(2)
}

#[cfg(test)]
mod tests {
    use super::super::super::super::card::tests::card;
    use super::*;
    use crate::config::Settings;
    use crate::transport::PeerId;

    fn agreed<'a>(cards: &'a [Card], buffer_bytes: usize, settings: &'a Settings) -> Agreed<'a> {
        Agreed {
            me: PeerId(0),
            cards,
            buffer_bytes,
            seed: 0,
            settings,
        }
    }

    #[test]
    fn a_job_uses_what_its_ranks_have_in_common() {
        let without = Caps::parse("fast,-ooo").unwrap();
        let cards = [card(Caps::FAST, 1 << 22, 1), card(without, 1 << 20, 3)];
        let terms = Terms::of(&cards);
        assert_eq!((terms.caps, terms.buffer_bytes), (without, 1 << 20));
        let settings = Settings {
            rmpp_ack: Acks::Eager,
            ..Settings::default()
        };
        let agreed = agreed(&cards, 1 << 22, &settings);
        let config = terms.config(&agreed);
        assert_eq!(config.unscheduled_bytes, 2 * 65_000);
        let small = Terms {
            packet_bytes: 1404,
            ..terms
        };
        let small = small.config(&agreed);
        assert_eq!(small.unscheduled_bytes, 65_536, "in packets of an Ethernet");
        assert_eq!(config.first_window_bytes, 1 << 18);
        assert_eq!(config.min_timeout, Duration::from_millis(3));
        assert_eq!(config.ack_every, 1);
        let classic = Terms::of(&[card(Caps::FAST, 1, 1), card(Caps::CLASSIC, 1, 1)]);
        assert!(classic.caps.is_classic());
    }

    #[test]
    fn unasked_packets_of_all_peers_fit_half_of_a_receive_buffer() {
        for nodes in [2, 8, 64, 1000] {
            let cards = vec![card(Caps::FAST, 1 << 23, 1); nodes];
            let settings = Settings::default();
            let config = Terms::of(&cards).config(&agreed(&cards, 1 << 23, &settings));
            assert!(config.unscheduled_bytes * nodes <= 1 << 22, "{nodes}");
            assert!(config.first_window_bytes >= 65_000, "{nodes}");
        }
    }

    #[test]
    fn the_longest_sleep_is_too_short_to_hide_a_lost_peer() {
        for lost_s in 1..200 {
            let mut config = Config::classic(2, 1000);
            be_patient(&mut config, lost_s);
            let longest = config.max_timeout + config.max_timeout / 8;
            assert!(longest <= Duration::from_secs(lost_s) / 2, "{lost_s} s");
            assert!(longest > config.min_timeout, "{lost_s} s");
        }
    }
}
