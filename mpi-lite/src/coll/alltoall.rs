//! Exchange between all processes. Source: MPI 5.0, 6.8.

use super::between::{NOT_IN_PLACE, exchange_with_each, given};
use super::buffers::{
    Given, Input, SEND_IN_PLACE, check_blocks, check_each, check_fills, keep, lay_down, parts,
};
use super::choose::{self, Exchange, Meeting};
use super::collective::Collective;
use super::levels::Levels;
use super::near::Near;
use super::{buffers, exchange, gather, pieces, scatter};
use crate::comm::{Call, Everyone, Members, Nodes, Operation, Peers, Sides};
use crate::data::Buffer;
use crate::error::{Cause, Result};

/// Sends block r of `send` to rank r, and receives rank r's block for this process into block r of
/// `receive`.
///
/// The [cause](crate::error::Cause) of an error is as for [`Allgather`](super::Allgather).
///
/// Source: MPI 5.0, 6.8.
#[derive(Clone, Debug)]
pub struct Alltoall {
    /// The first block; it counts elements *per process*. The others follow. In place, they lie in
    /// `receive`.
    pub send: Input,
    /// The first place, in the same way.
    pub receive: Buffer,
}

impl Collective for Alltoall {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(Operation::Alltoall)
    }

    #[inline]
    fn check(&self, members: Members) -> Result<()> {
        check_blocks(&self.receive, members.all)?;
        if let Input::Buffer(own) = &self.send {
            check_blocks(own, members.all)?;
        }
        check_fills(&self.send, &self.receive)?;
        let places = Given::Equal(&self.receive, members.all as u32);
        places.refuse_overlap(Given::by(&self.send, members.all), SEND_IN_PLACE)
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        let own = given(&self.send)?;
        check_blocks(own, others)?;
        check_blocks(&self.receive, others)?;
        let places = Given::Equal(&self.receive, others as u32);
        places.refuse_overlap(Given::by(&self.send, others), SEND_IN_PLACE)
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        let of_each = |all| parts(all, sides.remote.all());
        let (blocks, places) = (of_each(given(&self.send)?), of_each(&self.receive));
        exchange_with_each(sides, &blocks, &places).await
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let (own, receive) = (self.send.or(&self.receive), &self.receive);
        let Some((meeting, at_site)) = choose::exchange_near(near, own.bytes()?) else {
            return Ok(None);
        };
        let whole = |blocks: &Buffer| blocks.part(0, blocks.count() * near.all() as u64);
        let places = parts(receive, near.all());
        match meeting {
            Meeting::All => exchange::alltoall_by_all(at_site, &whole(own), &places),
            Meeting::Last => exchange::alltoall_by_last(at_site, &whole(own), &whole(receive)),
            Meeting::Pieces => pieces::alltoall(at_site, &parts(own, near.all()), &places),
        }
        .map(Some)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let own = self.send.or(&self.receive);
        let (blocks, places) = (parts(own, peers.all()), parts(&self.receive, peers.all()));
        let bytes = own.bytes()?;
        if let Some(nodes) = choose::nodes_to_exchange(peers, bytes) {
            return Box::pin(by_leaders(peers, nodes, &blocks, &places)).await;
        }
        match (choose::exchange(peers, bytes), &self.send) {
            (Exchange::Hops, _) => hops(peers, &blocks, &places).await,
            (_, Input::Buffer(_)) => pairwise(peers, &blocks, &places).await,
            (_, Input::InPlace) => in_place(peers, &places).await,
        }
    }
}

/// Exchanges blocks of different lengths and datatypes: one for each process on each side.
///
/// The [cause](crate::error::Cause) of an error is as for [`Allgatherv`](super::Allgatherv).
///
/// Source: MPI 5.0, 6.8, `MPI_Alltoallv` and `MPI_Alltoallw`.
#[derive(Clone, Debug)]
pub struct Alltoallw {
    /// A block for each process. `None`: they lie in `receive`.
    pub send: Option<Vec<Buffer>>,
    /// A place for each process.
    pub receive: Vec<Buffer>,
}

impl Collective for Alltoallw {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(Operation::Alltoallv)
    }

    fn check(&self, members: Members) -> Result<()> {
        check_each(&self.receive, members.all)?;
        let Some(send) = &self.send else {
            return Ok(());
        };
        check_each(send, members.all)?;
        let own = Input::Buffer(send[members.here].clone());
        check_fills(&own, &self.receive[members.here])?;
        Given::Each(&self.receive).refuse_overlap(Some(Given::Each(send)), SEND_IN_PLACE)
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        let blocks = self.send.as_ref().ok_or(Cause::Argument(NOT_IN_PLACE))?;
        check_each(blocks, others)?;
        check_each(&self.receive, others)?;
        Given::Each(&self.receive).refuse_overlap(Some(Given::Each(blocks)), SEND_IN_PLACE)
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        let blocks = self.send.as_deref().unwrap_or_default();
        exchange_with_each(sides, blocks, &self.receive).await
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let places = &self.receive;
        let own = self.send.as_ref().unwrap_or(places);
        let Some(at_site) = choose::exchange_unequal_near(near) else {
            return Ok(None);
        };
        let is_done = exchange::alltoallw_by_last(at_site, own, places)?;
        Ok(is_done.then_some(()))
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        match &self.send {
            Some(own) => pairwise(peers, own, &self.receive).await,
            None => in_place(peers, &self.receive).await,
        }
    }
}

/// In step s each process sends to the one s after it and receives from the one s before it.
async fn pairwise(peers: &impl Peers, blocks: &[Buffer], places: &[Buffer]) -> Result<()> {
    keep(&blocks[peers.here()], &places[peers.here()])?;
    for step in 1..peers.all() {
        let (to, from) = (peers.after(step), peers.before(step));
        peers
            .exchange((to, &blocks[to]), (from, &places[from]))
            .await?;
    }
    Ok(())
}

/// The leader of each node collects the blocks of all processes there. The leaders swap them, those
/// of two nodes in one message each way, and each gives the processes of its node what has come for
/// them. All blocks are packed first, so `blocks` and `places` may be the same memory.
async fn by_leaders(
    peers: &impl Everyone,
    nodes: &Nodes,
    blocks: &[Buffer],
    places: &[Buffer],
) -> Result<()> {
    let levels = Levels::led_by(0, peers, nodes);
    let (node, ranks) = (levels.node(), nodes.all().concat());
    let len = blocks[peers.here()].bytes()? as usize;
    let mut row = Vec::with_capacity(ranks.len() * len);
    for &rank in &ranks {
        blocks[rank].append_to(&mut row);
    }
    let row = Buffer::holding(&row)?;
    match levels.leaders() {
        Some(leaders) => {
            let held = Buffer::zeroed(node.all() * ranks.len() * len)?;
            let first = held.part(0, (ranks.len() * len) as u64);
            let rows = parts(&first, node.all());
            gather::collect(node, &row, Some(&rows), 0).await?;
            swap_rows(leaders, nodes, &rows, len).await?;
            scatter::hand_out(node, &row, Some(&rows), 0).await?;
        }
        None => {
            gather::collect(node, &row, None, 0).await?;
            scatter::hand_out(node, &row, None, 0).await?;
        }
    }
    let row = row.pack();
    for (at, &rank) in ranks.iter().enumerate() {
        lay_down(&places[rank], &row[at * len..][..len])?;
    }
    Ok(())
}

/// A leader has a row for each process of its node, with that one's blocks of `len` bytes for all
/// processes, node by node. Puts those from all processes in their place.
async fn swap_rows(leaders: &impl Peers, nodes: &Nodes, rows: &[Buffer], len: usize) -> Result<()> {
    let (mut outgoing, mut incoming, mut first) = (Vec::new(), Vec::new(), 0);
    for members in nodes.all() {
        let theirs = first..first + members.len();
        let mut joined = Vec::new();
        for row in rows {
            buffers::blocks(row, len, theirs.clone()).append_to(&mut joined);
        }
        let (send, receive) = both(&joined)?;
        outgoing.push(send);
        incoming.push(receive);
        first = theirs.end;
    }
    pairwise(leaders, &outgoing, &incoming).await?;
    let mut column = 0;
    for (members, joined) in nodes.all().iter().zip(&incoming) {
        for from in 0..members.len() {
            for (to, row) in rows.iter().enumerate() {
                let at = from * rows.len() + to;
                let block = buffers::blocks(joined, len, at..at + 1);
                buffers::blocks(row, len, column..column + 1).copy_from(&block)?;
            }
            column += 1;
        }
    }
    Ok(())
}

/// Bruck: a block for the process at distance d makes one hop for each power of two in d. In the
/// round of hop h a process sends all blocks whose d contains h in one message, and receives as
/// many with the same distances. After ⌈log2 size⌉ rounds its block of each distance d comes from
/// the process d before it. All blocks are packed first, so `blocks` and `places` may be the same
/// memory.
///
/// Source: Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all
/// communications in multiport message-passing systems", 1997: the index operation with radix 2.
pub(super) async fn hops(peers: &impl Peers, blocks: &[Buffer], places: &[Buffer]) -> Result<()> {
    let size = peers.all();
    let len = blocks[peers.here()].bytes()? as usize;
    let of = |distance: usize| distance * len..(distance + 1) * len;
    let mut held = vec![0; size * len];
    for distance in 0..size {
        blocks[peers.after(distance)].pack_into(&mut held[of(distance)]);
    }
    let mut outgoing = Vec::new();
    let mut hop = 1;
    while hop < size {
        let moving = (hop..size).filter(|distance| distance & hop != 0);
        outgoing.clear();
        for distance in moving.clone() {
            outgoing.extend_from_slice(&held[of(distance)]);
        }
        let (to, from) = (peers.after(hop), peers.before(hop));
        let (send, receive) = both(&outgoing)?;
        peers.exchange((to, &send), (from, &receive)).await?;
        for (place, distance) in moving.enumerate() {
            receive.copy_out((place * len) as u64, &mut held[of(distance)]);
        }
        hop *= 2;
    }
    for distance in 0..size {
        lay_down(&places[peers.before(distance)], &held[of(distance)])?;
    }
    Ok(())
}

/// Returns a buffer of the outgoing bytes, and one for as many incoming ones.
fn both(outgoing: &[u8]) -> Result<(Buffer, Buffer)> {
    Ok((Buffer::holding(outgoing)?, Buffer::zeroed(outgoing.len())?))
}

/// Each pair of processes swaps its blocks: one goes out packed while the other comes in. In step s
/// a process swaps with the one whose rank and its own add up to s (modulo `size`). So in `size`
/// steps it swaps with each other process, and both are at the same step.
async fn in_place(peers: &impl Peers, places: &[Buffer]) -> Result<()> {
    let size = peers.all();
    for step in 0..size {
        let partner = (step + size - peers.here()) % size;
        if partner == peers.here() {
            continue;
        }
        let (send, receive) = both(&places[partner].pack())?;
        peers
            .exchange((partner, &send), (partner, &receive))
            .await?;
        places[partner].copy_from(&receive)?;
    }
    Ok(())
}
