//! Reduction whose result is scattered. Source: MPI 5.0, 6.10.

use super::between::given;
use super::buffers::{Given, Input, SEND_IN_PLACE};
use super::choose::{self, Meeting, Scattering};
use super::collective::Collective;
use super::near::Near;
use super::partial::{Partial, fold};
use super::{pieces, reduce, scatter, shared};
use crate::comm::{Call, Everyone, Members, Operation, Peers, Sides};
use crate::data::{Buffer, Op};
use crate::error::{Cause, Result};

/// Reduces like [`Allreduce`](super::Allreduce) and gives rank r the `counts[r]` elements that
/// follow those of the lower ranks.
///
/// The [cause](crate::error::Cause) of an error is as there, and `Argument` if there is not one
/// count per process.
///
/// Source: MPI 5.0, 6.10.2.
#[derive(Clone, Debug)]
pub struct ReduceScatter {
    /// As many elements as the sum of the counts. In place, they lie in `receive`.
    pub send: Input,
    /// Where the own part goes. In place, it replaces the beginning.
    pub receive: Buffer,
    /// The elements of each process's part.
    pub counts: Vec<u64>,
    /// The operator.
    pub op: Op,
}

/// Reduces and scatters the result, `count` elements for each process.
///
/// The [cause](crate::error::Cause) of an error is as for [`Allreduce`](super::Allreduce).
///
/// Source: MPI 5.0, 6.10.1.
#[derive(Clone, Debug)]
pub struct ReduceScatterBlock {
    /// `count` elements for each process. In place, they lie in `receive`.
    pub send: Input,
    /// Where the own part goes. In place, it replaces the beginning.
    pub receive: Buffer,
    /// The elements of each process's part.
    pub count: u64,
    /// The operator.
    pub op: Op,
}

impl Collective for ReduceScatter {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(Operation::ReduceScatter)
    }

    fn calls_program(&self) -> bool {
        self.op.calls_program()
    }

    fn check(&self, members: Members) -> Result<()> {
        if self.counts.len() != members.all {
            return Err(Cause::Argument("there must be one count per process").into());
        }
        let total = self
            .counts
            .iter()
            .try_fold(0u64, |sum, &count| sum.checked_add(count));
        let own = self.counts[members.here];
        check(&self.send, &self.receive, (total, own), &self.op)
    }

    /// The counts are those of this side. Their sum is the same on both.
    fn check_between(&self, members: Members, _others: usize) -> Result<()> {
        given(&self.send)?;
        self.check(members)
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        let own = given(&self.send)?;
        scatter_theirs(sides, own, (&self.receive, &self.counts), &self.op).await
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let own = (self.send.or(&self.receive), &self.counts[..]);
        at_site(
            near,
            Operation::ReduceScatter,
            own,
            (&self.receive, &self.op),
        )
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let own = self.send.or(&self.receive);
        reduce_scatter(peers, own, (&self.receive, &self.counts), &self.op).await
    }
}

impl Collective for ReduceScatterBlock {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(Operation::ReduceScatterBlock)
    }

    fn calls_program(&self) -> bool {
        self.op.calls_program()
    }

    fn check(&self, members: Members) -> Result<()> {
        let total = self.count.checked_mul(members.all as u64);
        check(&self.send, &self.receive, (total, self.count), &self.op)
    }

    /// The counts are those of this side. Their sum is the same on both.
    fn check_between(&self, members: Members, _others: usize) -> Result<()> {
        given(&self.send)?;
        self.check(members)
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        let own = given(&self.send)?;
        let counts = vec![self.count; sides.local.all()];
        scatter_theirs(sides, own, (&self.receive, &counts), &self.op).await
    }

    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let counts = vec![self.count; near.all()];
        let own = (self.send.or(&self.receive), &counts[..]);
        at_site(
            near,
            Operation::ReduceScatterBlock,
            own,
            (&self.receive, &self.op),
        )
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let (own, counts) = (self.send.or(&self.receive), vec![self.count; peers.all()]);
        reduce_scatter(peers, own, (&self.receive, &counts), &self.op).await
    }
}

/// Checks the buffers: `total` elements in all, or too many to be counted, of which `own` are this
/// process's.
fn check(send: &Input, receive: &Buffer, (total, own): (Option<u64>, u64), op: &Op) -> Result<()> {
    op.check(receive.datatype())?;
    let too_many = Cause::Count {
        count: u64::MAX,
        size: receive.datatype().size(),
    };
    let whole = send.or(receive).part(0, total.ok_or(too_many)?);
    whole.check()?;
    let place = receive.part(0, own);
    place.check()?;
    let given = match send {
        Input::Buffer(_) => Some(Given::Equal(&whole, 1)),
        Input::InPlace => None,
    };
    Given::Equal(&place, 1).refuse_overlap(given, SEND_IN_PLACE)
}

/// Reduces in memory that the processes share: little with all members at once, and the own part of
/// the result is kept; much in pieces.
fn at_site(
    near: &Near<'_>,
    kind: Operation,
    (own, counts): (&Buffer, &[u64]),
    (receive, op): (&Buffer, &Op),
) -> Result<Option<()>> {
    let whole = own.part(0, counts.iter().sum());
    let place = receive.part(0, counts[near.here()]);
    if whole.count() == 0 {
        return Ok(Some(()));
    }
    let Some((meeting, at_site)) = choose::scattered(near, &whole, counts)? else {
        return Ok(None);
    };
    if meeting == Meeting::Pieces {
        return pieces::reduce_scatter(at_site, kind, (own, counts), (&place, op)).map(Some);
    }
    let result = Partial::room(&whole)?;
    match meeting {
        Meeting::All => shared::allreduce_by_all(at_site, kind, &whole, result.buffer(), op)?,
        _ => shared::allreduce_by_last(at_site, kind, &whole, result.buffer(), op)?,
    }
    place
        .copy_from(&blocks_of(result.buffer(), counts)[near.here()])
        .map(|_| Some(()))
}

/// Reduces vectors and gives each process its part: `counts[rank]` elements to each rank, in rank
/// order. The part goes to the start of `receive`.
pub(super) async fn reduce_scatter(
    peers: &impl Everyone,
    own: &Buffer,
    (receive, counts): (&Buffer, &[u64]),
    op: &Op,
) -> Result<()> {
    let whole = own.part(0, counts.iter().sum());
    let place = receive.part(0, counts[peers.here()]);
    if choose::scattering(peers, &whole, op)? == Scattering::Pairwise {
        return pairwise(peers, &blocks_of(&whole, counts), &place, op).await;
    }
    let result = reduce::collect(peers, &whole, None, (op, 0)).await?;
    let blocks = result
        .as_ref()
        .map(|result| blocks_of(result.buffer(), counts));
    if whole.count() == 0 {
        return Ok(());
    }
    scatter::direct(peers, &place, blocks.as_deref(), 0).await
}

/// In step s each process gives its block for the process s ranks above to that one. Changes the
/// order of the operands.
async fn pairwise(peers: &impl Peers, blocks: &[Buffer], place: &Buffer, op: &Op) -> Result<()> {
    // In place, a block that is still to be given lies where the result goes.
    let result = Partial::copy_of(&blocks[peers.here()])?;
    let incoming = Partial::room(result.buffer())?;
    for step in 1..peers.all() {
        let to = peers.after(step);
        let receive = (peers.before(step), incoming.buffer());
        peers.exchange((to, &blocks[to]), receive).await?;
        fold(incoming.buffer(), result.buffer(), op)?;
    }
    result.settle(place)
}

/// Reduces the vectors of each side and gives each process its part of the other side's result.
async fn scatter_theirs<P: Peers>(
    sides: &Sides<P>,
    own: &Buffer,
    (receive, counts): (&Buffer, &[u64]),
    op: &Op,
) -> Result<()> {
    let whole = own.part(0, counts.iter().sum());
    if whole.count() == 0 {
        return Ok(());
    }
    let theirs = match sides.local.here() {
        0 => Some(Partial::room(&whole)?),
        _ => None,
    };
    let place = theirs.as_ref().map_or(&whole, Partial::buffer);
    reduce::swap_results(sides, (&whole, op), place).await?;
    let blocks = theirs
        .as_ref()
        .map(|theirs| blocks_of(theirs.buffer(), counts));
    let place = receive.part(0, counts[sides.local.here()]);
    scatter::direct(&sides.local, &place, blocks.as_deref(), 0).await
}

/// The part of each process in a vector.
fn blocks_of(vector: &Buffer, counts: &[u64]) -> Vec<Buffer> {
    let mut first = 0;
    let mut block = |&count: &u64| {
        let part = vector.part(first, count);
        first += count as i64;
        part
    };
    counts.iter().map(&mut block).collect()
}
