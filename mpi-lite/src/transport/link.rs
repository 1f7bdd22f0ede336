//! All links that there are, as one type, and what they have counted.

use std::os::fd::BorrowedFd;

#[cfg(feature = "sim")]
use rmpp_core::Config;

#[cfg(feature = "sim")]
use super::sim::{Air, Guest, Sim};
use super::tallies::Counts;
#[cfg(feature = "sim")]
use super::tap::Tap;
use super::udp::{self, Piped};
use super::{
    Arrival, Capabilities, EnvelopeBytes, Landing, Loopback, Outbound, PeerId, Progress, Refusal,
    Shm, Sink, Tallies, Tcp, Transport, Udp,
};
use crate::clock::Instant;
use crate::memory::Span;

/// Defines [`Link`], and a macro that does the same with each of them.
macro_rules! links {
    ($dollar:tt $($(#[$attribute:meta])* $variant:ident($link:ty) is $meaning:literal;)*) => {
        /// A transport, one of the transports we have.
        #[derive(Debug)]
        #[expect(
            clippy::large_enum_variant,
            reason = "a process has a handful of links"
        )]
        pub enum Link {
            $(#[doc = $meaning] $(#[$attribute])* $variant($link),)*
        }

        $($(#[$attribute])* impl From<$link> for Link {
            fn from(link: $link) -> Self {
                Self::$variant(link)
            }
        })*

        macro_rules! each {
            ($dollar of:expr, $dollar inner:ident => $dollar call:expr) => {
                match $dollar of {
                    $($(#[$attribute])* Link::$variant($dollar inner) => $dollar call,)*
                }
            };
        }
    };
}

links! { $
    Loopback(Loopback) is "To this process itself.";
    Shm(Shm) is "Memory that the ranks of a node share.";
    Udp(Udp) is "RMPP over UDP.";
    GoBackN(Udp<Piped<udp::GoBackN>>) is "ParaStation2's protocol over UDP.";
    Unet(Udp<Piped<udp::Unet>>) is "The protocol of MPI over U-Net, over UDP.";
    Sctp(Udp<Piped<udp::Sctp>>) is "SCTP over UDP.";
    Tcp(Tcp) is "TCP.";
    #[cfg(feature = "sim")]
    Sim(Sim) is "RMPP over a simulated network.";
    #[cfg(feature = "sim")]
    SimGoBackN(Sim<Piped<udp::GoBackN>>) is "ParaStation2's protocol over a simulated network.";
    #[cfg(feature = "sim")]
    SimUnet(Sim<Piped<udp::Unet>>) is "The protocol of MPI over U-Net, over a simulated network.";
    #[cfg(feature = "sim")]
    SimSctp(Sim<Piped<udp::Sctp>>) is "SCTP over a simulated network.";
    #[cfg(feature = "sim")]
    Tap(Box<Tap<Link>>) is "Another one whose events a test records.";
}

#[cfg(feature = "sim")]
impl Link {
    /// The end of process `me` on a simulated network. Protocols other than RMPP take of `config`
    /// what is not RMPP's alone.
    #[must_use]
    pub fn simulated(guest: Guest, air: &Air, me: PeerId, config: &Config) -> Self {
        match guest {
            Guest::Rmpp => air.join(me, config.clone()).into(),
            Guest::GoBackN => air.join_piped::<udp::GoBackN>(me, config).into(),
            Guest::Unet => air.join_piped::<udp::Unet>(me, config).into(),
            Guest::Sctp => air.join_piped::<udp::Sctp>(me, config).into(),
        }
    }
}

impl Counts for Link {
    fn count(&self, tallies: &mut Tallies) {
        each!(self, link => link.count(tallies));
    }
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

    fn set_asleep(&mut self, is_asleep: bool) -> bool {
        each!(self, link => link.set_asleep(is_asleep))
    }

    fn push_back(&mut self, away: bool) {
        each!(self, link => link.push_back(away));
    }

    fn close(&mut self) {
        each!(self, link => link.close());
    }

    fn is_quiet(&self) -> bool {
        each!(self, link => link.is_quiet())
    }
}
