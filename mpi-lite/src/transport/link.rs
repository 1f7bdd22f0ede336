//! All links that there are, as one type.

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

/// Defines a type that is one of several transports. `always` has what each message passes taken
/// into the caller, `never` keeps it out.
macro_rules! one_of {
    ($(#[$about:meta])* $name:ident, inline $inline:ident;
     $($(#[$attribute:meta])* $variant:ident($link:ty) is $meaning:literal;)*) => {
        $(#[$about])*
        #[derive(Debug)]
        #[expect(
            clippy::large_enum_variant,
            reason = "a process has a handful of links"
        )]
        pub enum $name {
            $(#[doc = $meaning] $(#[$attribute])* $variant($link),)*
        }

        $($(#[$attribute])* impl From<$link> for $name {
            fn from(link: $link) -> Self {
                Self::$variant(link)
            }
        })*

        impl Counts for $name {
            fn count(&self, tallies: &mut Tallies) {
                match self { $($(#[$attribute])* Self::$variant(link) => link.count(tallies),)* }
            }
        }

        impl Transport for $name {
            fn capabilities(&self) -> Capabilities {
                match self { $($(#[$attribute])* Self::$variant(link) => link.capabilities(),)* }
            }

            #[inline($inline)]
            fn offer(&mut self, to: PeerId, envelope: &EnvelopeBytes, body: Span) -> bool {
                match self {
                    $($(#[$attribute])* Self::$variant(link) => link.offer(to, envelope, body),)*
                }
            }

            #[inline($inline)]
            fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
                match self { $($(#[$attribute])* Self::$variant(link) => link.send(to, message),)* }
            }

            #[inline($inline)]
            fn flush(&mut self) {
                match self { $($(#[$attribute])* Self::$variant(link) => link.flush(),)* }
            }

            fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
                match self {
                    $($(#[$attribute])* Self::$variant(link) => link.land(arrival, landing),)*
                }
            }

            #[inline($inline)]
            fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress {
                match self {
                    $($(#[$attribute])* Self::$variant(link) => link.progress(now, sink),)*
                }
            }

            #[inline($inline)]
            fn wake_at(&self) -> Option<Instant> {
                match self { $($(#[$attribute])* Self::$variant(link) => link.wake_at(),)* }
            }

            fn wake_on(&self) -> Option<BorrowedFd<'_>> {
                match self { $($(#[$attribute])* Self::$variant(link) => link.wake_on(),)* }
            }

            fn set_asleep(&mut self, is_asleep: bool) -> bool {
                match self {
                    $($(#[$attribute])* Self::$variant(link) => link.set_asleep(is_asleep),)*
                }
            }

            fn push_back(&mut self, away: bool) {
                match self { $($(#[$attribute])* Self::$variant(link) => link.push_back(away),)* }
            }

            fn close(&mut self) {
                match self { $($(#[$attribute])* Self::$variant(link) => link.close(),)* }
            }

            fn is_quiet(&self) -> bool {
                match self { $($(#[$attribute])* Self::$variant(link) => link.is_quiet(),)* }
            }
        }
    };
}

one_of! {
    /// A transport, one of the transports we have.
    Link, inline always;
    Loopback(Loopback) is "To this process itself.";
    Shm(Shm) is "Memory that the ranks of a node share.";
    Udp(Udp) is "RMPP over UDP.";
    Uncommon(Box<Uncommon>) is "One that is there to be compared with these.";
}

one_of! {
    /// A transport beside those that most programs use.
    Uncommon, inline never;
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
    Tap(Tap<Link>) is "Another one whose events a test records.";
}

impl<T> From<T> for Link
where
    Uncommon: From<T>,
{
    fn from(link: T) -> Self {
        Self::Uncommon(Box::new(link.into()))
    }
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
