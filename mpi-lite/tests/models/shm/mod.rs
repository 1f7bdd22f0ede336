//! The channels between ranks of one node: the library's files on the model's ground.

#[path = "../../../src/transport/shm/reply_slot.rs"]
mod reply_slot;
#[path = "../../../src/transport/shm/ring.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod ring;
#[path = "../../../src/transport/shm/sequence.rs"]
mod sequence;
#[path = "../../../src/transport/shm/transfer.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod transfer;

mod long_messages;
mod short_messages;
mod sleep;
