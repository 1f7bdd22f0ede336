//! What one random job is like, all of it drawn from its seed.

use std::time::Duration;

use mpi_lite::config::Settings;
use mpi_lite::ids::Context;
use mpi_lite::transport::sim::Guest;
use rmpp_core::{Caps, Config};
use rmpp_sim::Faults;

use crate::rng::Rng;

/// A communicator: its context, and which process has which rank in it.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) context: Context,
    pub(crate) members: Vec<u32>,
}

impl Group {
    pub(crate) fn rank_of(&self, process: usize) -> Option<u32> {
        let at = self.members.iter().position(|&m| m as usize == process)?;
        u32::try_from(at).ok()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) processes: usize,
    /// Operations of all processes together.
    pub(crate) steps: usize,
    pub(crate) groups: Vec<Group>,
    /// Tags are below.
    pub(crate) tags: u64,
    /// Bytes of the longest message.
    pub(crate) longest: u64,
    /// In percent: how often a receive names any source, any tag.
    pub(crate) wild: u64,
    /// In percent: how often there is a turn between two operations.
    pub(crate) turns: u64,
    /// Bytes of the buffer for buffered sends.
    pub(crate) attached: u64,
    /// The program ends with messages that nobody received.
    pub(crate) leaves: bool,
    pub(crate) settings: Settings,
    /// The protocol between the processes.
    pub(crate) guest: Guest,
    pub(crate) config: Config,
    pub(crate) faults: Faults,
    /// Datagrams that a process has room for.
    pub(crate) room: usize,
}

impl Plan {
    pub(crate) fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x0a11_50b5);
        let processes = match rng.below(100) {
            0..4 => 64,
            4..15 => 9 + rng.index(24),
            _ => 2 + rng.index(7),
        };
        let packet_bytes = rng.pick(&[16, 24, 100, 1000]);
        let packets = rng.pick(&[1, 3, 6]);
        let faults = draw_faults(&mut rng);
        Self {
            seed,
            processes,
            steps: 60 + rng.index(240),
            groups: draw_groups(&mut rng, processes),
            tags: 1 + rng.below(4),
            longest: rng.below(packets * packet_bytes as u64 + 1),
            wild: rng.pick(&[0, 20, 50, 90]),
            turns: rng.pick(&[5, 50, 90]),
            attached: rng.pick(&[0, 600, 4000, 1 << 20]),
            leaves: rng.percent(20),
            settings: draw_settings(&mut rng),
            guest: Guest::Rmpp,
            config: draw_config(&mut rng, processes, packet_bytes),
            faults,
            room: rng.pick(&[10, 50, usize::MAX, usize::MAX]),
        }
    }
}

impl Plan {
    /// The same job over another protocol.
    pub(crate) fn over(guest: Guest, seed: u64) -> Self {
        let mut plan = Self::of(seed);
        // A header of a message fits a packet.
        plan.config.packet_bytes = plan.config.packet_bytes.max(64);
        Self { guest, ..plan }
    }
}

fn draw_faults(rng: &mut Rng) -> Faults {
    let mut faults = Faults::lossy(rng.pick(&[0, 10_000, 50_000, 100_000]));
    faults.spread_ns = rng.pick(&[0, 10_000, 500_000]);
    if rng.percent(50) {
        faults.duplicate_ppm = rng.pick(&[10_000, 300_000]);
    }
    if rng.percent(50) {
        faults.reorder_ppm = rng.pick(&[10_000, 100_000]);
        faults.reorder_ns = rng.pick(&[20_000, 1_000_000]);
    }
    faults
}

/// `MPI_COMM_WORLD`, and some groups of some processes in any order.
fn draw_groups(rng: &mut Rng, processes: usize) -> Vec<Group> {
    let world: Vec<u32> = (0..processes as u32).collect();
    let mut groups = vec![Group {
        context: Context::WORLD,
        members: world.clone(),
    }];
    for number in 0..rng.below(4) as u32 {
        let mut members = world.clone();
        rng.shuffle(&mut members);
        members.truncate(1 + rng.index(processes));
        let context = Context(Context::FIRST_FREE.0 + number);
        groups.push(Group { context, members });
    }
    groups
}

/// Thresholds and budgets so small that all ways of travelling occur in one program.
fn draw_settings(rng: &mut Rng) -> Settings {
    Settings {
        eager_copy_bytes: rng.pick(&[0, 20, 500, 16_384]),
        waited_copy_bytes: rng.pick(&[0, 20, 500, 65_536]),
        eager_budget_bytes: rng.pick(&[0, 5000, 20_000, 8_388_608]),
        unexpected_bytes: rng.pick(&[0, 20, 500, 65_536]),
        unexpected_budget_bytes: rng.pick(&[0, 100, 2000, 16_777_216]),
        ..Settings::default()
    }
}

fn draw_config(rng: &mut Rng, processes: usize, packet_bytes: usize) -> Config {
    let nodes = processes as u32;
    let some = Caps::from_bits(rng.below(1 << 16) as u16);
    let caps = rng.pick(&[Caps::CLASSIC, Caps::FAST, some]);
    let mut config = Config::with_caps(nodes, packet_bytes, caps);
    config.unscheduled_bytes = rng.pick(&[0, 3 * packet_bytes, 65_536]);
    config.first_window_bytes = rng.pick(&[1, 10_000, u64::MAX]);
    config.ack_every = rng.pick(&[1, 3, 32]);
    config.max_rcv_buf = rng.pick(&[2, nodes + 20, 2048]);
    config.max_data_pkts = 1 + rng.below(16) as u16;
    config.first_window = rng.pick(&[1, 4, 512]);
    config.first_msg_num = rng.pick(&[0, u32::MAX - 4]);
    config.done_state_lifetime = Duration::from_millis(rng.pick(&[100, 600_000]));
    config.lost_after = None;
    config
}
