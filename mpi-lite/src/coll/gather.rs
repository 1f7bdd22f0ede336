//! Gathering to one process. Source: MPI 5.0, 6.5.

use super::between::{Role, given, receive_from_each};
use super::buffers::{
    Given, Input, SEND_IN_PLACE, at_root, blocks, check_blocks, check_each, check_fills, keep,
    parts,
};
use super::choose::{self, Rooted};
use super::collective::Collective;
use super::levels::Levels;
use super::near::Near;
use super::pieces;
use super::tree::lowest_bit;
use crate::comm::{Call, Everyone, Members, Nodes, Operation, Peers, Sides};
use crate::data::Buffer;
use crate::error::Result;

/// Collects a block of each process at the root.
///
/// The [cause](crate::error::Cause) of an error is `Root`, `Argument` if an argument of the root is
/// missing, `Truncate` if the own block is longer than its place, `Count` or `NullBuffer`.
///
/// Source: MPI 5.0, 6.5.
#[derive(Clone, Debug)]
pub struct Gather {
    /// The block of this process. The root's may lie in place.
    pub send: Input,
    /// Of the root alone: the first place, which counts elements *per process*. The others follow.
    pub receive: Option<Buffer>,
    /// The rank of the root.
    pub root: i32,
}

impl Collective for Gather {
    type Output = ();

    fn call(&self) -> Call {
        Call::rooted(Operation::Gather, self.root)
    }

    fn check(&self, members: Members) -> Result<()> {
        if !members.is_root(self.root)? {
            return self.send.required()?.check().map(drop);
        }
        let receive = at_root(self.receive.as_ref())?;
        check_blocks(receive, members.all)?;
        check_fills(&self.send, receive)?;
        let places = Given::Equal(receive, members.all as u32);
        places.refuse_overlap(Given::by(&self.send, 1), SEND_IN_PLACE)
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        match Role::checked(self.root, others)? {
            Role::Root => check_blocks(at_root(self.receive.as_ref())?, others),
            Role::Idle => Ok(()),
            Role::Other(_) => given(&self.send)?.check().map(drop),
        }
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        match Role::of(self.root) {
            Role::Root => {
                let receive = at_root(self.receive.as_ref())?;
                receive_from_each(sides, &parts(receive, sides.remote.all())).await
            }
            Role::Idle => Ok(()),
            Role::Other(root) => sides.remote.send(root, given(&self.send)?).await,
        }
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let Some(at_site) = choose::rooted_near(near) else {
            return Ok(None);
        };
        let root = self.root as usize;
        let first = self.receive.as_ref().filter(|_| near.here() == root);
        let own = self.send.nth(near.here(), first)?;
        pieces::gather(at_site, &own, first, root).map(Some)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let root = self.root as usize;
        let first = self.receive.as_ref().filter(|_| peers.here() == root);
        let own = self.send.nth(peers.here(), first)?;
        let places = first.map(|first| parts(first, peers.all()));
        let places = places.as_deref();
        match (choose::rooted(peers, own.bytes()?), peers.nodes()) {
            (Rooted::Tree, Some(nodes)) => {
                Box::pin(by_nodes(peers, nodes, &own, places, root)).await
            }
            _ => collect(peers, &own, places, root).await,
        }
    }
}

/// Collects blocks of different lengths at the root.
///
/// The [cause](crate::error::Cause) of an error is as for [`Gather`].
///
/// Source: MPI 5.0, 6.5.
#[derive(Clone, Debug)]
pub struct Gatherv {
    /// The block of this process. The root's may lie in place.
    pub send: Input,
    /// Of the root alone: a place for each process.
    pub receive: Option<Vec<Buffer>>,
    /// The rank of the root.
    pub root: i32,
}

impl Collective for Gatherv {
    type Output = ();

    fn call(&self) -> Call {
        Call::rooted(Operation::Gatherv, self.root)
    }

    fn check(&self, members: Members) -> Result<()> {
        if !members.is_root(self.root)? {
            return self.send.required()?.check().map(drop);
        }
        let receive = at_root(self.receive.as_ref())?;
        check_each(receive, members.all)?;
        check_fills(&self.send, &receive[members.here])?;
        Given::Each(receive).refuse_overlap(Given::by(&self.send, 1), SEND_IN_PLACE)
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        match Role::checked(self.root, others)? {
            Role::Root => check_each(at_root(self.receive.as_ref())?, others),
            Role::Idle => Ok(()),
            Role::Other(_) => given(&self.send)?.check().map(drop),
        }
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        match Role::of(self.root) {
            Role::Root => {
                let receive = at_root(self.receive.as_ref())?;
                receive_from_each(sides, receive).await
            }
            Role::Idle => Ok(()),
            Role::Other(root) => sides.remote.send(root, given(&self.send)?).await,
        }
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let root = self.root as usize;
        let places = self.receive.as_deref().filter(|_| peers.here() == root);
        let own = self.send.block(peers.here(), places)?;
        direct(peers, &own, places, root).await
    }
}

/// Collects equal blocks at the root, as from processes that are equally near.
pub(super) async fn collect(
    peers: &impl Peers,
    own: &Buffer,
    places: Option<&[Buffer]>,
    root: usize,
) -> Result<()> {
    match choose::rooted(peers, own.bytes()?) {
        Rooted::Tree => tree(peers, own, places, root).await,
        Rooted::Direct => direct(peers, own, places, root).await,
    }
}

/// The leader of each node collects the blocks there, packed. The root gets those of a node in one
/// message.
async fn by_nodes(
    peers: &impl Everyone,
    nodes: &Nodes,
    own: &Buffer,
    places: Option<&[Buffer]>,
    root: usize,
) -> Result<()> {
    let levels = Levels::led_by(root, peers, nodes);
    let (node, leader) = (levels.node(), levels.leader());
    let Some(leaders) = levels.leaders() else {
        return collect(node, own, None, leader).await;
    };
    let block = own.bytes()? as usize;
    let room = |members: &Vec<usize>| Buffer::zeroed(members.len() * block);
    let of_nodes = match places {
        Some(_) => Some(nodes.all().iter().map(room).collect::<Result<Vec<_>>>()?),
        None => None,
    };
    let root = nodes.number(root);
    let held = match &of_nodes {
        Some(of_nodes) => of_nodes[root].clone(),
        None => Buffer::zeroed(node.all() * block)?,
    };
    let packed = parts(&blocks(&held, block, 0..1), node.all());
    collect(node, own, Some(&packed), leader).await?;
    match nodes.each() {
        Some(_) => collect(leaders, &held, of_nodes.as_deref(), root).await?,
        None => direct(leaders, &held, of_nodes.as_deref(), root).await?,
    }
    let (Some(of_nodes), Some(places)) = (of_nodes, places) else {
        return Ok(());
    };
    for (members, of_node) in nodes.all().iter().zip(&of_nodes) {
        for (at, &rank) in members.iter().enumerate() {
            places[rank].copy_from(&blocks(of_node, block, at..at + 1))?;
        }
    }
    Ok(())
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
    let held = Buffer::zeroed(covered * block)?;
    held.copy_from(own)?;
    let mut bit = 1;
    while bit < covered {
        let end = (2 * bit).min(covered);
        let incoming = blocks(&held, block, bit..end);
        peers
            .receive((distance + bit + root) % size, &incoming)
            .await?;
        bit *= 2;
    }
    let Some(places) = places else {
        let to = (distance - lowest + root) % size;
        return peers.send(to, &held).await;
    };
    for distance in 1..covered {
        places[(distance + root) % size].copy_from(&blocks(
            &held,
            block,
            distance..distance + 1,
        ))?;
    }
    keep(own, &places[root])
}
