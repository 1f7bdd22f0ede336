//! Links that lose, copy, reorder and delay datagrams, in virtual time, from one seed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rmpp_core::{Instant, Kind, NodeId, Rng};

/// The faults of the links. Probabilities are in parts per million.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// A datagram is lost.
    pub loss_ppm: u32,
    /// A datagram of this packet type is lost with this probability, beside `loss_ppm`.
    pub loss_of: Option<(Kind, u32)>,
    /// A datagram comes twice.
    pub duplicate_ppm: u32,
    /// A datagram is kept back, so that later ones overtake it.
    pub reorder_ppm: u32,
    /// How long at most it is kept back, in nanoseconds.
    pub reorder_ns: u64,
    /// A datagram is kept back for very long.
    pub tail_ppm: u32,
    /// How long at most, in nanoseconds.
    pub tail_ns: u64,
    /// Least time on the way, in nanoseconds.
    pub min_delay_ns: u64,
    /// Spread of the time on the way, in nanoseconds; a link keeps the order all the same, except
    /// for datagrams kept back by `reorder_ppm`.
    pub spread_ns: u64,
}

impl Faults {
    /// A network that does nothing wrong and takes 10 µs.
    #[must_use]
    pub fn none() -> Self {
        Self {
            loss_ppm: 0,
            loss_of: None,
            duplicate_ppm: 0,
            reorder_ppm: 0,
            reorder_ns: 0,
            tail_ppm: 0,
            tail_ns: 0,
            min_delay_ns: 10_000,
            spread_ns: 0,
        }
    }

    /// Loss, copies and reordering in a moderate mixture, with a loss of `loss_ppm`.
    #[must_use]
    pub fn lossy(loss_ppm: u32) -> Self {
        Self {
            loss_ppm,
            duplicate_ppm: loss_ppm / 2,
            reorder_ppm: loss_ppm / 2,
            reorder_ns: 200_000,
            spread_ns: 10_000,
            ..Self::none()
        }
    }
}

/// How fast the links are: each node has a link to and from one switch. Without it datagrams take
/// no room on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wires {
    /// Rate of each link in each direction, in bytes per microsecond: 1,250 are 10 Gb/s.
    pub bytes_per_us: u64,
    /// Bytes that may wait for the link to a node; what comes on top is dropped.
    pub port_bytes: u64,
}

impl Wires {
    /// How long `bytes` are on a link, in nanoseconds.
    #[must_use]
    pub fn time_ns(&self, bytes: u64) -> u64 {
        bytes * 1_000 / self.bytes_per_us
    }
}

/// When a link, named by its node, is free again.
#[derive(Default)]
struct Links(Vec<Instant>);

impl Links {
    fn of(&mut self, node: NodeId) -> &mut Instant {
        let at = node.0 as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, Instant::ZERO);
        }
        &mut self.0[at]
    }
}

struct Flight<D> {
    at: Instant,
    order: u64,
    from: NodeId,
    to: NodeId,
    /// Its bytes, if it has still to cross the link to its node.
    queued_bytes: Option<u64>,
    datagram: D,
}

/// Datagrams under way. The same seed and the same calls give the same deliveries.
pub struct Network<D = Vec<u8>> {
    faults: Faults,
    rng: Rng,
    /// What is under way, in the order of arrival: when, a number, and the place among `flights`. A
    /// heap moves its entries about, so they are short.
    arrivals: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    flights: Vec<Option<Flight<D>>>,
    free: Vec<usize>,
    order: u64,
    /// When the latest datagram of a link that keeps the order arrives.
    latest: BTreeMap<(NodeId, NodeId), Instant>,
    /// Directed links that carry nothing until a moment.
    cuts: Vec<(NodeId, NodeId, Instant)>,
    /// Directed links that keep back what is sent on them.
    clogs: Vec<(NodeId, NodeId, Instant)>,
    wires: Option<Wires>,
    /// Links from the nodes and to them.
    links: [Links; 2],
    overflowed: u64,
}

impl<D: Clone> Network<D> {
    /// A network without datagrams.
    #[must_use]
    pub fn new(seed: u64, faults: Faults) -> Self {
        Self {
            faults,
            rng: Rng::new(seed),
            arrivals: BinaryHeap::new(),
            flights: Vec::new(),
            free: Vec::new(),
            order: 0,
            latest: BTreeMap::new(),
            cuts: Vec::new(),
            clogs: Vec::new(),
            wires: None,
            links: [Links::default(), Links::default()],
            overflowed: 0,
        }
    }

    /// Returns this network with links of a rate, for datagrams sent by
    /// [`send_sized`](Self::send_sized).
    #[must_use]
    pub fn with_wires(mut self, wires: Wires) -> Self {
        self.wires = Some(wires);
        self
    }

    /// How many datagrams were dropped because too many bytes waited for the link to their node.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Changes what goes wrong from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Cuts the link `from` -> `to` (this direction only) until `until`.
    pub fn cut(&mut self, from: NodeId, to: NodeId, until: Instant) {
        self.cuts.push((from, to, until));
    }

    /// Clogs the link `from` -> `to`: what is sent on it before `until` begins its way then.
    pub fn clog(&mut self, from: NodeId, to: NodeId, until: Instant) {
        self.clogs.push((from, to, until));
    }

    /// Mends all cut and clogged links.
    pub fn mend(&mut self) {
        self.cuts.clear();
        self.clogs.clear();
    }

    /// When what is sent now begins its way.
    fn begins(&mut self, now: Instant, way: (NodeId, NodeId)) -> Instant {
        self.clogs.retain(|clog| clog.2 > now);
        let clogs = self.clogs.iter().filter(|clog| (clog.0, clog.1) == way);
        clogs.map(|clog| clog.2).max().unwrap_or(now)
    }

    /// A datagram of unknown type leaves `from` for `to`. Returns how many copies will come.
    pub fn send(&mut self, now: Instant, from: NodeId, to: NodeId, datagram: D) -> u32 {
        self.send_kind(now, (from, to), None, datagram)
    }

    /// A datagram that carries a packet of type `kind`, for losses of one type alone.
    pub fn send_kind(
        &mut self,
        now: Instant,
        (from, to): (NodeId, NodeId),
        kind: Option<Kind>,
        datagram: D,
    ) -> u32 {
        if self.loses(now, from, to, kind) {
            return 0;
        }
        let begins = self.begins(now, (from, to));
        self.launch_copies(begins, (from, to), None, datagram)
    }

    /// A datagram of `bytes` bytes, which takes its time on the links.
    pub fn send_sized(
        &mut self,
        now: Instant,
        (from, to): (NodeId, NodeId),
        bytes: u64,
        datagram: D,
    ) -> u32 {
        let mut leaves = now;
        if let Some(wires) = self.wires {
            let free = self.links[0].of(from);
            leaves = (*free).max(now).plus_ns(wires.time_ns(bytes));
            *free = leaves;
        }
        if self.loses(now, from, to, None) {
            return 0;
        }
        let queued_bytes = self.wires.map(|_| bytes);
        self.launch_copies(leaves, (from, to), queued_bytes, datagram)
    }

    fn launch_copies(
        &mut self,
        leaves: Instant,
        way: (NodeId, NodeId),
        queued_bytes: Option<u64>,
        datagram: D,
    ) -> u32 {
        let twice = self.rng.chance(self.faults.duplicate_ppm);
        if twice {
            self.launch(leaves, way, queued_bytes, datagram.clone());
        }
        self.launch(leaves, way, queued_bytes, datagram);
        1 + u32::from(twice)
    }

    fn loses(&mut self, now: Instant, from: NodeId, to: NodeId, kind: Option<Kind>) -> bool {
        self.cuts.retain(|cut| cut.2 > now);
        if self.cuts.iter().any(|cut| (cut.0, cut.1) == (from, to)) {
            return true;
        }
        let one_kind = match self.faults.loss_of {
            Some((lossy, ppm)) if Some(lossy) == kind => ppm,
            _ => 0,
        };
        self.rng.chance(one_kind) || self.rng.chance(self.faults.loss_ppm)
    }

    fn launch(
        &mut self,
        now: Instant,
        (from, to): (NodeId, NodeId),
        queued_bytes: Option<u64>,
        datagram: D,
    ) {
        let delay = self.faults.min_delay_ns + self.rng.below(self.faults.spread_ns + 1);
        let mut at = now.plus_ns(delay);
        if self.rng.chance(self.faults.reorder_ppm) {
            at = at.plus_ns(self.rng.below(self.faults.reorder_ns + 1));
        } else if self.rng.chance(self.faults.tail_ppm) {
            at = at.plus_ns(self.rng.below(self.faults.tail_ns + 1));
        } else if self.faults.spread_ns > 0 {
            let latest = self.latest.entry((from, to)).or_default();
            at = at.max(*latest);
            *latest = at;
        }
        self.order += 1;
        let order = self.order;
        self.push(Flight {
            at,
            order,
            from,
            to,
            queued_bytes,
            datagram,
        });
    }

    fn push(&mut self, flight: Flight<D>) {
        let place = self.free.pop().unwrap_or(self.flights.len());
        if place == self.flights.len() {
            self.flights.push(None);
        }
        self.arrivals
            .push(Reverse((flight.at, flight.order, place)));
        self.flights[place] = Some(flight);
    }

    /// A datagram has come to the link to its node, and waits there if there is room for it.
    fn enter_port(&mut self, mut flight: Flight<D>, wires: Wires, bytes: u64) {
        let free = self.links[1].of(flight.to);
        let waits_ns = free.0.saturating_sub(flight.at.0);
        if waits_ns * wires.bytes_per_us / 1_000 > wires.port_bytes {
            self.overflowed += 1;
            return;
        }
        flight.at = flight.at.plus_ns(waits_ns + wires.time_ns(bytes));
        flight.queued_bytes = None;
        *free = flight.at;
        self.push(flight);
    }

    /// When to look for the next datagram; `None`: nothing is under way.
    #[must_use]
    pub fn next_delivery(&self) -> Option<Instant> {
        self.arrivals.peek().map(|next| next.0.0)
    }

    /// The next datagram that has arrived by `now`: from, to, and itself.
    pub fn deliver(&mut self, now: Instant) -> Option<(NodeId, NodeId, D)> {
        while self.next_delivery()? <= now {
            let Reverse((_, _, place)) = self.arrivals.pop()?;
            self.free.push(place);
            let flight = self.flights[place].take()?;
            let Some((wires, bytes)) = self.wires.zip(flight.queued_bytes) else {
                return Some((flight.from, flight.to, flight.datagram));
            };
            self.enter_port(flight, wires, bytes);
        }
        None
    }

    /// The next result of `deliver`, if there are no links of a rate.
    #[must_use]
    pub fn arrived(&self, now: Instant) -> Option<(NodeId, NodeId, &D)> {
        let &Reverse((_, _, place)) = self.arrivals.peek()?;
        let flight = self.flights[place].as_ref()?;
        let is_there = flight.at <= now && self.wires.is_none();
        is_there.then_some((flight.from, flight.to, &flight.datagram))
    }

    /// How many datagrams are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.arrivals.len()
    }
}
