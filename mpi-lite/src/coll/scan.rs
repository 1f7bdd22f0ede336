//! Prefix reductions. Source: MPI 5.0, 6.11.

use super::buffers::{Input, fitting, keep, pieces};
use super::choose::{self, Meeting, Prefix, RELAY_BYTES};
use super::collective::Collective;
use super::near::Near;
use super::partial::{Partial, fold};
use super::reduce::check_operands;
use super::{bcast, shared};
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
        keep(own, &self.receive)?;
        sums(peers, &self.receive, None, &self.op).await
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
        let through = Partial::copy_of(own)?;
        sums(peers, through.buffer(), Some(&self.receive), &self.op).await
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
        Some((Meeting::Pieces, at_site)) => {
            super::pieces::prefix(at_site, kind, own, result).map(Some)
        }
        // Nobody waits for a higher rank, even for a core.
        Some((Meeting::Last, at_site)) => {
            let outcome = shared::prefix_in_turn(at_site, kind, own, result);
            super::pieces::ended(at_site, outcome).map(Some)
        }
        Some((_, at_site)) => shared::prefix_by_all(at_site, kind, own, result).map(Some),
        None => Ok(None),
    }
}

/// Adds the elements of all lower ranks to the own ones, which are in `through`. Without the own
/// ones their sum goes to `below`, but for rank 0.
async fn sums(
    peers: &impl Everyone,
    through: &Buffer,
    below: Option<&Buffer>,
    op: &Op,
) -> Result<()> {
    // A sum covers adjacent ranks, whatever the operator.
    match choose::nodes_to_reduce(peers, false) {
        Some(nodes) => Box::pin(by_nodes(peers, nodes, (through, below), op)).await,
        None => among_equals(peers, through, below, op).await,
    }
}

/// The last process of each node has the sum of its node. These processes find the sums of all
/// nodes below theirs, and give them to their nodes, on which ranks follow one another.
async fn by_nodes(
    peers: &impl Everyone,
    nodes: &Nodes,
    (through, below): (&Buffer, Option<&Buffer>),
    op: &Op,
) -> Result<()> {
    let number = nodes.number(peers.here());
    let node = peers
        .part(nodes.members(number))
        .expect("a process is on its node");
    among_equals(&node, through, below, op).await?;
    let last_of = |members: &Vec<usize>| members[members.len() - 1];
    let lasts: Vec<usize> = nodes.all().iter().map(last_of).collect();
    let under = Partial::room(through)?;
    if let Some(lasts) = peers.part(lasts) {
        let of_node = Partial::copy_of(through)?;
        among_equals(&lasts, of_node.buffer(), Some(under.buffer()), op).await?;
    }
    if number == 0 {
        return Ok(());
    }
    bcast::broadcast(&node, under.buffer(), node.all() - 1).await?;
    fold(under.buffer(), through, op)?;
    match below {
        Some(below) if node.here() > 0 => fold(under.buffer(), below, op),
        Some(below) => below.copy_from(under.buffer()).map(drop),
        None => Ok(()),
    }
}

/// [`sums`] of processes that are equally near.
async fn among_equals(
    peers: &impl Peers,
    through: &Buffer,
    below: Option<&Buffer>,
    op: &Op,
) -> Result<()> {
    match choose::prefix(peers, through.bytes()?) {
        Prefix::Doubling => doubling(peers, through, below, op).await,
        Prefix::Chain => chain(peers, through, below, op).await,
    }
}

/// In round k a process has the sum of 2^k adjacent ranks up to its own. It gives that to the
/// process 2^k ranks above, and gets what is left of its own sum from the one 2^k ranks below. So
/// nobody waits for a higher rank.
pub(super) async fn doubling(
    peers: &impl Peers,
    through: &Buffer,
    below: Option<&Buffer>,
    op: &Op,
) -> Result<()> {
    let (here, size) = (peers.here(), peers.all());
    let left = Partial::room(through)?;
    let left = left.buffer();
    let mut distance = 1;
    while distance < size {
        let to = Some(here + distance).filter(|&to| to < size);
        match (to, here.checked_sub(distance)) {
            (Some(to), Some(from)) => peers.exchange((to, through), (from, left)).await?,
            (Some(to), None) => peers.send(to, through).await?,
            (None, Some(from)) => peers.receive(from, left).await?,
            (None, None) => {}
        }
        if here >= distance {
            fold(left, through, op)?;
            match below {
                Some(below) if distance > 1 => fold(left, below, op)?,
                Some(below) => _ = below.copy_from(left)?,
                None => {}
            }
        }
        distance *= 2;
    }
    Ok(())
}

/// Each process gets the sum of all lower ranks from the one below it, and gives the sum through
/// its own to the one above it, in pieces.
pub(super) async fn chain(
    peers: &impl Peers,
    through: &Buffer,
    below: Option<&Buffer>,
    op: &Op,
) -> Result<()> {
    let each = fitting(through, RELAY_BYTES);
    let room = Partial::room(&through.part(0, each.min(through.count())))?;
    let mut first = 0;
    for piece in pieces(through, each) {
        let count = piece.count();
        if let Some(from) = peers.here().checked_sub(1) {
            let left = match below {
                Some(below) => below.part(first, count),
                None => room.buffer().part(0, count),
            };
            peers.receive(from, &left).await?;
            fold(&left, &piece, op)?;
        }
        first += count.cast_signed();
        if peers.here() + 1 < peers.all() {
            peers.send(peers.here() + 1, &piece).await?;
        }
    }
    Ok(())
}
