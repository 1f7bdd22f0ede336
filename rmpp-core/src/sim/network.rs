//! Links that lose, copy, reorder and delay datagrams, in virtual time, from one seed.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

use crate::ids::NodeId;
use crate::packet::Kind;
use crate::rng::Rng;
use crate::time::Instant;

/// What goes wrong on the links. Probabilities are in parts per million.
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

struct Flight<D> {
    at: Instant,
    order: u64,
    from: NodeId,
    to: NodeId,
    datagram: D,
}

impl<D> Flight<D> {
    fn key(&self) -> (Instant, u64) {
        (self.at, self.order)
    }
}

impl<D> PartialEq for Flight<D> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<D> Eq for Flight<D> {}

impl<D> PartialOrd for Flight<D> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<D> Ord for Flight<D> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Datagrams under way. The same seed and the same calls give the same deliveries.
pub struct Network<D = Vec<u8>> {
    faults: Faults,
    rng: Rng,
    flights: BinaryHeap<Reverse<Flight<D>>>,
    order: u64,
    /// When the latest datagram of a link that keeps the order arrives.
    latest: BTreeMap<(NodeId, NodeId), Instant>,
    /// Directed links that carry nothing until a moment.
    cuts: Vec<(NodeId, NodeId, Instant)>,
}

impl<D: Clone> Network<D> {
    /// A network without datagrams.
    #[must_use]
    pub fn new(seed: u64, faults: Faults) -> Self {
        Self {
            faults,
            rng: Rng::new(seed),
            flights: BinaryHeap::new(),
            order: 0,
            latest: BTreeMap::new(),
            cuts: Vec::new(),
        }
    }

    /// Changes what goes wrong from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Cuts the link `from` -> `to` (this direction only) until `until`.
    pub fn cut(&mut self, from: NodeId, to: NodeId, until: Instant) {
        self.cuts.push((from, to, until));
    }

    /// Mends all cut links.
    pub fn mend(&mut self) {
        self.cuts.clear();
    }

    /// A datagram of unknown type leaves `from` for `to`. Answers how many copies will come.
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
        let twice = self.rng.chance(self.faults.duplicate_ppm);
        if twice {
            self.launch(now, from, to, datagram.clone());
        }
        self.launch(now, from, to, datagram);
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

    fn launch(&mut self, now: Instant, from: NodeId, to: NodeId, datagram: D) {
        let delay = self.faults.min_delay_ns + self.rng.below(self.faults.spread_ns + 1);
        let mut at = now.plus_ns(delay);
        if self.rng.chance(self.faults.reorder_ppm) {
            at = at.plus_ns(self.rng.below(self.faults.reorder_ns + 1));
        } else if self.faults.spread_ns > 0 {
            let latest = self.latest.entry((from, to)).or_default();
            at = at.max(*latest);
            *latest = at;
        }
        self.order += 1;
        let order = self.order;
        self.flights.push(Reverse(Flight {
            at,
            order,
            from,
            to,
            datagram,
        }));
    }

    /// When the next datagram arrives; `None`: nothing is under way.
    #[must_use]
    pub fn next_delivery(&self) -> Option<Instant> {
        self.flights.peek().map(|flight| flight.0.at)
    }

    /// The next datagram that has arrived by `now`: from, to, and itself.
    pub fn deliver(&mut self, now: Instant) -> Option<(NodeId, NodeId, D)> {
        if self.next_delivery()? > now {
            return None;
        }
        let Reverse(flight) = self.flights.pop()?;
        Some((flight.from, flight.to, flight.datagram))
    }

    /// How many datagrams are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.flights.len()
    }
}
