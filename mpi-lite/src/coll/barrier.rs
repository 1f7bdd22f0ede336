//! Barrier. Source: MPI 5.0, 6.3.

use super::choose::{self, Synchronisation, nearness};
use super::shared;
use crate::comm::{Begun, Call, Communicator, Operation, Peers, TaskPeers, finish, go_on};
use crate::data::Buffer;
use crate::engine::Request;
use crate::error::Result;

/// Synchronisation.
impl Communicator {
    /// Waits until all processes of the communicator have called it.
    ///
    /// # Errors
    /// `Cause::Lost` if a process is gone.
    ///
    /// Source: MPI 5.0, 6.3.
    pub fn barrier(&self) -> Result<()> {
        finish(barrier(&self.within(Operation::Barrier)))
    }

    /// Starts a barrier. The request completes when all processes of the communicator have called
    /// this, with `Cause::Lost` if one is gone.
    ///
    /// Source: MPI 5.0, 6.12.1.
    #[must_use]
    pub fn ibarrier(&self) -> Request {
        let call = Call::of_all(Operation::Barrier);
        self.start(call, false, |peers: TaskPeers| async move {
            go_on(barrier(&peers)).await
        })
    }
}

pub(super) fn barrier(peers: &impl Peers) -> Begun<impl Future<Output = Result<()>>> {
    if peers.all() == 1 {
        return Ok(None);
    }
    match (choose::barrier(nearness(peers)), peers.at_site()) {
        (Synchronisation::Rounds, Some(at_site)) => shared::barrier_in_rounds(at_site)?,
        (Synchronisation::Count, Some(at_site)) => shared::barrier_by_count(at_site)?,
        _ => return Ok(Some(dissemination(peers))),
    }
    Ok(None)
}

/// Dissemination: in round k each process sends an empty message to the one 2^k after it. The
/// message means that the sender and the 2^k - 1 processes before it have come. After ⌈log2 size⌉
/// rounds all have come.
pub(super) async fn dissemination(peers: &impl Peers) -> Result<()> {
    let nothing = Buffer::of_bytes(&mut []);
    let mut distance = 1;
    while distance < peers.all() {
        let (to, from) = (peers.after(distance), peers.before(distance));
        peers.exchange((to, &nothing), (from, &nothing)).await?;
        distance *= 2;
    }
    Ok(())
}
