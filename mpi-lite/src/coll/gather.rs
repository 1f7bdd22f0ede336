//! Gathering to one process. Source: MPI 5.0, 6.5.

use super::between::{Role, given, receive_from_each};
use super::buffers::{
    Given, Input, SEND_IN_PLACE, at_root, blocks, check_blocks, check_each, check_fills, keep,
    parts,
};
use super::choose::{self, Rooted};
use super::collective::Collective;
use super::tree::lowest_bit;
use crate::comm::{Call, Members, Operation, Peers, Sides};
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

    async fn by_messages<P: Peers>(&self, peers: &P) -> Result<()> {
        let root = self.root as usize;
        let places = self.receive.as_ref().filter(|_| peers.here() == root);
        let places = places.map(|receive| parts(receive, peers.all()));
        let own = own_block(peers, &self.send, places.as_deref())?;
        match choose::rooted(own.bytes()?, peers.all()) {
            Rooted::Tree => tree(peers, &own, places.as_deref(), root).await,
            Rooted::Direct => direct(peers, &own, places.as_deref(), root).await,
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

    async fn by_messages<P: Peers>(&self, peers: &P) -> Result<()> {
        let root = self.root as usize;
        let places = self.receive.as_deref().filter(|_| peers.here() == root);
        let own = own_block(peers, &self.send, places)?;
        direct(peers, &own, places, root).await
    }
}

/// Returns the block that this process gives. At the root it may lie in place.
fn own_block(peers: &impl Peers, send: &Input, places: Option<&[Buffer]>) -> Result<Buffer> {
    match (send, places) {
        (Input::InPlace, Some(places)) => Ok(places[peers.here()].clone()),
        (send, _) => send.required().cloned(),
    }
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
