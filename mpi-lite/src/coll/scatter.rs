//! Scattering from one process. Source: MPI 5.0, 6.6.

use super::buffers::{Input, at_root, keep, lay_down, one_per_process, parts};
use super::choose::{self, Rooted};
use super::tree::lowest_bit;

use crate::comm::{Communicator, Operation, Peers, drive};
use crate::data::Buffer;
use crate::error::Result;

/// Scattering from one process.
impl Communicator {
    /// Gives each process its block of the root's `send`, which only the root gives and which
    /// counts elements *per process*. At the root `receive` may be in place: its block stays.
    ///
    /// # Errors
    /// As for [`Communicator::gather`].
    ///
    /// Source: MPI 5.0, 6.6.
    pub fn scatter(&self, send: Option<&Buffer>, receive: &Input, root: i32) -> Result<()> {
        let peers = self.within_rooted(Operation::Scatter, root);
        drive(scatter(&peers, send, receive, root))
    }

    /// Like [`Communicator::scatter`], with one block per process at the root (`MPI_Scatterv`).
    ///
    /// # Errors
    /// As for [`Communicator::gather`].
    ///
    /// Source: MPI 5.0, 6.6.
    pub fn scatterv(&self, send: Option<&[Buffer]>, receive: &Input, root: i32) -> Result<()> {
        let peers = self.within_rooted(Operation::Scatterv, root);
        drive(scatterv(&peers, send, receive, root))
    }
}

/// Scatters equal blocks: `send` counts elements per process. At the root `receive` may be in
/// place: its block stays where it is.
pub(super) async fn scatter(
    peers: &impl Peers,
    send: Option<&Buffer>,
    receive: &Input,
    root: i32,
) -> Result<()> {
    let root = peers.check_root(root)?;
    let blocks = match peers.here() == root {
        true => Some(parts(at_root(send)?, peers.all())?),
        false => None,
    };
    let own = own_place(peers, receive, blocks.as_deref())?;
    match choose::rooted(own.check()?, peers.all()) {
        Rooted::Tree => tree(peers, &own, blocks.as_deref(), root).await,
        Rooted::Direct => direct(peers, &own, blocks.as_deref(), root).await,
    }
}

/// Scatters blocks of different sizes: one per process.
pub(super) async fn scatterv(
    peers: &impl Peers,
    send: Option<&[Buffer]>,
    receive: &Input,
    root: i32,
) -> Result<()> {
    let root = peers.check_root(root)?;
    let blocks = match peers.here() == root {
        true => Some(one_per_process(at_root(send)?, peers.all())?),
        false => None,
    };
    let own = own_place(peers, receive, blocks)?;
    own.check()?;
    direct(peers, &own, blocks, root).await
}

/// Returns where this process's block goes. At the root it may stay in place.
fn own_place(peers: &impl Peers, receive: &Input, blocks: Option<&[Buffer]>) -> Result<Buffer> {
    match (receive, blocks) {
        (Input::InPlace, Some(blocks)) => Ok(blocks[peers.here()].clone()),
        (receive, _) => receive.required().cloned(),
    }
}

/// The root sends each block to its process, right from where it lies.
pub(super) async fn direct(
    peers: &impl Peers,
    own: &Buffer,
    blocks: Option<&[Buffer]>,
    root: usize,
) -> Result<()> {
    let Some(blocks) = blocks else {
        return peers.receive(root, own).await;
    };
    for (rank, block) in blocks.iter().enumerate() {
        if rank != root {
            peers.send(rank, block).await?;
        }
    }
    keep(&blocks[root], own)
}

/// Packed blocks go down a binomial tree over the distance from the root, as in gather, but
/// reversed.
async fn tree(
    peers: &impl Peers,
    own: &Buffer,
    blocks: Option<&[Buffer]>,
    root: usize,
) -> Result<()> {
    let size = peers.all();
    let distance = (peers.here() + size - root) % size;
    let lowest = lowest_bit(distance, size);
    let covered = lowest.min(size - distance);
    let (mut held, block) = match blocks {
        Some(blocks) => pack_from(blocks, root)?,
        None => {
            let block = own.bytes()? as usize;
            let mut held = vec![0; covered * block];
            let from = (distance - lowest + root) % size;
            peers.receive(from, &Buffer::of_bytes(&mut held)).await?;
            (held, block)
        }
    };
    let mut bit = lowest / 2;
    while bit > 0 {
        if bit < covered {
            let end = (2 * bit).min(covered);
            let outgoing = Buffer::of_bytes(&mut held[bit * block..end * block]);
            peers
                .send((distance + bit + root) % size, &outgoing)
                .await?;
        }
        bit /= 2;
    }
    match blocks {
        Some(blocks) => keep(&blocks[root], own),
        None => lay_down(own, &held[..block]),
    }
}

/// Returns the blocks one after the other, the root's first, and the bytes of one.
fn pack_from(blocks: &[Buffer], root: usize) -> Result<(Vec<u8>, usize)> {
    let block = blocks[root].bytes()? as usize;
    let mut held = Vec::with_capacity(block * blocks.len());
    for at in (root..blocks.len()).chain(0..root) {
        blocks[at].append_to(&mut held);
    }
    Ok((held, block))
}
