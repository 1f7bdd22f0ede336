//! Cards: the ranks of a job exchange them to describe where they listen.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Bytes of a salt: as many as of a key, so that no two Inits ever draw the same salt.
pub(super) const SALT_BYTES: usize = 32;

/// What a rank publishes about its end of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Where its socket listens.
    pub address: SocketAddr,
    /// Random bytes of this Init: no two rounds of it have the same key.
    pub salt: [u8; SALT_BYTES],
}
