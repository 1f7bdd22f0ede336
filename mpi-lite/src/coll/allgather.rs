//! Gathering to all processes. Source: MPI 5.0, 6.7.

use super::between::{exchange_with_each, given};
use super::buffers::{
    Given, Input, SEND_IN_PLACE, blocks, check_blocks, check_each, check_fills, parts,
};
use super::choose::{self, Meeting, Spread};
use super::collective::Collective;
use super::levels::{Levels, column, select};
use super::near::Near;
use super::{bcast, exchange, gather, pieces};
use crate::comm::{Call, Everyone, Members, Nodes, Operation, Peers, Sides};
use crate::data::Buffer;
use crate::error::Result;

/// Collects a block of each process at all of them.
///
/// The [cause](crate::error::Cause) of an error is `Truncate` if the own block is longer than its
/// place, `Count` or `NullBuffer`.
///
/// Source: MPI 5.0, 6.7.
#[derive(Clone, Debug)]
pub struct Allgather {
    /// The block of this process. In place, it lies in `receive` already.
    pub send: Input,
    /// The first place; it counts elements *per process*. The others follow.
    pub receive: Buffer,
}

impl Collective for Allgather {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(Operation::Allgather)
    }

    #[inline]
    fn check(&self, members: Members) -> Result<()> {
        check_blocks(&self.receive, members.all)?;
        check_fills(&self.send, &self.receive)?;
        let places = Given::Equal(&self.receive, members.all as u32);
        places.refuse_overlap(Given::by(&self.send, 1), SEND_IN_PLACE)
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        let own = given(&self.send)?;
        own.check()?;
        check_blocks(&self.receive, others)?;
        let places = Given::Equal(&self.receive, others as u32);
        places.refuse_overlap(Some(Given::Equal(own, 1)), SEND_IN_PLACE)
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        let places = parts(&self.receive, sides.remote.all());
        let blocks = vec![given(&self.send)?.clone(); places.len()];
        exchange_with_each(sides, &blocks, &places).await
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        self.at_site(near, Operation::Allgather)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let places = parts(&self.receive, peers.all());
        self.send.keep(&places[peers.here()])?;
        match (choose::spread(peers, self.receive.bytes()?), peers.nodes()) {
            (Spread::Ring, _) => around(peers, &places).await,
            (Spread::Doubling, Some(nodes)) => Box::pin(by_leaders(peers, nodes, &places)).await,
            (Spread::Doubling, None) => doubling(peers, &places).await,
        }
    }
}

impl Allgather {
    /// Collects the blocks in memory that the processes share, if they do, for an operation `kind`.
    pub(super) fn at_site(&self, near: &Near<'_>, kind: Operation) -> Result<Option<()>> {
        let Some((meeting, at_site)) = choose::spread_near(near, self.receive.bytes()?) else {
            return Ok(None);
        };
        let places = parts(&self.receive, near.all());
        self.send.keep(&places[near.here()])?;
        match meeting {
            Meeting::All => exchange::allgather_by_all(at_site, kind, &places),
            Meeting::Last => exchange::allgather_by_last(at_site, kind, &places),
            Meeting::Pieces => pieces::allgather(at_site, kind, &places),
        }
        .map(Some)
    }
}

/// Collects blocks of different lengths at all processes.
///
/// The [cause](crate::error::Cause) of an error is as for [`Allgather`], and `Argument` if there is
/// not one place per process.
///
/// Source: MPI 5.0, 6.7.
#[derive(Clone, Debug)]
pub struct Allgatherv {
    /// The block of this process. In place, it lies in `receive` already.
    pub send: Input,
    /// A place for each process.
    pub receive: Vec<Buffer>,
}

impl Collective for Allgatherv {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(Operation::Allgatherv)
    }

    fn check(&self, members: Members) -> Result<()> {
        check_each(&self.receive, members.all)?;
        check_fills(&self.send, &self.receive[members.here])?;
        let places = Given::Each(&self.receive);
        places.refuse_overlap(Given::by(&self.send, 1), SEND_IN_PLACE)
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        let own = given(&self.send)?;
        own.check()?;
        check_each(&self.receive, others)?;
        let places = Given::Each(&self.receive);
        places.refuse_overlap(Some(Given::Equal(own, 1)), SEND_IN_PLACE)
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        let blocks = vec![given(&self.send)?.clone(); self.receive.len()];
        exchange_with_each(sides, &blocks, &self.receive).await
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let places = &self.receive;
        let Some(at_site) = choose::spread_unequal_near(near, total(places)?) else {
            return Ok(None);
        };
        self.send.keep(&places[near.here()])?;
        exchange::allgather_by_last(at_site, Operation::Allgatherv, places).map(Some)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        self.send.keep(&self.receive[peers.here()])?;
        around(peers, &self.receive).await
    }
}

/// The number of bytes in all places.
fn total(places: &[Buffer]) -> Result<u64> {
    let mut bytes = places.iter().map(Buffer::bytes);
    bytes.try_fold(0, |sum: u64, bytes| Ok(sum.saturating_add(bytes?)))
}

/// The leader of each node collects the blocks there, the leaders swap what they have, and each
/// gives all blocks to its node. They are packed.
async fn by_leaders(peers: &impl Everyone, nodes: &Nodes, places: &[Buffer]) -> Result<()> {
    let levels = Levels::led_by(0, peers, nodes);
    let (node, own) = (levels.node(), &places[peers.here()]);
    let block = own.bytes()? as usize;
    let whole = Buffer::zeroed(block * peers.all())?;
    let mut first = 0;
    let mut of_node = |members: &Vec<usize>| {
        first += members.len();
        blocks(&whole, block, first - members.len()..first)
    };
    let of_nodes: Vec<Buffer> = nodes.all().iter().map(&mut of_node).collect();
    match levels.leaders() {
        Some(leaders) => {
            let held = blocks(&of_nodes[leaders.here()], block, 0..1);
            gather::collect(node, own, Some(&parts(&held, node.all())), 0).await?;
            swap(leaders, nodes, &of_nodes).await?;
        }
        None => gather::collect(node, own, None, 0).await?,
    }
    bcast::broadcast(node, &whole, 0).await?;
    for (at, &rank) in nodes.all().iter().flatten().enumerate() {
        places[rank].copy_from(&blocks(&whole, block, at..at + 1))?;
    }
    Ok(())
}

/// Gives all leaders what each has for its node.
async fn swap(leaders: &impl Peers, nodes: &Nodes, of_nodes: &[Buffer]) -> Result<()> {
    let block = of_nodes[leaders.here()].bytes()?;
    match nodes.each() {
        Some(_) if choose::spread(leaders, block) == Spread::Doubling => {
            doubling(leaders, of_nodes).await
        }
        _ => ring(leaders, of_nodes).await,
    }
}

/// Each block goes around a ring of all processes, or around smaller ones: first of the processes
/// with the same rank on their nodes, then of those on a node. So each comes to each node once. If
/// the nodes have different numbers of processes, the ring goes from node to node.
async fn around(peers: &impl Everyone, places: &[Buffer]) -> Result<()> {
    let Some(nodes) = peers.nodes() else {
        return ring(peers, places).await;
    };
    if nodes.each().is_none() {
        let ranks = nodes.all().concat();
        let by_node = peers.part(&ranks[..]).expect("all are on a node");
        return ring(&by_node, &select(places, &ranks)).await;
    }
    let ranks = column(peers, nodes);
    let column = peers
        .part(&ranks[..])
        .expect("this process has its own rank");
    ring(&column, &select(places, &ranks)).await?;
    let levels = Levels::led_by(0, peers, nodes);
    for members in nodes.all() {
        ring(levels.node(), &select(places, members)).await?;
    }
    Ok(())
}

/// In step s each process passes on the block that began s processes before it.
pub(super) async fn ring(peers: &impl Peers, places: &[Buffer]) -> Result<()> {
    for step in 1..peers.all() {
        let send = (peers.after(1), &places[peers.before(step - 1)]);
        let receive = (peers.before(1), &places[peers.before(step)]);
        peers.exchange(send, receive).await?;
    }
    Ok(())
}

/// Bruck: a process holds its own block and those of the ranks below it, packed, the nearest first.
/// In each round it receives as many more from the process below those. Messages go to higher
/// ranks, as those of a barrier and a scan do: if some call one of these instead, somebody notices.
pub(super) async fn doubling(peers: &impl Peers, places: &[Buffer]) -> Result<()> {
    let size = peers.all();
    let block = places[peers.here()].bytes()? as usize;
    let held = Buffer::zeroed(size * block)?;
    held.copy_from(&places[peers.here()])?;
    let mut have = 1;
    while have < size {
        let more = have.min(size - have);
        let outgoing = blocks(&held, block, 0..more);
        let incoming = blocks(&held, block, have..have + more);
        let (to, from) = (peers.after(have), peers.before(have));
        peers.exchange((to, &outgoing), (from, &incoming)).await?;
        have += more;
    }
    for distance in 1..size {
        places[peers.before(distance)].copy_from(&blocks(&held, block, distance..distance + 1))?;
    }
    Ok(())
}
