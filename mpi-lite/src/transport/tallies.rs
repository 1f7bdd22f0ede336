//! What the transports of a process have counted.

use crate::counters::{Connections, Datagrams, GoBackN, Rows, Sctp, Shared, Streams, Unet};

/// What the transports of a process have counted. A transport that it does not use has counted
/// nothing, so that the rows are the same for all processes.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    pub(super) shm: Shared,
    pub(super) rmpp: rmpp_core::Counters,
    pub(super) gobackn: GoBackN,
    pub(super) unet: Unet,
    pub(super) sctp: Sctp,
    pub(super) streams: Streams,
    pub(super) udp: Datagrams,
    pub(super) tcp: Connections,
    /// Other processes may be copying from or to memory of the program now.
    pub(super) others_copy: bool,
}

impl Tallies {
    /// All counters, always as many rows and in the same order.
    #[must_use]
    pub fn rows(&self) -> Rows {
        let mut rows = self.shm.rows();
        rows.extend(self.rmpp.rows());
        rows.extend(self.gobackn.rows());
        rows.extend(self.unet.rows());
        rows.extend(self.sctp.rows());
        rows.extend(self.streams.rows());
        rows.extend(self.udp.rows());
        rows.extend(self.tcp.rows());
        rows
    }
}

/// Something that counts.
pub(super) trait Counts {
    /// Adds to `tallies` what it has counted.
    fn count(&self, tallies: &mut Tallies);
}
