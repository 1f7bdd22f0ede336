//! The links of a process, by what each of them leads to.

use core::ops::Deref;

use super::tallies::Counts;
use super::{
    Arrival, Capabilities, Landing, Link, Outbound, PeerId, Progress, Refusal, Sink, Tallies,
    Transport,
};
use crate::clock::Instant;

/// The links of a process. The first one leads to the process itself. One may lead to the ranks of
/// its node, through memory, and one to all others.
#[derive(Debug)]
pub struct Links {
    list: Vec<Link>,
    /// What each of them can do.
    capabilities: Vec<Capabilities>,
    memory: Option<usize>,
    /// The link to this process may have something to do. Only this process sends over it.
    own_is_busy: bool,
}

impl Links {
    /// The place of the link to the process itself.
    pub const OWN: usize = 0;

    /// The link to the process itself, the one through memory, and the one to all others.
    ///
    /// # Panics
    /// When `memory` is no link through memory: see
    /// [`Capabilities::is_memory`](super::Capabilities::is_memory).
    #[must_use]
    pub fn new(own: Link, memory: Option<Link>, others: Option<Link>) -> Self {
        let is_memory = memory.as_ref().map(|link| link.capabilities().is_memory);
        assert_ne!(is_memory, Some(false), "the link is not through memory");
        let place = memory.is_some().then_some(Self::OWN + 1);
        let list: Vec<_> = [Some(own), memory, others].into_iter().flatten().collect();
        Self {
            capabilities: list.iter().map(Transport::capabilities).collect(),
            list,
            memory: place,
            own_is_busy: false,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// What the link at `place` can do.
    #[inline]
    #[must_use]
    pub fn capabilities(&self, place: usize) -> &Capabilities {
        &self.capabilities[place]
    }

    /// The place of the link through memory.
    #[inline]
    #[must_use]
    pub fn memory(&self) -> Option<usize> {
        self.memory
    }

    /// The place of the link to peers that no other link leads to.
    #[must_use]
    pub fn others(&self) -> usize {
        self.list.len() - 1
    }

    /// Returns true if a link leads to other nodes.
    #[must_use]
    pub fn reach_beyond_memory(&self) -> bool {
        self.memory != Some(self.others())
    }

    /// Returns true if the link to this process may have something to do.
    #[inline]
    #[must_use]
    pub fn own_is_busy(&self) -> bool {
        self.own_is_busy
    }

    /// What all of them have counted.
    #[must_use]
    pub fn tallies(&self) -> Tallies {
        let mut tallies = Tallies::default();
        for link in &self.list {
            link.count(&mut tallies);
        }
        tallies
    }

    /// Returns when a turn is due even if nothing arrives.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        self.list.iter().filter_map(Transport::wake_at).min()
    }

    /// Returns true if messages to ranks of this node are not all in their channels, or not all
    /// done with.
    #[inline]
    #[must_use]
    pub fn hold_back_in_memory(&self) -> bool {
        self.memory.is_some_and(|link| !self.list[link].is_quiet())
    }

    /// Returns true if other processes may be copying from or to memory of the program now.
    #[must_use]
    pub fn let_others_copy(&self) -> bool {
        self.tallies().others_copy
    }

    /// Returns true if all messages to other processes are with their receivers.
    #[must_use]
    pub fn are_quiet(&self) -> bool {
        // A message to itself that was not received keeps no other process from ending.
        self.list.iter().skip(1).all(Transport::is_quiet)
    }
}

impl Links {
    /// The link at `place`.
    #[inline(always)]
    pub fn at(&mut self, place: usize) -> &mut Link {
        &mut self.list[place]
    }

    /// Sends a message over the link at `place`: see [`Transport::send`].
    ///
    /// # Errors
    /// [`Refusal`]; nothing was sent.
    #[inline(always)]
    pub fn send(&mut self, place: usize, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
        self.own_is_busy |= place == Self::OWN;
        self.list[place].send(to, message)
    }

    /// Lands a message that was left with its sender: see [`Transport::land`].
    pub fn land(&mut self, place: usize, arrival: Arrival, landing: Landing) -> bool {
        self.own_is_busy |= place == Self::OWN;
        self.list[place].land(arrival, landing)
    }

    /// Lets the link at `place` make progress: see [`Transport::progress`].
    #[inline(always)]
    pub fn progress(&mut self, place: usize, now: Instant, sink: &mut impl Sink) -> Progress {
        self.list[place].progress(now, sink)
    }

    /// Notes that the link to this process has made progress as far as it can.
    #[inline]
    pub fn note_own_turn(&mut self) {
        self.own_is_busy = self.list[Self::OWN].wake_at().is_some();
    }

    /// Sends what the links have kept back.
    #[inline]
    pub fn flush(&mut self) {
        for link in &mut self.list {
            link.flush();
        }
    }

    /// Begins a sleep of the program, or ends it. Returns true if nothing has come meanwhile.
    pub fn set_asleep(&mut self, is_asleep: bool) -> bool {
        let mut is_quiet = true;
        for link in &mut self.list {
            is_quiet &= link.set_asleep(is_asleep);
        }
        is_quiet
    }

    /// Sets back pressure on all links: see [`Transport::push_back`].
    pub fn push_back(&mut self, away: bool) {
        for link in &mut self.list {
            link.push_back(away);
        }
    }

    /// Notes that `MPI_Finalize` has begun.
    pub fn close(&mut self) {
        for link in &mut self.list {
            link.close();
        }
    }
}

impl Deref for Links {
    type Target = [Link];

    #[inline]
    fn deref(&self) -> &[Link] {
        &self.list
    }
}
