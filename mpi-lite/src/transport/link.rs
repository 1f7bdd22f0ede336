//! All links that there are, as one type.

use std::os::fd::BorrowedFd;

#[cfg(feature = "sim")]
use rmpp_core::Config;

use super::one_of::one_of;
#[cfg(feature = "sim")]
use super::sim::{Air, Guest, Sim};
use super::tallies::Counts;
#[cfg(feature = "sim")]
use super::tap::Tap;
use super::{
    Arrival, Capabilities, EnvelopeBytes, Landing, Loopback, Outbound, PeerId, Progress, Refusal,
    Shm, Sink, Tallies, Tcp, Transport, Udp,
};
use crate::clock::Instant;
use crate::memory::Span;

one_of! {
    /// A transport, one of the transports we have.
    Link, inline always;
    Loopback(Loopback) is "To this process itself.";
    Shm(Shm) is "Memory that the ranks of a node share.";
    Udp(Udp) is "RMPP over UDP.";
    Uncommon(Box<Uncommon>) is "One beside these.";
}

one_of! {
    /// A transport beside those that most programs use.
    Uncommon, inline never;
    Tcp(Tcp) is "TCP.";
    #[cfg(feature = "laboratory")]
    Laboratory(super::laboratory::Laboratory) is "One that is there to be compared with these.";
    #[cfg(feature = "sim")]
    Sim(Sim) is "RMPP over a simulated network.";
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
        use super::laboratory::{GoBackN, Sctp, Unet};
        match guest {
            Guest::Rmpp => air.join(me, config.clone()).into(),
            Guest::GoBackN => air.join_piped::<GoBackN>(me, config).into(),
            Guest::Unet => air.join_piped::<Unet>(me, config).into(),
            Guest::Sctp => air.join_piped::<Sctp>(me, config).into(),
        }
    }
}
