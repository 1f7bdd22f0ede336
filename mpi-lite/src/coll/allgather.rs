//! Gathering to all processes. Source: MPI 5.0, 6.7.

use super::buffers::{Input, keep, lay_down, one_per_process, parts};
use super::choose::{self, Spread};
use super::exchange;
use crate::comm::{Begun, Communicator, Operation, Peers, finish};
use crate::data::Buffer;
use crate::error::Result;

/// Gathering to all.
impl Communicator {
    /// Collects the `send` of all in the `receive` of all, which counts elements *per process*. In
    /// place, the own block lies in `receive` already.
    ///
    /// # Errors
    /// `Cause::Truncate` if a block is longer than its place; `Cause::Count`,
    /// `Cause::NullBuffer`, `Cause::Lost`.
    ///
    /// Source: MPI 5.0, 6.7.
    pub fn allgather(&self, send: &Input, receive: &Buffer) -> Result<()> {
        finish(allgather(&self.within(Operation::Allgather), send, receive))
    }

    /// Like [`Communicator::allgather`], with one place per process (`MPI_Allgatherv`).
    ///
    /// # Errors
    /// As for [`Communicator::allgather`]; `Cause::Argument` if there is not one per process.
    ///
    /// Source: MPI 5.0, 6.7.
    pub fn allgatherv(&self, send: &Input, receive: &[Buffer]) -> Result<()> {
        let peers = self.within(Operation::Allgatherv);
        finish(allgatherv(&peers, send, receive))
    }
}

/// Gathers equal blocks: `receive` counts elements per process.
pub(super) fn allgather(
    peers: &impl Peers,
    send: &Input,
    receive: &Buffer,
) -> Begun<impl Future<Output = Result<()>>> {
    let places = parts(receive, peers.all())?;
    send.check()?;
    if let Input::Buffer(own) = send {
        keep(own, &places[peers.here()])?;
    }
    let bytes = receive.bytes()?;
    let choice = choose::unless_without_buffers(peers, Spread::Last, |nearness| {
        choose::spread(bytes, peers.all(), nearness)
    });
    match (choice, peers.at_site()) {
        (Spread::All, Some(at_site)) => exchange::allgather_by_all(at_site, &places)?,
        (Spread::Last, Some(at_site)) => exchange::allgather_by_last(at_site, &places)?,
        _ => {
            return Ok(Some(async move {
                match choice {
                    Spread::Ring => ring(peers, &places).await,
                    _ => doubling(peers, &places).await,
                }
            }));
        }
    }
    Ok(None)
}

/// Gathers blocks of different sizes: one place per process.
pub(super) fn allgatherv(
    peers: &impl Peers,
    send: &Input,
    receive: &[Buffer],
) -> Begun<impl Future<Output = Result<()>>> {
    let places = one_per_process(receive, peers.all())?;
    send.check()?;
    if let Input::Buffer(own) = send {
        keep(own, &places[peers.here()])?;
    }
    let mut total = 0_u64;
    for place in places {
        total = total.saturating_add(place.bytes()?);
    }
    let choice = choose::unless_without_buffers(peers, Spread::Last, |nearness| {
        choose::spread_unequal(total, peers.all(), nearness)
    });
    if let (Spread::Last, Some(at_site)) = (choice, peers.at_site()) {
        exchange::allgather_by_last(at_site, places)?;
        return Ok(None);
    }
    Ok(Some(ring(peers, places)))
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

/// Bruck: a process holds its own block and those of the next ones, packed. In each round it
/// receives as many more from the process behind those.
pub(super) async fn doubling(peers: &impl Peers, places: &[Buffer]) -> Result<()> {
    let size = peers.all();
    let block = places[peers.here()].bytes()? as usize;
    let mut held = vec![0; size * block];
    places[peers.here()].pack_into(&mut held[..block]);
    let mut have = 1;
    while have < size {
        let more = have.min(size - have);
        let (known, rest) = held.split_at_mut(have * block);
        let outgoing = Buffer::of_bytes(&mut known[..more * block]);
        let incoming = Buffer::of_bytes(&mut rest[..more * block]);
        let (to, from) = (peers.before(have), peers.after(have));
        peers.exchange((to, &outgoing), (from, &incoming)).await?;
        have += more;
    }
    for (distance, bytes) in held.chunks_exact(block.max(1)).enumerate().skip(1) {
        lay_down(&places[peers.after(distance)], bytes)?;
    }
    Ok(())
}
