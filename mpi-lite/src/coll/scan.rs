//! Prefix reductions. Source: MPI 5.0, 6.11.

use super::buffers::{Input, keep};
use super::choose::{self, Meeting};
use super::collective::Collective;
use super::near::Near;
use super::partial::Partial;
use super::reduce::check_operands;
use super::{bcast, pieces, shared};
use crate::comm::{Call, Everyone, Members, Nodes, Operation, Peers};
use crate::data::{Buffer, Op};
use crate::error::Result;

/// Reduces the elements of all ranks up to this one.
///
/// The [cause](crate::error::Cause) of an error is as for [`Allreduce`](super::Allreduce).
///
/// Source: MPI 5.0, 6.11.1.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The elements of this process. In place, they lie in `receive`.
    pub send: Input,
    /// Where the result goes.
    pub receive: Buffer,
    /// The operator.
    pub op: Op,
}

/// Reduces the elements of all ranks below this one. At rank 0 `receive` stays as it is.
///
/// The [cause](crate::error::Cause) of an error is as for [`Allreduce`](super::Allreduce).
///
/// Source: MPI 5.0, 6.11.2.
#[derive(Clone, Debug)]
pub struct Exscan {
    /// The elements of this process. In place, they lie in `receive`.
    pub send: Input,
    /// Where the result goes.
    pub receive: Buffer,
    /// The operator.
    pub op: Op,
}

impl Collective for Scan {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(Operation::Scan)
    }

    fn calls_program(&self) -> bool {
        self.op.calls_program()
    }

    #[inline]
    fn check(&self, _members: Members) -> Result<()> {
        check_operands(&self.send, &self.receive, &self.op)
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let (own, result) = (self.send.or(&self.receive), (&self.receive, &self.op));
        at_site(near, Operation::Scan, own, result)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let own = self.send.or(&self.receive);
        if own.count() == 0 {
            return Ok(());
        }
        match below(peers, own, &self.op).await? {
            Some(lower) => {
                let mut result = Partial::copy_of(own)?;
                result.fold_left(&lower, &self.op)?;
                self.receive.copy_from(result.buffer()).map(drop)
            }
            None => keep(own, &self.receive),
        }
    }
}

impl Collective for Exscan {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(Operation::Exscan)
    }

    fn calls_program(&self) -> bool {
        self.op.calls_program()
    }

    #[inline]
    fn check(&self, _members: Members) -> Result<()> {
        check_operands(&self.send, &self.receive, &self.op)
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let (own, result) = (self.send.or(&self.receive), (&self.receive, &self.op));
        at_site(near, Operation::Exscan, own, result)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let own = self.send.or(&self.receive);
        if own.count() == 0 {
            return Ok(());
        }
        match below(peers, own, &self.op).await? {
            Some(lower) => self.receive.copy_from(lower.buffer()).map(drop),
            None => Ok(()),
        }
    }
}

/// Reduces in memory that the processes share, if there is little.
fn at_site(
    near: &Near<'_>,
    kind: Operation,
    own: &Buffer,
    result: (&Buffer, &Op),
) -> Result<Option<()>> {
    if own.count() == 0 {
        return Ok(Some(()));
    }
    match choose::meeting_of_all(near, own.bytes()?, own.datatype().size()) {
        Some((Meeting::Pieces, at_site)) => pieces::prefix(at_site, kind, own, result).map(Some),
        // Few processes wait for the lower ones alone, even for a core.
        Some((Meeting::Last, at_site)) if near.all() > choose::ALL_LOOK => {
            shared::prefix_by_last(at_site, kind, own, result).map(Some)
        }
        Some((_, at_site)) => shared::prefix_by_all(at_site, kind, own, result).map(Some),
        None => Ok(None),
    }
}

/// Returns the sum of all ranks below this one, if there are any.
async fn below(peers: &impl Everyone, own: &Buffer, op: &Op) -> Result<Option<Partial<'static>>> {
    // A sum covers adjacent ranks, whatever the operator.
    match choose::nodes_to_reduce(peers, false) {
        Some(nodes) => Box::pin(by_nodes(peers, nodes, own, op)).await,
        None => lower_ranks(peers, own, op).await,
    }
}

/// The last process of each node has the sum of its node. These processes find the sums of all
/// nodes below theirs, and give them to their nodes, on which ranks follow one another.
async fn by_nodes(
    peers: &impl Everyone,
    nodes: &Nodes,
    own: &Buffer,
    op: &Op,
) -> Result<Option<Partial<'static>>> {
    let number = nodes.number(peers.here());
    let node = peers
        .part(nodes.members(number))
        .expect("a process is on its node");
    let lower = lower_ranks(&node, own, op).await?;
    let last_of = |members: &Vec<usize>| members[members.len() - 1];
    let lasts: Vec<usize> = nodes.all().iter().map(last_of).collect();
    let mut under = None;
    if let Some(lasts) = peers.part(lasts) {
        let mut of_node = Partial::copy_of(own)?;
        if let Some(lower) = &lower {
            of_node.fold_left(lower, op)?;
        }
        under = lower_ranks(&lasts, of_node.buffer(), op).await?;
    }
    if number == 0 {
        return Ok(lower);
    }
    let below = match under {
        Some(below) => below,
        None => Partial::room(own)?,
    };
    bcast::broadcast(&node, below.buffer(), node.all() - 1).await?;
    let Some(mut lower) = lower else {
        return Ok(Some(below));
    };
    lower.fold_left(&below, op)?;
    Ok(Some(lower))
}

/// [`below`] of processes that are equally near.
///
/// Recursive doubling: in round k a process and the one whose rank differs in bit k exchange the
/// sums of their blocks of 2^k adjacent ranks. The upper one adds the lower block to the sum of all
/// ranks below it. A partner beyond the last rank is left out: only blocks above would need it.
async fn lower_ranks(
    peers: &impl Peers,
    own: &Buffer,
    op: &Op,
) -> Result<Option<Partial<'static>>> {
    let mut block = Partial::copy_of(own)?;
    let mut incoming = Partial::room(own)?;
    let mut lower: Option<Partial<'_>> = None;
    let mut bit = 1;
    while bit < peers.all() {
        let partner = peers.here() ^ bit;
        bit *= 2;
        if partner >= peers.all() {
            continue;
        }
        let (send, receive) = ((partner, block.buffer()), (partner, incoming.buffer()));
        peers.exchange(send, receive).await?;
        if partner > peers.here() {
            block.fold_right(&mut incoming, op)?;
            continue;
        }
        match &mut lower {
            Some(lower) => lower.fold_left(&incoming, op)?,
            None => lower = Some(Partial::copy_of(incoming.buffer())?),
        }
        block.fold_left(&incoming, op)?;
    }
    Ok(lower)
}
