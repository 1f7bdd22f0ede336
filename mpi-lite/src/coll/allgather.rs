//! Gathering to all processes. Source: MPI 5.0, 6.7.

use super::between::{exchange_with_each, given};
use super::buffers::{
    Given, Input, SEND_IN_PLACE, blocks, check_blocks, check_each, check_fills, keep, parts,
};
use super::choose::{self, Spread};
use super::collective::{Begun, Collective, Remainder};
use super::{exchange, pieces};
use crate::comm::{Call, Members, Operation, Peers, Sides};
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

    fn begin<'a, P: Peers>(
        &'a self,
        peers: &'a P,
    ) -> Remainder<impl Future<Output = Result<()>> + Send + 'a> {
        let places = parts(&self.receive, peers.all());
        if let Input::Buffer(own) = &self.send {
            keep(own, &places[peers.here()])?;
        }
        let bytes = self.receive.bytes()?;
        let choice = choose::unless_without_buffers(peers, Spread::Last, |nearness| {
            choose::spread(bytes, peers.all(), nearness)
        });
        match (choice, peers.at_site()) {
            (Spread::All, Some(at_site)) => exchange::allgather_by_all(at_site, &places)?,
            (Spread::Last, Some(at_site)) => {
                exchange::allgather_by_last(at_site, Operation::Allgather, &places)?;
            }
            _ => {
                if let Some(at_site) = choose::in_pieces(peers, (bytes, 1)) {
                    pieces::allgather(at_site, &places)?;
                    return Ok(Begun::Done(()));
                }
                return Ok(Begun::Left(async move {
                    match choice {
                        Spread::Ring => ring(peers, &places).await,
                        _ => doubling(peers, &places).await,
                    }
                }));
            }
        }
        Ok(Begun::Done(()))
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

    fn begin<'a, P: Peers>(
        &'a self,
        peers: &'a P,
    ) -> Remainder<impl Future<Output = Result<()>> + Send + 'a> {
        let places = &self.receive;
        if let Input::Buffer(own) = &self.send {
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
            exchange::allgather_by_last(at_site, Operation::Allgatherv, places)?;
            return Ok(Begun::Done(()));
        }
        Ok(Begun::Left(ring(peers, places)))
    }
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
    let held = Buffer::zeroed(size * block)?;
    held.copy_from(&places[peers.here()])?;
    let mut have = 1;
    while have < size {
        let more = have.min(size - have);
        let outgoing = blocks(&held, block, 0..more);
        let incoming = blocks(&held, block, have..have + more);
        let (to, from) = (peers.before(have), peers.after(have));
        peers.exchange((to, &outgoing), (from, &incoming)).await?;
        have += more;
    }
    for distance in 1..size {
        places[peers.after(distance)].copy_from(&blocks(&held, block, distance..distance + 1))?;
    }
    Ok(())
}
