//! Prefix reductions. Source: MPI 5.0, 6.11.

use super::buffers::{Input, keep};
use super::choose::{self, Prefix, nearness};
use super::collective::{Begun, Collective, Remainder};
use super::partial::Partial;
use super::reduce::check_operands;
use super::shared;
use crate::comm::{Call, Members, Operation, Peers};
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

    fn begin<'a, P: Peers>(
        &'a self,
        peers: &'a P,
    ) -> Remainder<impl Future<Output = Result<()>> + Send + 'a> {
        let (own, result) = (self.send.or(&self.receive), (&self.receive, &self.op));
        if is_done(peers, Operation::Scan, own, result)? {
            return Ok(Begun::Done(()));
        }
        Ok(Begun::Left(scan(peers, own, &self.receive, &self.op)))
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

    fn begin<'a, P: Peers>(
        &'a self,
        peers: &'a P,
    ) -> Remainder<impl Future<Output = Result<()>> + Send + 'a> {
        let (own, result) = (self.send.or(&self.receive), (&self.receive, &self.op));
        if is_done(peers, Operation::Exscan, own, result)? {
            return Ok(Begun::Done(()));
        }
        Ok(Begun::Left(exscan(peers, own, &self.receive, &self.op)))
    }
}

/// Reduces in shared memory if the processes can. Returns true if nothing is left to be done.
fn is_done(
    peers: &impl Peers,
    kind: Operation,
    own: &Buffer,
    result: (&Buffer, &Op),
) -> Result<bool> {
    if own.count() == 0 {
        return Ok(true);
    }
    let choice = choose::prefix(own.bytes()?, peers.all(), nearness(peers));
    match (choice, peers.at_site()) {
        (Prefix::All, Some(at_site)) => shared::prefix_by_all(at_site, kind, own, result)?,
        (Prefix::Last, Some(at_site)) => shared::prefix_by_last(at_site, kind, own, result)?,
        _ => return Ok(false),
    }
    Ok(true)
}

async fn scan(peers: &impl Peers, own: &Buffer, receive: &Buffer, op: &Op) -> Result<()> {
    match lower_ranks(peers, own, op).await? {
        Some(lower) => {
            let mut result = Partial::copy_of(own)?;
            result.fold_left(&lower, op)?;
            receive.copy_from(result.buffer())?;
        }
        None => keep(own, receive)?,
    }
    Ok(())
}

async fn exscan(peers: &impl Peers, own: &Buffer, receive: &Buffer, op: &Op) -> Result<()> {
    if let Some(lower) = lower_ranks(peers, own, op).await? {
        receive.copy_from(lower.buffer())?;
    }
    Ok(())
}

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
