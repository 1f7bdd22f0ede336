//! Tests of the protocol's state machine, packet by packet. Those that need a network with faults
//! are in `../sim/tests`.

mod allocation;
mod arbitrary;
mod corners;
mod correspondence;
mod due;
mod fast;
mod headers;
mod names;
mod protocol_page;
mod rules;
mod runs;
mod wire;
