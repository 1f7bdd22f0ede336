//! Broadcast. Source: MPI 5.0, 6.4.

use super::between::Role;
use super::choose::{self, Broadcast, Meeting, RELAY_BYTES};
use super::collective::Collective;
use super::levels::Levels;
use super::near::Near;
use super::tree::{Relay, lowest_bit};
use super::{buffers, pieces, shared};
use crate::comm::{Call, Everyone, Members, Nodes, Operation, Peers, Sides};
use crate::data::Buffer;
use crate::error::Result;

/// Gives everybody what the root has in `buffer`; all buffers hold the same data in bytes.
///
/// The [cause](crate::error::Cause) of an error is `Root`, `Count` or `NullBuffer`.
///
/// Source: MPI 5.0, 6.4.
#[derive(Clone, Debug)]
pub struct Bcast {
    /// What the root gives, and where the others get it.
    pub buffer: Buffer,
    /// The rank of the root.
    pub root: i32,
}

impl Collective for Bcast {
    type Output = ();

    #[inline]
    fn call(&self) -> Call {
        Call::rooted(Operation::Bcast, self.root)
    }

    #[inline]
    fn check(&self, members: Members) -> Result<()> {
        members.is_root(self.root)?;
        self.buffer.check().map(drop)
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        match Role::checked(self.root, others)? {
            Role::Idle => Ok(()),
            _ => self.buffer.check().map(drop),
        }
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        match Role::of(self.root) {
            Role::Root => sides.remote.send(0, &self.buffer).await,
            Role::Idle => Ok(()),
            Role::Other(root) => take_from(sides, root, &self.buffer).await,
        }
    }

    #[inline(always)]
    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        if near.is_alone() {
            return Ok(Some(()));
        }
        let (buffer, root) = (&self.buffer, self.root as usize);
        match choose::meeting(near, buffer.bytes()?, 1) {
            Some((Meeting::Pieces, at_site)) => pieces::broadcast(at_site, buffer, root).map(Some),
            Some((_, at_site)) => match shared::broadcast(at_site, buffer, root)? {
                None => Ok(Some(())),
                Some(first) => {
                    let here = (buffer.bytes()?, root);
                    pieces::pass_over(at_site, first, here).map(Some)
                }
            },
            None => Ok(None),
        }
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let (buffer, root) = (&self.buffer, self.root as usize);
        match peers.nodes() {
            // Boxed, so that the future of processes that are equally near stays small.
            Some(nodes) => Box::pin(by_nodes(peers, nodes, buffer, root)).await,
            None => broadcast(peers, buffer, root).await,
        }
    }
}

/// The root gives the message to the leader of each other node, and each leader to its node.
async fn by_nodes(
    peers: &impl Everyone,
    nodes: &Nodes,
    buffer: &Buffer,
    root: usize,
) -> Result<()> {
    let levels = Levels::led_by(root, peers, nodes);
    if let Some(leaders) = levels.leaders() {
        broadcast(leaders, buffer, nodes.number(root)).await?;
    }
    broadcast(levels.node(), buffer, levels.leader()).await
}

/// Sends the root's `buffer` to all by messages, as to processes that are equally near.
pub(super) async fn broadcast(peers: &impl Peers, buffer: &Buffer, root: usize) -> Result<()> {
    match choose::broadcast(peers, buffer.bytes()?) {
        Broadcast::Pieces => in_pieces(peers, buffer, root).await,
        Broadcast::Tree => binomial(peers, buffer, root).await,
    }
}

/// Gives all processes of this side what `root` on the other one sends to the first of them.
async fn take_from<P: Peers>(sides: &Sides<P>, root: usize, buffer: &Buffer) -> Result<()> {
    if sides.local.here() == 0 {
        sides.remote.receive(root, buffer).await?;
    }
    broadcast(&sides.local, buffer, 0).await
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

/// In pieces: a process passes each on while the next one is on its way. The root's buffer is only
/// read.
pub(super) async fn in_pieces(peers: &impl Peers, buffer: &Buffer, root: usize) -> Result<()> {
    let is_root = peers.here() == root;
    let in_place = buffer.as_bytes();
    let is_copied = in_place.is_none();
    let whole = match in_place {
        Some(whole) => whole,
        None if is_root => Buffer::holding(&buffer.pack())?,
        None => Buffer::zeroed(buffer.bytes()? as usize)?,
    };
    let pieces = buffers::number_of_pieces(&whole, RELAY_BYTES);
    let Relay { above, below } = Relay::of((peers.here(), peers.all()), root, pieces, true);
    for piece in buffers::pieces(&whole, RELAY_BYTES) {
        if let Some(above) = above {
            peers.receive(above, &piece).await?;
        }
        for &below in &below {
            peers.send(below, &piece).await?;
        }
    }
    if is_copied && !is_root {
        buffer.copy_from(&whole)?;
    }
    Ok(())
}
