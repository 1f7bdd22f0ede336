//! RMPP, the Reliable Message Passing Protocol of Riesen and Maccabe, as a state machine.
//!
//! It has no payload, no clock and no socket: the driver around it has them. `docs/protocol.md`
//! states each rule; the rule's name stands above the code that keeps it. The run loop:
//!
//! 1. A packet came: find the node that sent it by its address, check the job's cookie, then
//!    [`Endpoint::cut`] and [`Endpoint::handle`] it; copy the payload where the [`Placement`] is.
//! 2. A new message ([`Placement::First`]): ask the layer above, and
//!    [`land`](IncomingMessages::land) it.
//! 3. The layer above sends: [`Endpoint::send`]; keep the bytes until the message's last event.
//! 4. It is [`State::next_timeout`]: [`Endpoint::handle_timeout`].
//! 5. After each of these, [`Endpoint::poll_transmit`] until `None`: send the header, and behind
//!    it the range of the message that the [`Transmit`] names.
//! 6. Then [`Endpoint::poll_event`] until `None`, in any case before the next packet is handled:
//!    messages are announced in their order only then.
//!
//! Data packets that follow each other may leave and come as a [`Run`], which costs hardly more
//! than one of them.
//!
//! `examples/two_peers.rs` is this loop in full.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod alarms;
mod bits;
mod caps;
mod common;
mod config;
mod counters;
mod endpoint;
mod error;
mod event;
mod grant;
mod ids;
mod incoming;
mod list;
mod outgoing;
mod packet;
mod peer;
mod rng;
mod schedule;
mod slab;
mod table;
#[cfg(test)]
mod table_text;
mod time;
mod timers;

pub use caps::{Caps, ProfileError};
#[cfg(feature = "planted")]
pub use config::Bug;
pub use config::{Config, VERSION};
pub use counters::{Bytes, Counters, Measure, Peak, Repeats, Row, Rows};
#[cfg(feature = "simulated")]
pub use endpoint::Survey;
pub use endpoint::{Endpoint, IncomingMessages, OutgoingMessages, State};
pub use error::{Dropped, SendError};
pub use event::{Event, Landing, Message, Placement, Transmit};
pub use ids::{IncomingId, NodeId, OutgoingId};
pub use incoming::Awaited;
pub use packet::{
    FAST_HEADER_BYTES, Flags, HEADER_BYTES, Header, HeaderBytes, Kind, MAX_HEADER_BYTES, Packet,
    Run, Shape,
};
pub use rng::Rng;
pub use time::Instant;
