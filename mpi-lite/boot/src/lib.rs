//! What a rank and its launcher share: the frames of their conversation, what is in them, and how
//! both read settings, hosts and the machine. `mpi-lite` and `mpirun` are built on it; it uses
//! neither.
//!
//! * the conversation: [`protocol`], [`state`], [`secret`], [`shared`] with [`node_memory`]
//! * where and with what: [`address`], [`hosts`], [`machine`], [`transports`], [`launchers`]
//! * what a user sets: [`config`]
//! * the records of packets, which ranks write and `mpirun` reads: [`packets`]
//! * memory for keys: [`hidden`]

pub mod address;
pub mod config;
pub mod hidden;
pub mod hosts;
pub mod launchers;
pub mod machine;
pub mod node_memory;
pub mod packets;
pub mod protocol;
pub mod secret;
pub mod shared;
pub mod state;
pub mod transports;

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
