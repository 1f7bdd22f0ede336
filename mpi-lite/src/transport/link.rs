//! All links that there are, as one type, and what they have counted.

use std::os::fd::BorrowedFd;

#[cfg(feature = "sim")]
use super::sim::Sim;
#[cfg(feature = "sim")]
use super::tap::Tap;
use super::{
    Arrival, Capabilities, EnvelopeBytes, Landing, Loopback, Outbound, PeerId, Progress, Refusal,
    Shm, Sink, Transport, Udp,
};
use crate::clock::Instant;
use crate::counters::{Datagrams, Rows, Shared};
use crate::memory::Span;

/// A transport, one of the transports we have.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a process has a handful of links"
)]
pub enum Link {
    /// To this process itself.
    Loopback(Loopback),
    /// Memory that the ranks of a node share.
    Shm(Shm),
    /// RMPP over UDP.
    Udp(Udp),
    /// RMPP over a simulated network.
    #[cfg(feature = "sim")]
    Sim(Sim),
    /// Another one whose events a test records.
    #[cfg(feature = "sim")]
    Tap(Box<Tap<Link>>),
}

macro_rules! link_from {
    ($($inner:ty => $variant:ident),*) => {$(
        impl From<$inner> for Link {
            fn from(inner: $inner) -> Self {
                Self::$variant(inner)
            }
        }
    )*};
}

link_from!(Udp => Udp);

/// What the transports of a process have counted. A transport that it does not use has counted
/// nothing, so that the rows are the same for all processes.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    pub(super) shm: Shared,
    pub(super) rmpp: rmpp_core::Counters,
    pub(super) udp: Datagrams,
}

impl Tallies {
    /// What `links` have counted.
    #[must_use]
    pub fn of(links: &[Link]) -> Self {
        let mut tallies = Self::default();
        for link in links {
            tallies.read(link);
        }
        tallies
    }

    fn read(&mut self, link: &Link) {
        match link {
            Link::Loopback(_) => {}
            Link::Shm(shm) => self.shm = shm.counters(),
            Link::Udp(udp) => udp.count(self),
            #[cfg(feature = "sim")]
            Link::Sim(sim) => sim.count(self),
            #[cfg(feature = "sim")]
            Link::Tap(tap) => self.read(tap.link()),
        }
    }

    /// All counters, always as many rows and in the same order.
    #[must_use]
    pub fn rows(&self) -> Rows {
        let mut rows = self.shm.rows();
        rows.extend(self.rmpp.rows());
        rows.extend(self.udp.rows());
        rows
    }
}

macro_rules! each {
    ($link:expr, $inner:ident => $call:expr) => {
        match $link {
            Link::Loopback($inner) => $call,
            Link::Shm($inner) => $call,
            Link::Udp($inner) => $call,
            #[cfg(feature = "sim")]
            Link::Sim($inner) => $call,
            #[cfg(feature = "sim")]
            Link::Tap($inner) => $call,
        }
    };
}

impl Transport for Link {
    fn capabilities(&self) -> Capabilities {
        each!(self, link => link.capabilities())
    }

    #[inline(always)]
    fn offer(&mut self, to: PeerId, envelope: &EnvelopeBytes, body: Span) -> bool {
        each!(self, link => link.offer(to, envelope, body))
    }

    #[inline]
    fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
        each!(self, link => link.send(to, message))
    }

    #[inline]
    fn flush(&mut self) {
        each!(self, link => link.flush());
    }

    #[inline]
    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
        each!(self, link => link.land(arrival, landing))
    }

    #[inline(always)]
    fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress {
        each!(self, link => link.progress(now, sink))
    }

    fn wake_at(&self) -> Option<Instant> {
        each!(self, link => link.wake_at())
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        each!(self, link => link.wake_on())
    }

    fn begin_sleep(&mut self) -> bool {
        each!(self, link => link.begin_sleep())
    }

    fn end_sleep(&mut self) {
        each!(self, link => link.end_sleep());
    }

    fn push_back(&mut self, away: bool) {
        each!(self, link => link.push_back(away));
    }

    fn is_quiet(&self) -> bool {
        each!(self, link => link.is_quiet())
    }
}
