//! Exchange between all processes. Source: MPI 5.0, 6.8.

use super::choose::{self, Exchange, Nearness};
use super::gather::{keep, lay_down};
use super::peers::Peers;
use super::{Input, exchange, one_per_process, parts};
use crate::comm::{Communicator, Operation};
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
        alltoall(&self.within(Operation::Alltoall), send, receive)
    }

    /// Like [`Communicator::alltoall`], with one buffer per process on each side, which serves
    /// `MPI_Alltoallv` and `MPI_Alltoallw`; no send side means in place.
    ///
    /// # Errors
    /// As for [`Communicator::allgatherv`].
    ///
    /// Source: MPI 5.0, 6.8.
    pub fn alltoallw(&self, send: Option<&[Buffer]>, receive: &[Buffer]) -> Result<()> {
        alltoallw(&self.within(Operation::Alltoallv), send, receive)
    }
}

/// Exchanges equal blocks: both buffers count elements per process.
pub(super) fn alltoall(peers: &impl Peers, send: &Input, receive: &Buffer) -> Result<()> {
    let places = parts(receive, peers.all())?;
    let whole = |blocks: &Buffer| blocks.part(0, blocks.count() * peers.all() as u64);
    let own = send.or(receive);
    // Checks the product that `whole` needs.
    let blocks = parts(&own, peers.all())?;
    let choice = choose::exchange(own.bytes()?, peers.all(), peers.nearness());
    match (choice, peers.circle()) {
        (Exchange::All, Some(circle)) => {
            return exchange::alltoall_by_all(circle, &whole(&own), &places);
        }
        (Exchange::Last, Some(circle)) => {
            return exchange::alltoall_by_last(circle, &whole(&own), &whole(receive));
        }
        _ => {}
    }
    match send {
        Input::Buffer(_) => pairwise(peers, &blocks, &places),
        Input::InPlace => in_place(peers, &places),
    }
}

/// Exchanges blocks of different sizes and datatypes: one buffer per process on each side, and
/// no send side if it is in place.
pub(super) fn alltoallw(
    peers: &impl Peers,
    send: Option<&[Buffer]>,
    receive: &[Buffer],
) -> Result<()> {
    let places = one_per_process(receive, peers.all())?;
    let own = one_per_process(send.unwrap_or(receive), peers.all())?;
    if let (Nearness::Crowded, Some(circle)) = (peers.nearness(), peers.circle())
        && exchange::alltoallw_by_last(circle, own, places)?
    {
        return Ok(());
    }
    match send {
        Some(_) => pairwise(peers, own, places),
        None => in_place(peers, places),
    }
}

/// In step s each process sends to the one s after it and receives from the one s before it.
fn pairwise(peers: &impl Peers, blocks: &[Buffer], places: &[Buffer]) -> Result<()> {
    keep(&blocks[peers.here()], &places[peers.here()])?;
    for step in 1..peers.all() {
        let (to, from) = (peers.after(step), peers.before(step));
        peers.exchange((to, &blocks[to]), (from, &places[from]))?;
    }
    Ok(())
}

/// Each pair of processes swaps its blocks: the one goes out packed while the other one comes in.
/// In step s a process meets the one whose rank and its own have the sum s, so in `size` steps
/// everybody, at the same step as the other one.
fn in_place(peers: &impl Peers, places: &[Buffer]) -> Result<()> {
    let size = peers.all();
    for step in 0..size {
        let partner = (step + size - peers.here()) % size;
        if partner == peers.here() {
            continue;
        }
        let mut outgoing = places[partner].pack();
        let mut incoming = vec![0; outgoing.len()];
        peers.exchange(
            (partner, &Buffer::of_bytes(&mut outgoing)),
            (partner, &Buffer::of_bytes(&mut incoming)),
        )?;
        lay_down(&places[partner], &incoming)?;
    }
    Ok(())
}
