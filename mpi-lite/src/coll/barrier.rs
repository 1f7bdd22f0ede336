//! Barrier. Source: MPI 5.0, 6.3.

use super::choose::{self, Meeting};
use super::collective::Collective;
use super::levels::Levels;
use super::near::Near;
use super::tree::lowest_bit;
use super::{bcast, shared};
use crate::comm::{Call, Everyone, Members, Nodes, Operation, Peers, Sides};
use crate::data::Buffer;
use crate::error::Result;

/// Waits until all processes of the communicator have come here.
///
/// Source: MPI 5.0, 6.3.
#[derive(Clone, Copy, Debug)]
pub struct Barrier;

/// A barrier that another operation needs, in its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierOf(pub(crate) Operation);

impl Collective for Barrier {
    type Output = ();

    #[inline]
    fn call(&self) -> Call {
        Call::of_all(Operation::Barrier)
    }

    #[inline]
    fn check(&self, _members: Members) -> Result<()> {
        Ok(())
    }

    fn check_between(&self, _members: Members, _others: usize) -> Result<()> {
        Ok(())
    }

    /// The sides tell each other when all of their processes have come.
    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        dissemination(&sides.local).await?;
        let nothing = Buffer::nothing();
        if sides.local.here() == 0 {
            let (send, receive) = ((0, &nothing), (0, &nothing));
            sides.remote.exchange(send, receive).await?;
        }
        dissemination(&sides.local).await
    }

    #[inline(always)]
    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        meet(near, Operation::Barrier)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        meet_by_messages(peers).await
    }
}

impl Collective for BarrierOf {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(self.0)
    }

    fn check(&self, _members: Members) -> Result<()> {
        Ok(())
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        meet(near, self.0)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        meet_by_messages(peers).await
    }
}

#[inline(always)]
fn meet(near: &Near<'_>, kind: Operation) -> Result<Option<()>> {
    match choose::barrier(near) {
        Some((Meeting::All, at_site)) => shared::barrier_in_rounds(at_site, kind).map(Some),
        Some((_, at_site)) => shared::barrier_by_count(at_site, kind).map(Some),
        None => Ok(near.is_alone().then_some(())),
    }
}

async fn meet_by_messages<P: Everyone>(peers: &P) -> Result<()> {
    match peers.nodes() {
        // Boxed, so that the future of processes that are equally near stays small.
        Some(nodes) => Box::pin(by_nodes(peers, nodes)).await,
        None => dissemination(peers).await,
    }
}

/// A leader of a node learns that all have come there, meets the other leaders, and tells its node.
async fn by_nodes(peers: &impl Everyone, nodes: &Nodes) -> Result<()> {
    let levels = Levels::led_by(0, peers, nodes);
    let node = levels.node();
    tell_first(node).await?;
    if let Some(leaders) = levels.leaders() {
        dissemination(leaders).await?;
    }
    bcast::binomial(node, &Buffer::nothing(), 0).await
}

/// Tells rank 0, along a binomial tree, that all have come.
async fn tell_first(peers: &impl Peers) -> Result<()> {
    let (here, size) = (peers.here(), peers.all());
    let (nothing, lowest) = (Buffer::nothing(), lowest_bit(here, size));
    let mut bit = 1;
    while bit < lowest && here + bit < size {
        peers.receive(here + bit, &nothing).await?;
        bit *= 2;
    }
    match here {
        0 => Ok(()),
        _ => peers.send(here - lowest, &nothing).await,
    }
}

/// Dissemination: in round k each process sends an empty message to the one 2^k after it. The
/// message means that the sender and the 2^k - 1 processes before it have come. After ⌈log2 size⌉
/// rounds all have come.
pub(super) async fn dissemination(peers: &impl Peers) -> Result<()> {
    let nothing = Buffer::nothing();
    let mut distance = 1;
    while distance < peers.all() {
        let (to, from) = (peers.after(distance), peers.before(distance));
        peers.exchange((to, &nothing), (from, &nothing)).await?;
        distance *= 2;
    }
    Ok(())
}
