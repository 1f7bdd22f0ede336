//! Broadcast. Source: MPI 5.0, 6.4.

use super::buffers::split;
use super::choose::{self, Broadcast, nearness};
use super::tree::lowest_bit;
use super::{allgather, scatter, shared};
use crate::comm::{Begun, Call, Communicator, Operation, Peers, TaskPeers, finish, go_on};
use crate::data::Buffer;
use crate::engine::Request;
use crate::error::Result;

/// Broadcast.
impl Communicator {
    /// Gives everybody what the root has in `buffer`; all buffers hold the same data in bytes.
    /// Returns when this process's buffer may be used.
    ///
    /// # Errors
    /// `Cause::Root`, `Cause::Count`, `Cause::NullBuffer`; `Cause::Truncate` if the root's
    /// message is longer; `Cause::Lost`.
    ///
    /// Source: MPI 5.0, 6.4.
    pub fn bcast(&self, buffer: &Buffer, root: i32) -> Result<()> {
        let peers = self.within_rooted(Operation::Bcast, root);
        finish(broadcast(&peers, buffer, root))
    }

    /// Starts a broadcast. The buffer stays valid and untouched until the request completes, with
    /// `Cause::Truncate` if the root's message is longer, `Cause::Lost` if a process is gone.
    ///
    /// # Errors
    /// `Cause::Root`, `Cause::Count`, `Cause::NullBuffer`: nothing was started.
    ///
    /// Source: MPI 5.0, 6.12.2.
    pub fn ibcast(&self, buffer: Buffer, root: i32) -> Result<Request> {
        drop(broadcast(&self.beside(), &buffer, root)?);
        let call = Call::rooted(Operation::Bcast, root);
        Ok(self.start(call, false, move |peers: TaskPeers| async move {
            go_on(broadcast(&peers, &buffer, root)).await
        }))
    }
}

/// Sends the root's `buffer` to all.
pub(super) fn broadcast(
    peers: &impl Peers,
    buffer: &Buffer,
    root: i32,
) -> Begun<impl Future<Output = Result<()>>> {
    let root = peers.check_root(root)?;
    let bytes = buffer.check()?;
    if peers.all() == 1 {
        return Ok(None);
    }
    let choice = choose::broadcast(bytes, peers.all(), nearness(peers));
    if let (Broadcast::Site, Some(at_site)) = (choice, peers.at_site()) {
        shared::broadcast(at_site, buffer, root)?;
        return Ok(None);
    }
    Ok(Some(async move {
        match choice {
            Broadcast::Parts => in_parts(peers, buffer, root).await,
            _ => binomial(peers, buffer, root).await,
        }
    }))
}

/// Binomial tree over the distance from the root: a process receives from the one without its
/// lowest set bit, then serves those that have its bits and one lower one, far ones first.
pub(super) async fn binomial(peers: &impl Peers, buffer: &Buffer, root: usize) -> Result<()> {
    let size = peers.all();
    let distance = (peers.here() + size - root) % size;
    let lowest = lowest_bit(distance, size);
    if distance > 0 {
        peers
            .receive((distance - lowest + root) % size, buffer)
            .await?;
    }
    let mut bit = lowest / 2;
    while bit > 0 {
        if distance + bit < size {
            peers.send((distance + bit + root) % size, buffer).await?;
        }
        bit /= 2;
    }
    Ok(())
}

/// Each process gets a part from the root and the rest around a ring: every link carries the
/// message about once, however many processes there are.
pub(super) async fn in_parts(peers: &impl Peers, buffer: &Buffer, root: usize) -> Result<()> {
    let is_root = peers.here() == root;
    let mut copy = Vec::new();
    let whole = match buffer.contiguous() {
        Some(span) => Buffer::at(
            span.origin(0),
            span.len() as u64,
            crate::data::Basic::Byte.into(),
        ),
        None if is_root => {
            copy = buffer.pack();
            Buffer::of_bytes(&mut copy)
        }
        None => {
            copy.resize(buffer.bytes()? as usize, 0);
            Buffer::of_bytes(&mut copy)
        }
    };
    let parts = split(&whole, peers.all());
    scatter::direct(peers, &parts[peers.here()], is_root.then_some(&parts), root).await?;
    allgather::ring(peers, &parts).await?;
    if !copy.is_empty() && !is_root {
        buffer.unpack(&copy);
    }
    Ok(())
}
