//! The plan of one simulated run, all of it drawn from its seed.

use std::time::Duration;

use rmpp_core::{Caps, Config, Kind, Rng};

use super::network::Faults;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Which nodes send to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Everybody to everybody.
    Any,
    /// Everybody to node 0.
    Incast,
    /// Node `k` to node `k + 1` only.
    OneWay,
}

/// A node that does nothing for a while, or a directed link that carries nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The node, or where the link begins.
    pub node: u32,
    /// Where the link ends; the node itself for a pause.
    pub to: u32,
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// How long, in nanoseconds; `u64::MAX`: the node is dead.
    pub span_ns: u64,
}

/// All options of a run. Probabilities are in parts per million.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where all the rest came from.
    pub seed: u64,
    /// How many messages are sent.
    pub messages: u32,
    /// Data packets of the longest message.
    pub max_packets: u64,
    /// Which nodes send to which.
    pub pattern: Pattern,
    /// Mean time between two sends, in nanoseconds.
    pub gap_ns: u64,
    /// Parameters of the endpoints.
    pub config: Config,
    /// The behaviour of the links.
    pub faults: Faults,
    /// A packet comes once more much later.
    pub late_ppm: u32,
    /// How much later at most, in nanoseconds.
    pub late_ns: u64,
    /// A packet comes once more with the cookie of another job.
    pub stale_ppm: u32,
    /// A packet is damaged on the way, which the layer below notices.
    pub damage_ppm: u32,
    /// A send is aborted at some time.
    pub abort_ppm: u32,
    /// A message is not wanted.
    pub refuse_ppm: u32,
    /// A message lands later.
    pub later_ppm: u32,
    /// How much later at most, in nanoseconds.
    pub later_ns: u64,
    /// The layer below has no room after a packet.
    pub stall_ppm: u32,
    /// A node takes in what else has come before it sends.
    pub batch_ppm: u32,
    /// Packets that come together share a datagram, if they may (rule J).
    pub share_ppm: u32,
    /// A node gets a report that its receive buffer was full, whenever its timers are due.
    pub overflow_ppm: u32,
    /// A node has come round to names that it has given out, when it sends.
    pub wrap_ppm: u32,
    /// Time between two packets that fail rule S, in nanoseconds; 0: none come.
    pub forge_ns: u64,
    /// Nodes that sleep; at most one dies.
    pub pauses: Vec<Outage>,
    /// Links cut.
    pub cuts: Vec<Outage>,
    /// Links that keep back what is sent on them until the end of the outage.
    pub clogs: Vec<Outage>,
}

impl Plan {
    /// The plan of a seed: each class of fault is on with probability one half; in every twentieth
    /// nothing goes wrong at all.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        if seed % 20 == 19 {
            Self::calm(seed)
        } else {
            Self::wild(seed)
        }
    }

    fn wild(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x9_1a2);
        let nodes = if rng.chance(10_000) {
            64
        } else {
            2 + rng.below(5) as u32
        };
        let faults = draw_faults(&mut rng);
        let longest = longest_for(&faults);
        let mut plan = Self {
            seed,
            messages: 400 + rng.below(300) as u32,
            max_packets: 1 + rng.below(longest),
            pattern: rng.pick(&[Pattern::Any, Pattern::Any, Pattern::Incast, Pattern::OneWay]),
            gap_ns: rng.pick(&[0, 5 * US, 100 * US, 2 * MS]),
            config: draw_config(&mut rng, nodes),
            faults,
            late_ppm: on(&mut rng, 20_000),
            late_ns: rng.pick(&[MS, 50 * MS, 30 * S]),
            stale_ppm: on(&mut rng, 10_000),
            damage_ppm: 0,
            abort_ppm: on(&mut rng, 100_000),
            refuse_ppm: on(&mut rng, 100_000),
            later_ppm: on(&mut rng, 400_000),
            later_ns: rng.pick(&[50 * US, 5 * MS, 300 * MS]),
            stall_ppm: on(&mut rng, 100_000),
            batch_ppm: 0,
            share_ppm: 0,
            overflow_ppm: 0,
            wrap_ppm: 0,
            forge_ns: if rng.chance(500_000) { MS } else { 0 },
            pauses: Vec::new(),
            cuts: Vec::new(),
            clogs: Vec::new(),
        };
        if plan.config.caps.has(Caps::SNAK) {
            // Nothing is begun anew: loss does not limit the length.
            let most = rng.pick(&[3, 20, 300]);
            plan.max_packets = 1 + rng.below(most);
        }
        plan.draw_outages(&mut rng);
        plan.draw_rarities(&mut Rng::new(seed ^ 0x0dd));
        plan.draw_driver(&mut Rng::new(seed ^ 0xd21));
        plan
    }

    /// A run in which nothing goes wrong: the plan of `seed` without its faults.
    #[must_use]
    pub fn calm(seed: u64) -> Self {
        let mut plan = Self::wild(seed);
        plan.config.max_done_states = 65_536;
        plan.config.max_answers = 65_536;
        plan.config.lost_after = None;
        // An acknowledgement later than the timeout is one that is asked for again.
        plan.config.ack_delay = plan.config.ack_delay.min(Duration::from_micros(100));
        Self {
            faults: Faults::none(),
            late_ppm: 0,
            stale_ppm: 0,
            abort_ppm: 0,
            refuse_ppm: 0,
            later_ppm: 0,
            stall_ppm: 0,
            forge_ns: 0,
            pauses: Vec::new(),
            cuts: Vec::new(),
            clogs: Vec::new(),
            damage_ppm: 0,
            ..plan
        }
    }

    /// Returns true if the links are perfect and each answer comes before its packet is repeated,
    /// so that no packet is ever repeated.
    #[must_use]
    pub fn is_calm(&self) -> bool {
        let round_trip = Duration::from_nanos(2 * self.faults.min_delay_ns);
        let none = Faults {
            min_delay_ns: self.faults.min_delay_ns,
            ..Faults::none()
        };
        self.faults == none
            && round_trip + self.config.ack_delay < self.config.first_timeout
            && self.late_ppm == 0
            && self.config.max_done_states > 1_000
            && self.config.max_answers > 1_000
            && self.stall_ppm == 0
            && self.later_ppm == 0
            && self.pauses.is_empty()
            && self.cuts.is_empty()
            && self.clogs.is_empty()
            && self.damage_ppm == 0
    }

    /// The last moment at which an outage ends, in nanoseconds.
    #[must_use]
    pub fn outages_end_ns(&self) -> u64 {
        let ends = self
            .pauses
            .iter()
            .chain(&self.cuts)
            .chain(&self.clogs)
            .filter(|outage| outage.span_ns < u64::MAX);
        ends.map(|outage| outage.at_ns + outage.span_ns)
            .max()
            .unwrap_or(0)
    }

    /// The node that dies, if one does.
    #[must_use]
    pub fn dead(&self) -> Option<u32> {
        self.pauses
            .iter()
            .find(|pause| pause.span_ns == u64::MAX)
            .map(|pause| pause.node)
    }

    /// Damage, links that clog, datagrams that come when nobody remembers them.
    fn draw_rarities(&mut self, rng: &mut Rng) {
        let nodes = u64::from(self.config.nodes);
        let work_ns = (self.gap_ns * u64::from(self.messages)).max(MS);
        // Messages of many gibibytes cost nothing where no payload moves.
        if rng.chance(50_000) && self.config.caps.has(Caps::WIDE) {
            self.config.packet_bytes = 1 << 30;
        }
        // Round trips of up to 600 ms. When the network heals they become short.
        if rng.chance(150_000) {
            self.faults.min_delay_ns = rng.pick(&[MS, 10 * MS, 50 * MS, 150 * MS, 300 * MS]);
            // A window of one packet may need a round trip for each.
            self.messages = 40 + self.messages / 10;
            self.max_packets = self.max_packets.min(20);
        }
        if rng.chance(300_000) {
            self.damage_ppm = rng.below(5_000) as u32;
        }
        // A packet of a dead node that comes late would be a sign of life.
        if rng.chance(300_000) && self.dead().is_none() {
            self.faults.tail_ppm = rng.below(1_000) as u32;
            self.faults.tail_ns = rng.pick(&[10 * MS, S, 30 * S]);
        }
        for _ in 0..rng.pick(&[0, 0, 0, 1, 4]) {
            let most_ns = rng.pick(&[MS, 100 * MS, 5 * S]);
            self.clogs.push(Outage {
                node: rng.below(nodes) as u32,
                to: rng.below(nodes) as u32,
                at_ns: rng.below(work_ns),
                span_ns: rng.below(most_ns),
            });
        }
    }

    /// Draws the deeds of a driver that no network causes.
    fn draw_driver(&mut self, rng: &mut Rng) {
        self.batch_ppm = rng.pick(&[0, 100_000, 500_000, 1_000_000]);
        self.overflow_ppm = on(rng, 100_000);
        self.wrap_ppm = rng.pick(&[0, 0, 20_000, 500_000]);
        self.share_ppm = match self.config.caps.has(Caps::COALESCE) {
            true => rng.pick(&[0, 100_000, 900_000]),
            false => 0,
        };
    }

    fn draw_outages(&mut self, rng: &mut Rng) {
        let nodes = u64::from(self.config.nodes);
        let work_ns = (self.gap_ns * u64::from(self.messages)).max(MS);
        if rng.chance(300_000) {
            for _ in 0..=rng.below(4) {
                let (node, to) = (rng.below(nodes) as u32, rng.below(nodes) as u32);
                let most_ns = rng.pick(&[5 * MS, 200 * MS, 10 * S]);
                let span_ns = rng.below(most_ns);
                let cut = Outage {
                    node,
                    to,
                    at_ns: rng.below(work_ns),
                    span_ns,
                };
                self.cuts.push(cut);
                if rng.chance(500_000) {
                    self.cuts.push(Outage {
                        node: to,
                        to: node,
                        ..cut
                    });
                }
            }
        }
        if rng.chance(300_000) {
            let node = rng.below(nodes) as u32;
            let most_ns = rng.pick(&[5 * MS, S, 660 * S]);
            let span_ns = rng.below(most_ns);
            self.pauses.push(Outage {
                node,
                to: node,
                at_ns: rng.below(work_ns),
                span_ns,
            });
        } else if rng.chance(70_000) {
            let node = rng.below(nodes) as u32;
            let at_ns = rng.below(work_ns);
            self.pauses.push(Outage {
                node,
                to: node,
                at_ns,
                span_ns: u64::MAX,
            });
            self.config.lost_after = Some(Duration::from_secs(120));
        }
    }
}

fn on(rng: &mut Rng, up_to_ppm: u64) -> u32 {
    if rng.chance(500_000) {
        rng.below(up_to_ppm) as u32
    } else {
        0
    }
}

fn draw_faults(rng: &mut Rng) -> Faults {
    let min_delay_ns = 2 * US + rng.below(48 * US);
    let mut faults = Faults {
        min_delay_ns,
        ..Faults::none()
    };
    if rng.chance(50_000) {
        return faults;
    }
    if rng.chance(600_000) {
        let most = rng.pick(&[1_000, 10_000, 100_000, 300_000]);
        faults.loss_ppm = rng.below(most) as u32;
    }
    if rng.chance(200_000) {
        let kind = rng.pick(&Kind::ALL);
        faults.loss_of = Some((kind, rng.pick(&[100_000, 300_000, 1_000_000])));
    }
    faults.duplicate_ppm = on(rng, 500_000);
    faults.reorder_ppm = on(rng, 300_000);
    faults.reorder_ns = rng.pick(&[50 * US, MS, 50 * MS]);
    faults.spread_ns = rng.pick(&[0, US, 20 * US, 2 * MS]);
    faults
}

/// The longest message, in data packets, that gets through if each loss or reordering restarts it:
/// about ten attempts at most (cost of a restart: docs/protocol.md, rule P11).
fn longest_for(faults: &Faults) -> u64 {
    let of_one_kind = faults
        .loss_of
        .map_or(0, |(_, ppm)| u64::from(ppm.min(300_000)));
    let wrong = u64::from(faults.loss_ppm + faults.reorder_ppm) + of_one_kind;
    (2_300_000 / (wrong + 1)).clamp(3, 100)
}

fn draw_config(rng: &mut Rng, nodes: u32) -> Config {
    let first = [0, (1 << 31) - 5, u32::MAX - 4, rng.bits() as u32];
    let caps = match rng.below(10) {
        0..=2 => Caps::CLASSIC,
        3..=7 => Caps::FAST,
        _ => Caps::from_bits(rng.bits() as u16),
    };
    let mut config = Config::with_caps(nodes, rng.pick(&[16, 64, 1000, 60_000]), caps);
    config.unscheduled_bytes = config.packet_bytes * rng.below(20) as usize;
    config.first_window_bytes = rng.pick(&[1, 10_000, 1 << 20]);
    config.ack_every = rng.pick(&[1, 2, 32, 1000]);
    config.ack_delay = Duration::from_micros(rng.pick(&[0, 10, 100, 10_000]));
    config.max_rcv_buf = rng.pick(&[2, 20, nodes + 40, 2048]);
    config.max_data_pkts = 1 + rng.below(16) as u16;
    config.lost_after = None;
    config.done_state_lifetime = Duration::from_millis(rng.pick(&[1, 100, 10_000, 600_000]));
    config.max_done_states = rng.pick(&[0, 3, 100, 65_536]);
    config.first_window = rng.pick(&[1, 4, 64, 512]);
    config.max_answers = rng.pick(&[8, 65_536]);
    config.first_msg_num = rng.pick(&first);
    config.first_msg_id = rng.pick(&first);
    config
}
