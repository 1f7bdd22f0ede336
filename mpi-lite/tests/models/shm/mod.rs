//! The roads between ranks of one node: the library's files on the model's ground.

mod bells;
mod neighbour;
#[allow(unreachable_pub, reason = "as in the library")]
mod segment;

#[path = "../../../src/transport/shm/about.rs"]
#[allow(
    unreachable_pub,
    dead_code,
    reason = "the library says more of it to others"
)]
mod about;
#[path = "../../../src/transport/shm/baton.rs"]
mod baton;
#[path = "../../../src/transport/shm/exchange.rs"]
#[allow(unreachable_pub, reason = "the library says more of it to others")]
mod exchange;
#[path = "../../../src/transport/shm/line.rs"]
#[allow(unreachable_pub, reason = "the library says more of it to others")]
mod line;
#[path = "../../../src/transport/shm/meeting.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the models do not use all of it"
)]
mod meeting;
#[path = "../../../src/transport/shm/rest.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod rest;
#[path = "../../../src/transport/shm/ring.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod ring;
#[path = "../../../src/transport/shm/transfer.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod transfer;

mod long_messages;
mod sheets;
mod short_messages;
mod sleep;

use sheets::Shm;
