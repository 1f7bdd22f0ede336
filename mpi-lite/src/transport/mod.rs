//! The contract of a transport, and the transports that keep it.
//!
//! A transport carries whole messages between processes, reliably and in order per pair. A message
//! is an envelope, which only the engine decodes, and a body, which lies in the user's memory and
//! is not copied on the way down. A transport has no tags and no communicators.
//!
//! The engine calls a link. A link that makes progress delivers into a [`Sink`] that the caller
//! lends. When the first packet of a message comes, [`Sink::arriving`] gets its envelope and
//! returns a
//! [`Landing`]: matching happens once, before the bulk arrives, and a posted receive is filled in
//! place. `Landing::Later` is back pressure: nothing more of the message comes until it lands.
//! (RMPP paper, §3.6, Figure 7: the up-call (b), placement (c), completion (A).)

mod cards;
mod contract;
#[cfg(feature = "laboratory")]
pub mod laboratory;
mod link;
mod links;
mod loopback;
mod message;
mod one_of;
mod ports;
pub mod shm;
#[cfg(feature = "sim")]
pub mod sim;
mod sink;
#[cfg_attr(
    not(feature = "laboratory"),
    allow(dead_code, reason = "packet protocols use more of it than TCP")
)]
mod streams;
mod tallies;
#[cfg(feature = "sim")]
pub mod tap;
pub mod tcp;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test that hangs must end")]
pub(crate) mod tests;
pub mod udp;

pub use cards::read_cards;
pub use contract::{Capabilities, Progress, Transport};
pub use link::Link;
pub use links::Links;
pub use loopback::Loopback;
pub use message::{Arrival, ENVELOPE_BYTES, EnvelopeBytes, Outbound, Refusal, Token};
pub use mpi_boot::transports::{Named, TRANSPORTS, named, possible};
pub use shm::Shm;
#[cfg(test)]
use sink::told;
pub use sink::{Hindrance, Incoming, Landing, Lost, Sink, Unheard};
pub use tallies::Tallies;
pub use tcp::Tcp;
pub use udp::Udp;

pub use crate::ids::PeerId;
