//! The laboratory: transports that are there to be compared with `rmpp` and `tcp`. They exist with
//! the feature `laboratory` alone.
//!
//! Each is a `Pipe`, a packet protocol that carries streams of bytes. [`Piped`] puts
//! messages on it, by `streams`, and makes it a guest of UDP. `tcp-trc` is of the
//! laboratory, too; it has no file of its own, for it is `tcp` with more connections
//! ([`Sharing::Channel`](super::tcp::Sharing)).
//!
//! Nothing outside names what is here, but for the enum of links, the makers of links (`world`),
//! the simulator and tests.

mod gobackn;
mod link;
pub(super) mod pipe;
mod piped;
mod sctp;
#[cfg(test)]
mod tests;
mod unet;

pub use gobackn::GoBackN;
pub use link::Laboratory;
pub use piped::Piped;
pub use sctp::Sctp;
pub use unet::Unet;
