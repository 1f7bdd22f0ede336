//! The links of the laboratory, as one type.

use std::os::fd::BorrowedFd;

use super::pipe::Pipe;
use super::{GoBackN, Piped, Sctp, Unet};
use crate::clock::Instant;
use crate::memory::Span;
use crate::transport::link::Uncommon;
use crate::transport::one_of::one_of;
#[cfg(feature = "sim")]
use crate::transport::sim::Sim;
use crate::transport::tallies::Counts;
use crate::transport::{
    Arrival, Capabilities, EnvelopeBytes, Landing, Outbound, PeerId, Progress, Refusal, Sink,
    Tallies, Transport, Udp,
};

one_of! {
    /// A transport of the laboratory.
    Laboratory, inline never;
    GoBackN(Udp<Piped<GoBackN>>) is "ParaStation2's protocol over UDP.";
    Unet(Udp<Piped<Unet>>) is "The protocol of MPI over U-Net, over UDP.";
    Sctp(Udp<Piped<Sctp>>) is "SCTP over UDP.";
    #[cfg(feature = "sim")]
    SimGoBackN(Sim<Piped<GoBackN>>) is "ParaStation2's protocol over a simulated network.";
    #[cfg(feature = "sim")]
    SimUnet(Sim<Piped<Unet>>) is "The protocol of MPI over U-Net, over a simulated network.";
    #[cfg(feature = "sim")]
    SimSctp(Sim<Piped<Sctp>>) is "SCTP over a simulated network.";
}

impl<P: Pipe> From<Udp<Piped<P>>> for Uncommon
where
    Laboratory: From<Udp<Piped<P>>>,
{
    fn from(link: Udp<Piped<P>>) -> Self {
        Self::Laboratory(link.into())
    }
}

#[cfg(feature = "sim")]
impl<P: Pipe> From<Sim<Piped<P>>> for Uncommon
where
    Laboratory: From<Sim<Piped<P>>>,
{
    fn from(link: Sim<Piped<P>>) -> Self {
        Self::Laboratory(link.into())
    }
}
