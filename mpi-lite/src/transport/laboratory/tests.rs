//! A virtual network in virtual time for tests of pipes, and the rules that every pipe keeps.
//!
//! `MPILITE_SEED=n` replays seed n of a test; `MPILITE_SEEDS=n` runs its first n seeds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use super::pipe::{Notice, Pipe, Setup};
use crate::clock::Instant;
use crate::transport::PeerId;

/// The time of a packet on its way.
const DELAY: Duration = Duration::from_micros(30);
/// How much longer a late packet takes at most.
const LATENESS: Duration = Duration::from_millis(3);
/// When a process tries again that could not send a packet.
const REFUSED_FOR: Duration = Duration::from_micros(20);
/// No test needs as many steps, unless a pipe goes round in circles.
const MOST_STEPS: u64 = 2_000_000;
/// No test needs so long in virtual time.
const MOST_TIME: Duration = Duration::from_secs(3_600);

/// Random numbers: SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `range`.
    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.bits() % (range.end - range.start)
    }

    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.within(0..1_000) < per_mille
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.bits() as u8).collect()
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let wrong = |_| panic!("{variable}={text} is not a number");
    Some(text.parse().unwrap_or_else(wrong))
}

/// Prints the seed when its test fails.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("replay it with MPILITE_SEED={}", self.0);
        }
    }
}

/// Runs a test with the first `count` seeds, or as the variables say.
pub(crate) fn for_seeds(count: u64, test: impl Fn(u64)) {
    let seeds = match number("MPILITE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MPILITE_SEEDS").unwrap_or(count),
    };
    for seed in seeds {
        let _named = Named(seed);
        test(seed);
    }
}

/// A setup as of a process on Ethernet.
pub(crate) fn setup(me: PeerId, nodes: u32) -> Setup {
    Setup {
        me,
        nodes,
        packet_bytes: 1_472,
        buffer_bytes: 212_992,
        lost_after: Some(Duration::from_secs(20)),
        unheard_after: Duration::from_secs(3),
        min_timeout: Duration::from_millis(1),
        max_timeout: Duration::from_secs(1),
        acks_eagerly: false,
    }
}

/// What may happen to a packet, each with a probability in per mille.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    /// It is lost.
    pub(crate) lost: u64,
    /// It comes twice.
    pub(crate) doubled: u64,
    /// It comes late, so that others overtake it.
    pub(crate) late: u64,
    /// The system does not take it; the pipe must keep it.
    pub(crate) refused: u64,
}

impl Faults {
    /// Faults of which each is as likely to be there as not.
    pub(crate) fn of(rng: &mut Rng) -> Self {
        let mut some = |most| [0, rng.within(1..most)][rng.within(0..2) as usize];
        Self {
            lost: some(200),
            doubled: some(200),
            late: some(200),
            refused: some(200),
        }
    }
}

/// The way of fragments: sender, receiver, channel.
type Way = (PeerId, PeerId, u32);

/// Fragment `count` of a way; it has at most `most` bytes. One differs from the next.
fn content(way: Way, count: u64, most: usize) -> Vec<u8> {
    let (from, to, channel) = way;
    let name = (u64::from(from.0) << 48) ^ (u64::from(to.0) << 32) ^ u64::from(channel);
    let mut rng = Rng::new(Rng::new(name).bits() ^ count);
    let len = match rng.within(0..8) {
        0 => most,
        1 => rng.within(1..most as u64 + 1) as usize,
        _ => rng.within(1..33) as usize,
    };
    let mut bytes = rng.bytes(len.min(most));
    bytes[0] = count as u8;
    bytes
}

/// Fragments that are still to be pushed.
struct Flow {
    to: PeerId,
    channel: u32,
    left: u64,
}

struct Node<P> {
    pipe: P,
    flows: Vec<Flow>,
    /// It takes fragments.
    takes: bool,
    /// It neither sends nor receives any more.
    is_cut: bool,
    sleeps_until: Instant,
    /// When it tries to send again.
    tries_at: Option<Instant>,
}

struct Packet {
    from: PeerId,
    to: PeerId,
    bytes: Vec<u8>,
}

/// Processes and the packets between them. It checks that each fragment arrives once and in order.
pub(crate) struct Network<P> {
    now: Instant,
    rng: Rng,
    faults: Faults,
    nodes: Vec<Node<P>>,
    /// By arrival, and by age among those that arrive at the same time.
    packets: BTreeMap<(Instant, u64), Packet>,
    sent: u64,
    pushed: BTreeMap<Way, u64>,
    taken: BTreeMap<Way, u64>,
    notices: Vec<(PeerId, Notice)>,
    violation: Option<String>,
}

fn place(node: PeerId) -> usize {
    node.0 as usize
}

impl<P: Pipe> Network<P> {
    pub(crate) fn new(nodes: u32, seed: u64, faults: Faults) -> Self {
        Self::with_setup(nodes, seed, faults, setup)
    }

    /// A network whose processes have this setup; its second argument is the number of processes.
    pub(crate) fn with_setup(
        nodes: u32,
        seed: u64,
        faults: Faults,
        setup: impl Fn(PeerId, u32) -> Setup,
    ) -> Self {
        let node = |me| Node {
            pipe: P::new(&setup(PeerId(me), nodes)),
            flows: Vec::new(),
            takes: true,
            is_cut: false,
            sleeps_until: Instant::ZERO,
            tries_at: None,
        };
        Self {
            now: Instant::ZERO,
            rng: Rng::new(seed),
            faults,
            nodes: (0..nodes).map(node).collect(),
            packets: BTreeMap::new(),
            sent: 0,
            pushed: BTreeMap::new(),
            taken: BTreeMap::new(),
            notices: Vec::new(),
            violation: None,
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn pipe(&self, node: PeerId) -> &P {
        &self.nodes[place(node)].pipe
    }

    pub(crate) fn pipe_mut(&mut self, node: PeerId) -> &mut P {
        &mut self.nodes[place(node)].pipe
    }

    /// What the pipes have reported, each with the process of the pipe.
    pub(crate) fn notices(&self) -> &[(PeerId, Notice)] {
        &self.notices
    }

    /// Lets `from` push `count` fragments to `to`, on the channel of messages with this key.
    pub(crate) fn add_flow(&mut self, from: PeerId, to: PeerId, key: u32, count: u64) {
        let node = &mut self.nodes[place(from)];
        let channel = node.pipe.channel_of(key);
        node.flows.push(Flow {
            to,
            channel,
            left: count,
        });
        self.serve(from);
    }

    /// From now on a process takes fragments, or takes none.
    pub(crate) fn set_takes(&mut self, node: PeerId, takes: bool) {
        self.nodes[place(node)].takes = takes;
        self.serve(node);
    }

    /// Kills a process.
    pub(crate) fn cut(&mut self, node: PeerId) {
        self.nodes[place(node)].is_cut = true;
    }

    /// Suspends a process for a while.
    pub(crate) fn suspend(&mut self, node: PeerId, span: Duration) {
        self.nodes[place(node)].sleeps_until = self.now.plus(span);
    }

    /// Hands a packet to a process now.
    pub(crate) fn inject(&mut self, from: PeerId, to: PeerId, bytes: &[u8]) {
        let now = self.now;
        self.pipe_mut(to).handle(from, bytes, now);
        self.serve(to);
    }

    /// A copy of a packet that is on its way; none if none is.
    pub(crate) fn some_packet(&mut self) -> Option<(PeerId, PeerId, Vec<u8>)> {
        let count = self.packets.len() as u64;
        let chosen = (count > 0).then(|| self.rng.within(0..count))? as usize;
        let packet = self.packets.values().nth(chosen)?;
        Some((packet.from, packet.to, packet.bytes.clone()))
    }

    /// Does all that a process can do at this moment.
    fn serve(&mut self, node: PeerId) {
        loop {
            let it = &self.nodes[place(node)];
            let is_still = it.is_cut || it.sleeps_until > self.now;
            if is_still || !(self.take(node) | self.push(node) | self.transmit(node)) {
                break;
            }
        }
        while let Some(notice) = self.pipe_mut(node).next_notice() {
            self.notices.push((node, notice));
        }
    }

    /// Takes the fragments that have arrived. Returns true if there were any.
    fn take(&mut self, to: PeerId) -> bool {
        let node = &mut self.nodes[place(to)];
        let most = node.pipe.fragment_bytes();
        let mut has_taken = false;
        while node.takes && node.pipe.has_fragment() {
            let Some(fragment) = node.pipe.next_fragment() else {
                let lie = || "has_fragment promised a fragment".to_owned();
                self.violation.get_or_insert_with(lie);
                break;
            };
            let way = (fragment.from, to, fragment.channel);
            let count = self.taken.entry(way).or_default();
            if fragment.bytes != content(way, *count, most) {
                let found = format!("{way:?}: another fragment than {count}");
                self.violation.get_or_insert(found);
            }
            *count += 1;
            has_taken = true;
        }
        has_taken
    }

    /// Pushes what there is room for, or a part of it. Returns true if there was anything.
    fn push(&mut self, from: PeerId) -> bool {
        let node = &mut self.nodes[place(from)];
        let most = node.pipe.fragment_bytes();
        let mut has_pushed = false;
        for flow in &mut node.flows {
            let mut burst = self.rng.within(1..20);
            while flow.left.min(burst) > 0 && node.pipe.has_room(flow.to, flow.channel) {
                let way = (from, flow.to, flow.channel);
                let count = self.pushed.entry(way).or_default();
                let bytes = content(way, *count, most);
                let fill = |packet: &mut Vec<u8>| packet.extend_from_slice(&bytes);
                node.pipe.push(flow.to, flow.channel, self.now, fill);
                *count += 1;
                flow.left -= 1;
                burst -= 1;
                has_pushed = true;
            }
        }
        has_pushed
    }

    /// Puts packets that are due on their way. Returns true if there were any.
    fn transmit(&mut self, from: PeerId) -> bool {
        let (now, faults, rng) = (self.now, self.faults, &mut self.rng);
        let node = &mut self.nodes[place(from)];
        let packet_bytes = P::HEADER_BYTES + node.pipe.fragment_bytes();
        let mut out = Vec::new();
        let has_more = node.pipe.transmit(now, |to, packet| {
            let is_taken = !rng.chance(faults.refused);
            assert!(!packet.is_empty() && packet.len() <= packet_bytes);
            if is_taken {
                out.push((to, packet.to_vec()));
            }
            is_taken
        });
        node.tries_at = has_more.then(|| now.plus(REFUSED_FOR));
        let has_sent = !out.is_empty();
        for (to, bytes) in out {
            self.send(Packet { from, to, bytes });
        }
        has_sent && !has_more
    }

    fn send(&mut self, packet: Packet) {
        if self.rng.chance(self.faults.lost) {
            return;
        }
        let copies = 1 + u64::from(self.rng.chance(self.faults.doubled));
        for _ in 0..copies {
            let mut arrival = self.now.plus(DELAY);
            if self.rng.chance(self.faults.late) {
                let extra = self.rng.within(0..LATENESS.as_nanos() as u64);
                arrival = arrival.plus(Duration::from_nanos(extra));
            }
            let bytes = packet.bytes.clone();
            self.sent += 1;
            self.packets
                .insert((arrival, self.sent), Packet { bytes, ..packet });
        }
    }

    /// When a process has something to do that does not come from outside.
    fn wakes_at(node: &Node<P>) -> Option<Instant> {
        let wishes = [node.pipe.next_timeout(), node.tries_at];
        let first = wishes.into_iter().flatten().min()?;
        (!node.is_cut).then(|| first.max(node.sleeps_until))
    }

    /// Goes on to the next moment and does what is due then. Returns false if nothing is due before
    /// `end`.
    fn step(&mut self, end: Instant) -> bool {
        let first_packet = self.packets.keys().next().map(|(arrival, _)| *arrival);
        let wakes = self.nodes.iter().filter_map(Self::wakes_at);
        let Some(next) = wakes.chain(first_packet).min().filter(|next| *next < end) else {
            self.now = self.now.max(end);
            return false;
        };
        self.now = self.now.max(next);
        for node in (0..self.nodes.len() as u32).map(PeerId) {
            let it = &mut self.nodes[place(node)];
            if Self::wakes_at(it).is_some_and(|at| at <= self.now) {
                if it.pipe.next_timeout().is_some_and(|at| at <= self.now) {
                    it.pipe.handle_timeout(self.now);
                }
                self.serve(node);
            }
        }
        self.deliver();
        true
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.packets.first_entry()
            && entry.key().0 <= self.now
        {
            let ((_, age), packet) = entry.remove_entry();
            let node = &mut self.nodes[place(packet.to)];
            if node.sleeps_until > self.now {
                self.packets.insert((node.sleeps_until, age), packet);
            } else if !node.is_cut {
                self.inject(packet.from, packet.to, &packet.bytes);
            }
        }
    }

    /// Runs for a while.
    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now.plus(span);
        let mut steps = 0;
        while self.step(end) {
            steps += 1;
            assert!(steps < MOST_STEPS, "the pipes go round in circles");
        }
    }

    /// Runs until all fragments have arrived and all pipes are quiet.
    ///
    /// # Errors
    /// A fragment came twice, out of order or never; or a pipe is not quiet in the end.
    pub(crate) fn run_to_end(&mut self) -> Result<(), String> {
        let end = self.now.plus(MOST_TIME);
        let mut steps = 0;
        while self.violation.is_none() && !self.is_done() && steps < MOST_STEPS && self.step(end) {
            steps += 1;
        }
        if let Some(violation) = self.violation.take() {
            return Err(violation);
        }
        // Packets that are still on their way change nothing.
        self.run_for(2 * LATENESS);
        match self.violation.take() {
            Some(violation) => Err(violation),
            None if self.is_done() => Ok(()),
            None => Err(format!("pushed {:?}, taken {:?}", self.pushed, self.taken)),
        }
    }

    fn is_done(&self) -> bool {
        let is_done = |node: &Node<P>| {
            node.is_cut || node.pipe.is_quiet() && node.flows.iter().all(|flow| flow.left == 0)
        };
        self.pushed == self.taken && self.nodes.iter().all(is_done)
    }
}

fn succeed(result: Result<(), String>) {
    if let Err(violation) = result {
        panic!("{violation}");
    }
}

/// A header and a fragment fit into a packet, and there are short messages.
pub(crate) fn check_limits<P: Pipe>() {
    for packet_bytes in [548, 1_472, 8_972, 65_507] {
        let setup = Setup {
            packet_bytes,
            ..setup(PeerId(0), 2)
        };
        let fragment_bytes = P::new(&setup).fragment_bytes();
        assert!((1..=packet_bytes - P::HEADER_BYTES).contains(&fragment_bytes));
    }
    assert!(P::SHORT_MOST > 0);
}

/// Random flows among two or three processes, with random faults.
pub(crate) fn random_network<P: Pipe>(seed: u64) -> Network<P> {
    let mut rng = Rng::new(!seed);
    let nodes = rng.within(2..4) as u32;
    let faults = Faults::of(&mut rng);
    let mut network = Network::new(nodes, seed, faults);
    for _ in 0..rng.within(1..6) {
        let from = rng.within(0..u64::from(nodes)) as u32;
        let to = (from + rng.within(1..u64::from(nodes)) as u32) % nodes;
        let (key, count) = (rng.bits() as u32, rng.within(1..150));
        network.add_flow(PeerId(from), PeerId(to), key, count);
    }
    network
}

/// Each fragment arrives once, and in order on its channel, whatever the network does.
///
/// # Errors
/// One did not.
pub(crate) fn check_exactly_once<P: Pipe>(seed: u64) -> Result<(), String> {
    random_network::<P>(seed).run_to_end()
}

/// More fragments than there are numbers in `bits` bits arrive, for pipes with short numbers.
pub(crate) fn check_wrap<P: Pipe>(seed: u64, count: u64) {
    let faults = Faults {
        lost: 20,
        late: 5,
        ..Faults::default()
    };
    let mut network = Network::<P>::new(2, seed, faults);
    network.add_flow(PeerId(0), PeerId(1), 0, count);
    network.add_flow(PeerId(1), PeerId(0), 0, count);
    succeed(network.run_to_end());
}

/// A receiver that takes nothing for a while loses nothing, and its senders do not flood it.
/// Returns the network at its end.
pub(crate) fn check_untaken<P: Pipe>(seed: u64, senders: u32) -> Network<P> {
    let mut network = Network::<P>::new(senders + 1, seed, Faults::default());
    network.set_takes(PeerId(0), false);
    for sender in 1..=senders {
        network.add_flow(PeerId(sender), PeerId(0), 0, 300);
    }
    network.run_for(Duration::from_secs(5));
    assert!(network.notices().is_empty(), "{:?}", network.notices());
    assert!(network.taken.is_empty());
    network.set_takes(PeerId(0), true);
    succeed(network.run_to_end());
    network
}

/// A peer that dies is reported lost, once, and takes no more fragments. A process that waits for
/// nothing of it reports nothing.
pub(crate) fn check_lost<P: Pipe>(seed: u64) {
    let mut network = Network::<P>::new(3, seed, Faults::default());
    network.add_flow(PeerId(0), PeerId(1), 0, 50);
    network.add_flow(PeerId(1), PeerId(0), 0, 50);
    network.add_flow(PeerId(2), PeerId(1), 0, 50);
    succeed(network.run_to_end());
    network.cut(PeerId(1));
    network.add_flow(PeerId(0), PeerId(1), 0, 50);
    network.add_flow(PeerId(0), PeerId(2), 0, 50);
    let lost_after = setup(PeerId(0), 3).lost_after.expect("the setup has it");
    network.run_for(lost_after / 2);
    assert_eq!(network.notices(), []);
    network.run_for(2 * lost_after);
    let lost = (PeerId(0), Notice::Lost(PeerId(1)));
    assert_eq!(network.notices(), [lost]);
    let pipe = network.pipe(PeerId(0));
    assert!(!pipe.has_room(PeerId(1), 0), "a lost peer takes nothing");
    assert!(pipe.has_room(PeerId(2), 0), "the other one lives");
    assert!(pipe.is_quiet(), "nothing waits for a lost peer");
    assert_eq!(pipe.next_timeout(), None);
}

/// A peer that has never answered is reported once, with the time of the first packet to it.
pub(crate) fn check_unheard<P: Pipe>(seed: u64) {
    let mut network = Network::<P>::new(2, seed, Faults::default());
    network.run_for(Duration::from_secs(1));
    let since = network.now();
    network.cut(PeerId(1));
    network.add_flow(PeerId(0), PeerId(1), 0, 1);
    network.run_for(Duration::from_secs(10));
    let unheard = (PeerId(0), Notice::Unheard(PeerId(1), since));
    assert_eq!(network.notices(), [unheard]);
}

/// If all processes are suspended for longer than `lost_after`, no peer is lost.
pub(crate) fn check_suspension<P: Pipe>(seed: u64) {
    let mut network = Network::<P>::new(2, seed, Faults::default());
    network.add_flow(PeerId(0), PeerId(1), 0, 100);
    network.run_for(Duration::from_micros(100));
    for node in [0, 1] {
        network.suspend(PeerId(node), Duration::from_secs(1_000 + u64::from(node)));
    }
    succeed(network.run_to_end());
    assert_eq!(network.notices(), []);
}

/// Random bytes and cut packets, of peers that exist and of others, change nothing.
pub(crate) fn check_garbage<P: Pipe>(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut network = random_network::<P>(seed);
    for _ in 0..300 {
        network.run_for(Duration::from_micros(rng.within(1..100)));
        let to = PeerId(rng.within(0..network.nodes.len() as u64) as u32);
        let from = PeerId(rng.within(0..5) as u32);
        let count = rng.within(0..40) as usize;
        network.inject(from, to, &rng.bytes(count));
        if let Some((from, to, packet)) = network.some_packet() {
            let len = rng.within(0..packet.len() as u64) as usize;
            network.inject(from, to, &packet[..len]);
        }
    }
    succeed(network.run_to_end());
}
