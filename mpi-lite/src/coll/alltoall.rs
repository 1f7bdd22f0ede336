//! Exchange between all processes. Source: MPI 5.0, 6.8.

use super::buffers::{Input, keep, lay_down, one_per_process, parts};
use super::choose::{self, Exchange, Nearness, nearness};

use super::exchange;
use crate::comm::{Begun, Communicator, Operation, Peers, finish};
use crate::data::Buffer;
use crate::error::Result;

/// Exchange between all.
impl Communicator {
    /// Sends block r of `send` to rank r and receives rank r's block for this process into block r
    /// of `receive`. Both count elements *per process*.
    ///
    /// # Errors
    /// As for [`Communicator::allgather`].
    ///
    /// Source: MPI 5.0, 6.8.
    pub fn alltoall(&self, send: &Input, receive: &Buffer) -> Result<()> {
        finish(alltoall(&self.within(Operation::Alltoall), send, receive))
    }

    /// Exchanges like [`Communicator::alltoall`], with one buffer per process on each side, for
    /// `MPI_Alltoallv` and `MPI_Alltoallw`. `None` as `send` is in place.
    ///
    /// # Errors
    /// As for [`Communicator::allgatherv`].
    ///
    /// Source: MPI 5.0, 6.8.
    pub fn alltoallw(&self, send: Option<&[Buffer]>, receive: &[Buffer]) -> Result<()> {
        let peers = self.within(Operation::Alltoallv);
        finish(alltoallw(&peers, send, receive))
    }
}

/// Exchanges equal blocks: both buffers count elements per process.
pub(super) fn alltoall(
    peers: &impl Peers,
    send: &Input,
    receive: &Buffer,
) -> Begun<impl Future<Output = Result<()>>> {
    let places = parts(receive, peers.all())?;
    let whole = |blocks: &Buffer| blocks.part(0, blocks.count() * peers.all() as u64);
    let own = send.or(receive);
    // Checks the product that `whole` needs.
    let blocks = parts(&own, peers.all())?;
    let bytes = own.bytes()?;
    let choice = choose::unless_without_buffers(peers, Exchange::Last, |nearness| {
        choose::exchange(bytes, peers.all(), nearness)
    });
    match (choice, peers.at_site()) {
        (Exchange::All, Some(at_site)) => {
            exchange::alltoall_by_all(at_site, &whole(&own), &places)?;
        }
        (Exchange::Last, Some(at_site)) => {
            exchange::alltoall_by_last(at_site, &whole(&own), &whole(receive))?;
        }
        _ => {
            return Ok(Some(async move {
                match (choice, send) {
                    (Exchange::Hops, _) => hops(peers, &blocks, &places).await,
                    (_, Input::Buffer(_)) => pairwise(peers, &blocks, &places).await,
                    (_, Input::InPlace) => in_place(peers, &places).await,
                }
            }));
        }
    }
    Ok(None)
}

/// Exchanges blocks of different sizes and datatypes: one buffer per process on each side. `None`
/// as send side is in place.
pub(super) fn alltoallw<'a>(
    peers: &impl Peers,
    send: Option<&'a [Buffer]>,
    receive: &'a [Buffer],
) -> Begun<impl Future<Output = Result<()>>> {
    let places = one_per_process(receive, peers.all())?;
    let own = one_per_process(send.unwrap_or(receive), peers.all())?;
    if let (Nearness::Oversubscribed, Some(at_site)) = (nearness(peers), peers.at_site())
        && at_site.site().has_exchange_buffers()
        && exchange::alltoallw_by_last(at_site, own, places)?
    {
        return Ok(None);
    }
    Ok(Some(async move {
        match send {
            Some(_) => pairwise(peers, own, places).await,
            None => in_place(peers, places).await,
        }
    }))
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
    let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
    let mut hop = 1;
    while hop < size {
        let moving = (hop..size).filter(|distance| distance & hop != 0);
        outgoing.clear();
        for distance in moving.clone() {
            outgoing.extend_from_slice(&held[of(distance)]);
        }
        incoming.resize(outgoing.len(), 0);
        let (to, from) = (peers.after(hop), peers.before(hop));
        let (send, receive) = both(&mut outgoing, &mut incoming);
        peers.exchange((to, &send), (from, &receive)).await?;
        for (distance, block) in moving.zip(incoming.chunks_exact(len.max(1))) {
            held[of(distance)].copy_from_slice(block);
        }
        hop *= 2;
    }
    for distance in 0..size {
        lay_down(&places[peers.before(distance)], &held[of(distance)])?;
    }
    Ok(())
}

/// Returns outgoing and incoming bytes as buffers.
fn both(outgoing: &mut [u8], incoming: &mut [u8]) -> (Buffer, Buffer) {
    (Buffer::of_bytes(outgoing), Buffer::of_bytes(incoming))
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
        let mut outgoing = places[partner].pack();
        let mut incoming = vec![0; outgoing.len()];
        let (send, receive) = both(&mut outgoing, &mut incoming);
        peers
            .exchange((partner, &send), (partner, &receive))
            .await?;
        lay_down(&places[partner], &incoming)?;
    }
    Ok(())
}
