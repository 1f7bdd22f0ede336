//! Scattering from one process. Source: MPI 5.0, 6.6.

use super::between::{Role, given, send_to_each};
use super::buffers::{
    Given, Input, RECEIVE_IN_PLACE, at_root, blocks, check_blocks, check_each, check_filled, keep,
    parts,
};
use super::choose::{self, Rooted};
use super::collective::Collective;
use super::levels::{Levels, select};
use super::near::Near;
use super::pieces;
use super::tree::lowest_bit;
use crate::comm::{Call, Everyone, Members, Nodes, Operation, Peers, Sides};
use crate::data::Buffer;
use crate::error::Result;

/// Gives each process its block of the root's.
///
/// The [cause](crate::error::Cause) of an error is as for [`Gather`](super::Gather).
///
/// Source: MPI 5.0, 6.6.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// Of the root alone: the first block, which counts elements *per process*. The others follow.
    pub send: Option<Buffer>,
    /// Where the block of this process goes. The root's may stay in place.
    pub receive: Input,
    /// The rank of the root.
    pub root: i32,
}

impl Collective for Scatter {
    type Output = ();

    fn call(&self) -> Call {
        Call::rooted(Operation::Scatter, self.root)
    }

    fn check(&self, members: Members) -> Result<()> {
        if !members.is_root(self.root)? {
            return self.receive.required()?.check().map(drop);
        }
        let send = at_root(self.send.as_ref())?;
        check_blocks(send, members.all)?;
        check_filled(&self.receive, send)?;
        let blocks = Given::Equal(send, members.all as u32);
        blocks.refuse_overlap(Given::by(&self.receive, 1), RECEIVE_IN_PLACE)
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        match Role::checked(self.root, others)? {
            Role::Root => check_blocks(at_root(self.send.as_ref())?, others),
            Role::Idle => Ok(()),
            Role::Other(_) => given(&self.receive)?.check().map(drop),
        }
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        match Role::of(self.root) {
            Role::Root => {
                let send = at_root(self.send.as_ref())?;
                send_to_each(sides, &parts(send, sides.remote.all())).await
            }
            Role::Idle => Ok(()),
            Role::Other(root) => sides.remote.receive(root, given(&self.receive)?).await,
        }
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let Some(at_site) = choose::rooted_near(near) else {
            return Ok(None);
        };
        let root = self.root as usize;
        let first = self.send.as_ref().filter(|_| near.here() == root);
        let own = self.receive.nth(near.here(), first)?;
        pieces::scatter(at_site, &own, first, root).map(Some)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let root = self.root as usize;
        let first = self.send.as_ref().filter(|_| peers.here() == root);
        let own = self.receive.nth(peers.here(), first)?;
        let blocks = first.map(|first| parts(first, peers.all()));
        let blocks = blocks.as_deref();
        match (choose::rooted(peers, own.bytes()?), peers.nodes()) {
            (Rooted::Tree, Some(nodes)) => {
                Box::pin(by_nodes(peers, nodes, &own, blocks, root)).await
            }
            _ => hand_out(peers, &own, blocks, root).await,
        }
    }
}

/// Gives each process its block, of different lengths.
///
/// The [cause](crate::error::Cause) of an error is as for [`Gather`](super::Gather).
///
/// Source: MPI 5.0, 6.6.
#[derive(Clone, Debug)]
pub struct Scatterv {
    /// Of the root alone: a block for each process.
    pub send: Option<Vec<Buffer>>,
    /// Where the block of this process goes. The root's may stay in place.
    pub receive: Input,
    /// The rank of the root.
    pub root: i32,
}

impl Collective for Scatterv {
    type Output = ();

    fn call(&self) -> Call {
        Call::rooted(Operation::Scatterv, self.root)
    }

    fn check(&self, members: Members) -> Result<()> {
        if !members.is_root(self.root)? {
            return self.receive.required()?.check().map(drop);
        }
        let send = at_root(self.send.as_ref())?;
        check_each(send, members.all)?;
        check_filled(&self.receive, &send[members.here])?;
        Given::Each(send).refuse_overlap(Given::by(&self.receive, 1), RECEIVE_IN_PLACE)
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        match Role::checked(self.root, others)? {
            Role::Root => check_each(at_root(self.send.as_ref())?, others),
            Role::Idle => Ok(()),
            Role::Other(_) => given(&self.receive)?.check().map(drop),
        }
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        match Role::of(self.root) {
            Role::Root => {
                let send = at_root(self.send.as_ref())?;
                send_to_each(sides, send).await
            }
            Role::Idle => Ok(()),
            Role::Other(root) => sides.remote.receive(root, given(&self.receive)?).await,
        }
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let root = self.root as usize;
        let blocks = self.send.as_deref().filter(|_| peers.here() == root);
        let own = self.receive.block(peers.here(), blocks)?;
        direct(peers, &own, blocks, root).await
    }
}

/// Gives each process its equal block, as to processes that are equally near.
pub(super) async fn hand_out(
    peers: &impl Peers,
    own: &Buffer,
    blocks: Option<&[Buffer]>,
    root: usize,
) -> Result<()> {
    match choose::rooted(peers, own.bytes()?) {
        Rooted::Tree => tree(peers, own, blocks, root).await,
        Rooted::Direct => direct(peers, own, blocks, root).await,
    }
}

/// The leader of each node gets the blocks of all processes there in one message, packed.
async fn by_nodes(
    peers: &impl Everyone,
    nodes: &Nodes,
    own: &Buffer,
    of_root: Option<&[Buffer]>,
    root: usize,
) -> Result<()> {
    let levels = Levels::led_by(root, peers, nodes);
    let (node, leader) = (levels.node(), levels.leader());
    let Some(leaders) = levels.leaders() else {
        return hand_out(node, own, None, leader).await;
    };
    let block = own.bytes()? as usize;
    let root = nodes.number(root);
    let packed = of_root.map(|all| -> Result<Vec<Buffer>> {
        let each = nodes.all().iter();
        each.map(|members| pack_for(all, members)).collect()
    });
    let of_nodes = packed.transpose()?;
    let held = match &of_nodes {
        Some(of_nodes) => of_nodes[root].clone(),
        None => Buffer::zeroed(node.all() * block)?,
    };
    match nodes.each() {
        Some(_) => hand_out(leaders, &held, of_nodes.as_deref(), root).await?,
        None => direct(leaders, &held, of_nodes.as_deref(), root).await?,
    }
    // The root's block may stay in place, so it comes from there.
    let of_node = match of_root {
        Some(all) => select(all, nodes.members(root)),
        None => parts(&blocks(&held, block, 0..1), node.all()),
    };
    hand_out(node, own, Some(&of_node), leader).await
}

/// The blocks of these ranks, one after the other.
fn pack_for(all: &[Buffer], ranks: &[usize]) -> Result<Buffer> {
    let mut packed = Vec::new();
    for &rank in ranks {
        all[rank].append_to(&mut packed);
    }
    Buffer::holding(&packed)
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
    of_root: Option<&[Buffer]>,
    root: usize,
) -> Result<()> {
    let size = peers.all();
    let distance = (peers.here() + size - root) % size;
    let lowest = lowest_bit(distance, size);
    let covered = lowest.min(size - distance);
    let (held, block) = match of_root {
        Some(all) => pack_from(all, root)?,
        None => {
            let block = own.bytes()? as usize;
            let held = Buffer::zeroed(covered * block)?;
            let from = (distance - lowest + root) % size;
            peers.receive(from, &held).await?;
            (held, block)
        }
    };
    let mut bit = lowest / 2;
    while bit > 0 {
        if bit < covered {
            let end = (2 * bit).min(covered);
            let outgoing = blocks(&held, block, bit..end);
            peers
                .send((distance + bit + root) % size, &outgoing)
                .await?;
        }
        bit /= 2;
    }
    match of_root {
        Some(all) => keep(&all[root], own),
        None => own.copy_from(&blocks(&held, block, 0..1)).map(drop),
    }
}

/// Returns the blocks one after the other, the root's first, and the bytes of one.
fn pack_from(all: &[Buffer], root: usize) -> Result<(Buffer, usize)> {
    let block = all[root].bytes()? as usize;
    let held = Buffer::zeroed(block * all.len())?;
    for (place, at) in (root..all.len()).chain(0..root).enumerate() {
        blocks(&held, block, place..place + 1).copy_from(&all[at])?;
    }
    Ok((held, block))
}
