//! Gathering to one process. Source: MPI 5.0, 6.5.

use super::buffers::{Input, at_root, keep, lay_down, one_per_process, parts};
use super::choose::{self, Rooted};
use super::tree::lowest_bit;

use crate::comm::{Communicator, Operation, Peers, drive};
use crate::data::Buffer;
use crate::error::Result;

/// Gathering to one process.
impl Communicator {
    /// Collects the `send` of all at the root. `receive`, which only the root gives, counts
    /// elements *per process*: the block of rank r starts r counts on. The root may send in place.
    ///
    /// # Errors
    /// The [cause](crate::error::Cause) is `Root`; `Argument` if an argument of the root is
    /// missing; `Truncate` if a block is longer than its place; `Count`, `NullBuffer` or `Lost`.
    ///
    /// Source: MPI 5.0, 6.5.
    pub fn gather(&self, send: &Input, receive: Option<&Buffer>, root: i32) -> Result<()> {
        let peers = self.within_rooted(Operation::Gather, root);
        drive(gather(&peers, send, receive, root))
    }

    /// Like [`Communicator::gather`], with one place per process at the root (`MPI_Gatherv`).
    ///
    /// # Errors
    /// As for [`Communicator::gather`].
    ///
    /// Source: MPI 5.0, 6.5.
    pub fn gatherv(&self, send: &Input, receive: Option<&[Buffer]>, root: i32) -> Result<()> {
        let peers = self.within_rooted(Operation::Gatherv, root);
        drive(gatherv(&peers, send, receive, root))
    }
}

/// Gathers equal blocks: `receive` counts elements per process.
pub(super) async fn gather(
    peers: &impl Peers,
    send: &Input,
    receive: Option<&Buffer>,
    root: i32,
) -> Result<()> {
    let root = peers.check_root(root)?;
    let places = match peers.here() == root {
        true => Some(parts(at_root(receive)?, peers.all())?),
        false => None,
    };
    let own = own_block(peers, send, places.as_deref())?;
    match choose::rooted(own.check()?, peers.all()) {
        Rooted::Tree => tree(peers, &own, places.as_deref(), root).await,
        Rooted::Direct => direct(peers, &own, places.as_deref(), root).await,
    }
}

/// Gathers blocks of different sizes: one place per process.
pub(super) async fn gatherv(
    peers: &impl Peers,
    send: &Input,
    receive: Option<&[Buffer]>,
    root: i32,
) -> Result<()> {
    let root = peers.check_root(root)?;
    let places = match peers.here() == root {
        true => Some(one_per_process(at_root(receive)?, peers.all())?),
        false => None,
    };
    let own = own_block(peers, send, places)?;
    own.check()?;
    direct(peers, &own, places, root).await
}

/// Returns the block that this process gives. At the root it may lie in place.
fn own_block(peers: &impl Peers, send: &Input, places: Option<&[Buffer]>) -> Result<Buffer> {
    match (send, places) {
        (Input::InPlace, Some(places)) => Ok(places[peers.here()].clone()),
        (send, _) => send.required().cloned(),
    }
}

/// The root receives each block from its process, right into its place.
async fn direct(
    peers: &impl Peers,
    own: &Buffer,
    places: Option<&[Buffer]>,
    root: usize,
) -> Result<()> {
    let Some(places) = places else {
        return peers.send(root, own).await;
    };
    for (rank, place) in places.iter().enumerate() {
        if rank != root {
            peers.receive(rank, place).await?;
        }
    }
    keep(own, &places[root])
}

/// Packed blocks go up a binomial tree over the distance from the root. A process holds its own
/// block and those of the next ones, so each message is one run.
async fn tree(
    peers: &impl Peers,
    own: &Buffer,
    places: Option<&[Buffer]>,
    root: usize,
) -> Result<()> {
    let size = peers.all();
    let distance = (peers.here() + size - root) % size;
    let lowest = lowest_bit(distance, size);
    let covered = lowest.min(size - distance);
    let block = own.bytes()? as usize;
    let mut held = own.pack();
    held.resize(covered * block, 0);
    let mut bit = 1;
    while bit < covered {
        let end = (2 * bit).min(covered);
        let incoming = Buffer::of_bytes(&mut held[bit * block..end * block]);
        peers
            .receive((distance + bit + root) % size, &incoming)
            .await?;
        bit *= 2;
    }
    let Some(places) = places else {
        let outgoing = Buffer::of_bytes(&mut held);
        let to = (distance - lowest + root) % size;
        return peers.send(to, &outgoing).await;
    };
    for (distance, bytes) in held.chunks_exact(block.max(1)).enumerate().skip(1) {
        lay_down(&places[(distance + root) % size], bytes)?;
    }
    keep(own, &places[root])
}
