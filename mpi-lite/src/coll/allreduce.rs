//! Reduction to all processes. Source: MPI 5.0, 6.9.6.

use super::bcast::broadcast;
use super::between::given;
use super::buffers::{Input, keep, split};
use super::choose::{self, Meeting, Reduction};
use super::collective::Collective;
use super::levels::{Levels, column};
use super::near::Near;
use super::partial::{Partial, fold};
use super::reduce::{check_operands, swap_results};
use super::{allgather, pieces, reduce, shared};
use crate::comm::{Call, Everyone, Members, Nodes, Operation, Peers, Sides};
use crate::data::{Buffer, Op};
use crate::error::Result;

/// Reduces the elements with the same index in the `send` of all into the `receive` of all:
/// `receive[i] = send_0[i] op send_1[i] op …`, in the order of the ranks if the operator does not
/// commute.
///
/// The [cause](crate::error::Cause) of an error is `Op` if the operator is not defined for the
/// datatype, `Argument` if the counts differ, `Count` or `NullBuffer`.
///
/// Source: MPI 5.0, 6.9.6.
#[derive(Clone, Debug)]
pub struct Allreduce {
    /// The elements of this process. In place, they lie in `receive`.
    pub send: Input,
    /// Where the result goes.
    pub receive: Buffer,
    /// The operator.
    pub op: Op,
}

impl Collective for Allreduce {
    type Output = ();

    #[inline]
    fn call(&self) -> Call {
        Call::of_all(Operation::Allreduce)
    }

    #[inline]
    fn calls_program(&self) -> bool {
        self.op.calls_program()
    }

    #[inline]
    fn check(&self, _members: Members) -> Result<()> {
        check_operands(&self.send, &self.receive, &self.op)
    }

    fn check_between(&self, _members: Members, _others: usize) -> Result<()> {
        given(&self.send)?;
        check_operands(&self.send, &self.receive, &self.op)
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        let own = given(&self.send)?;
        if own.count() == 0 {
            return Ok(());
        }
        swap_results(sides, (own, &self.op), &self.receive).await?;
        broadcast(&sides.local, &self.receive, 0).await
    }

    #[inline(always)]
    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let (own, receive) = (self.send.or(&self.receive), &self.receive);
        if own.count() == 0 {
            return Ok(Some(()));
        }
        match choose::meeting_of_all(near, own.bytes()?, own.datatype().size()) {
            Some((Meeting::All, at_site)) => {
                shared::allreduce_by_all(at_site, Operation::Allreduce, own, receive, &self.op)
                    .map(Some)
            }
            Some((Meeting::Last, at_site)) => {
                shared::allreduce_by_last(at_site, Operation::Allreduce, own, receive, &self.op)
                    .map(Some)
            }
            Some((Meeting::Pieces, at_site)) => {
                pieces::allreduce(at_site, own, receive, &self.op).map(Some)
            }
            None if near.is_alone() => keep(own, receive).map(Some),
            None => Ok(None),
        }
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let own = self.send.or(&self.receive);
        if own.count() == 0 {
            return Ok(());
        }
        let (receive, op) = (&self.receive, &self.op);
        let Some(nodes) = choose::nodes_to_reduce(peers, op.is_commutative()) else {
            return reduce_all(peers, own, receive, op).await;
        };
        keep(own, receive)?;
        // Boxed, so that the future of processes that are equally near stays small.
        match (choose::allreduce(peers, own, op)?, nodes.each()) {
            (Reduction::Ring, Some(_)) => Box::pin(in_columns(peers, nodes, receive, op)).await,
            _ => Box::pin(by_leaders(peers, nodes, receive, op)).await,
        }
    }
}

/// Reduces the elements of all, as of processes that are equally near.
async fn reduce_all(peers: &impl Peers, own: &Buffer, receive: &Buffer, op: &Op) -> Result<()> {
    match choose::allreduce(peers, own, op)? {
        Reduction::Ring => {
            keep(own, receive)?;
            ring(peers, receive, op).await
        }
        Reduction::Doubling => doubling(peers, own, receive, op).await,
    }
}

/// The leader of each node reduces the vectors there. The leaders reduce their results, and each
/// gives the outcome to its node.
async fn by_leaders(peers: &impl Everyone, nodes: &Nodes, vector: &Buffer, op: &Op) -> Result<()> {
    let levels = Levels::led_by(0, peers, nodes);
    let node = levels.node();
    let place = levels.leaders().map(|_| vector);
    let of_node = reduce::to_root(node, vector, place, (op, 0)).await?;
    if let (Some(of_node), Some(leaders)) = (of_node, levels.leaders()) {
        reduce_all(leaders, of_node.buffer(), vector, op).await?;
    }
    broadcast(node, vector, 0).await
}

/// Each process of a node reduces a part of the vector there, then that part with the processes of
/// its rank on the other nodes, and gives it to its node. All nodes have as many processes. Changes
/// the order of the operands.
async fn in_columns(peers: &impl Everyone, nodes: &Nodes, vector: &Buffer, op: &Op) -> Result<()> {
    let levels = Levels::led_by(0, peers, nodes);
    let node = levels.node();
    let parts = split(vector, node.all());
    reduce_around(node, &parts, op).await?;
    let part = &parts[node.here()];
    let column = peers.part(column(peers, nodes));
    let column = column.expect("this process has its own rank");
    reduce_all(&column, part, part, op).await?;
    allgather::ring(node, &parts).await
}

/// Recursive doubling. If the number of processes is no power of two, the first ones work in pairs
/// of adjacent ranks, and the upper one of a pair takes part. So a partial result always covers
/// adjacent ranks, and the operands stay in the order of the ranks.
async fn doubling(peers: &impl Peers, own: &Buffer, receive: &Buffer, op: &Op) -> Result<()> {
    let group = PowerOfTwo::of(peers.all());
    let mut result = Partial::begin(own, receive)?;
    if group.size == 1 {
        return Ok(());
    }
    let mut incoming = Partial::room(own)?;
    let Some(place) = group.place(peers.here()) else {
        peers.send(peers.here() + 1, result.buffer()).await?;
        return peers.receive(peers.here() + 1, receive).await;
    };
    let spared = group.is_doubled(peers.here()).then(|| peers.here() - 1);
    if let Some(spared) = spared {
        peers.receive(spared, incoming.buffer()).await?;
        result.fold_left(&incoming, op)?;
    }
    let mut bit = 1;
    while bit < group.size {
        let partner = group.rank(place ^ bit);
        peers
            .exchange((partner, result.buffer()), (partner, incoming.buffer()))
            .await?;
        if partner < peers.here() {
            result.fold_left(&incoming, op)?;
        } else {
            result.fold_right(&mut incoming, op)?;
        }
        bit *= 2;
    }
    if let Some(spared) = spared {
        peers.send(spared, result.buffer()).await?;
    }
    result.settle(receive)
}

/// The greatest power of two of processes; each of the others is paired with the rank above it.
pub(super) struct PowerOfTwo {
    /// A power of two.
    pub(super) size: usize,
    /// How many members act for two processes.
    doubled: usize,
}

impl PowerOfTwo {
    pub(super) fn of(all: usize) -> Self {
        let size = 1 << all.ilog2();
        Self {
            size,
            doubled: all - size,
        }
    }

    /// The place of `rank` among the members; `None` if the rank above it acts for it.
    pub(super) fn place(&self, rank: usize) -> Option<usize> {
        if rank >= 2 * self.doubled {
            Some(rank - self.doubled)
        } else {
            (rank % 2 == 1).then_some(rank / 2)
        }
    }

    /// The rank of the member at `place`.
    pub(super) fn rank(&self, place: usize) -> usize {
        if place < self.doubled {
            2 * place + 1
        } else {
            place + self.doubled
        }
    }

    /// Returns true if `rank` acts for the rank below it too.
    pub(super) fn is_doubled(&self, rank: usize) -> bool {
        rank < 2 * self.doubled && rank % 2 == 1
    }
}

/// Each part of the vector goes around the ring twice: first it is reduced on the way, then the
/// result is copied to all. Every link carries twice the vector. Changes the order of the operands.
async fn ring(peers: &impl Peers, vector: &Buffer, op: &Op) -> Result<()> {
    let parts = split(vector, peers.all());
    reduce_around(peers, &parts, op).await?;
    allgather::ring(peers, &parts).await
}

/// Reduces the part of this process over all. In step s a process passes on the part that began s
/// processes before it.
async fn reduce_around(peers: &impl Peers, parts: &[Buffer], op: &Op) -> Result<()> {
    let largest = parts.iter().max_by_key(|part| part.count());
    let room = Partial::room(largest.expect("there is a part for this process"))?;
    for step in 1..peers.all() {
        let outgoing = &parts[peers.before(step)];
        let here = &parts[peers.before(step + 1)];
        let incoming = room.buffer().part(0, here.count());
        peers
            .exchange((peers.after(1), outgoing), (peers.before(1), &incoming))
            .await?;
        fold(&incoming, here, op)?;
    }
    Ok(())
}
