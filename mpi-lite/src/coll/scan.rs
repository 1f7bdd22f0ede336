//! Prefix reductions. Source: MPI 5.0, 6.11.

use super::choose::{self, Prefix};
use super::partial::Partial;
use super::peers::Peers;
use super::reduce::check_counts;
use super::{Input, meeting};
use crate::comm::{Communicator, Operation};
use crate::data::{Buffer, Op};
use crate::error::Result;

/// Prefix reductions.
impl Communicator {
    /// Reduces the elements of all ranks up to this one into `receive`.
    ///
    /// # Errors
    /// As for [`Communicator::allreduce`].
    ///
    /// Source: MPI 5.0, 6.11.1.
    pub fn scan(&self, send: &Input, receive: &Buffer, op: &Op) -> Result<()> {
        scan(&self.within(Operation::Scan), send, receive, op)
    }

    /// Reduces the elements of all ranks below this one into `receive`, which stays as it is at
    /// rank 0.
    ///
    /// # Errors
    /// As for [`Communicator::allreduce`].
    ///
    /// Source: MPI 5.0, 6.11.2.
    pub fn exscan(&self, send: &Input, receive: &Buffer, op: &Op) -> Result<()> {
        exscan(&self.within(Operation::Exscan), send, receive, op)
    }
}

/// Reduces the elements of ranks `0..=here` into `receive`.
pub(super) fn scan(peers: &impl Peers, send: &Input, receive: &Buffer, op: &Op) -> Result<()> {
    let Some(own) = prepare(send, receive, op)? else {
        return Ok(());
    };
    if meet(peers, Operation::Scan, &own, (receive, op))? {
        return Ok(());
    }
    match lower_ranks(peers, &own, op)? {
        Some(lower) => {
            let mut result = Partial::copy_of(&own)?;
            result.fold_left(&lower, op)?;
            receive.copy_from(result.buffer())?;
        }
        None => super::gather::keep(&own, receive)?,
    }
    Ok(())
}

/// Reduces the elements of ranks `0..here` into `receive`, which stays as it is at rank 0.
pub(super) fn exscan(peers: &impl Peers, send: &Input, receive: &Buffer, op: &Op) -> Result<()> {
    let Some(own) = prepare(send, receive, op)? else {
        return Ok(());
    };
    if meet(peers, Operation::Exscan, &own, (receive, op))? {
        return Ok(());
    }
    if let Some(lower) = lower_ranks(peers, &own, op)? {
        receive.copy_from(lower.buffer())?;
    }
    Ok(())
}

/// Scan or exscan in shared memory; answers whether it was done there.
fn meet(peers: &impl Peers, kind: Operation, own: &Buffer, result: (&Buffer, &Op)) -> Result<bool> {
    let choice = choose::prefix(own.bytes()?, peers.all(), peers.nearness());
    match (choice, peers.circle()) {
        (Prefix::All, Some(circle)) => meeting::prefix_by_all(circle, kind, own, result)?,
        (Prefix::Last, Some(circle)) => meeting::prefix_by_last(circle, kind, own, result)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Checks the arguments; `None` if there is nothing to do.
fn prepare(send: &Input, receive: &Buffer, op: &Op) -> Result<Option<Buffer>> {
    op.check(receive.datatype())?;
    receive.check()?;
    send.check()?;
    let own = send.or(receive);
    check_counts(&own, receive)?;
    Ok((own.count() > 0).then_some(own))
}

/// Recursive doubling: in round k a process and the one whose rank differs in bit k tell each
/// other what their blocks of 2^k neighbours sum up to; the upper ones add the lower block to the
/// sum of all below them. A partner beyond the last rank is left out: only blocks above miss it.
fn lower_ranks(peers: &impl Peers, own: &Buffer, op: &Op) -> Result<Option<Partial>> {
    let mut block = Partial::copy_of(own)?;
    let mut incoming = Partial::room(own)?;
    let mut lower: Option<Partial> = None;
    let mut bit = 1;
    while bit < peers.all() {
        let partner = peers.here() ^ bit;
        bit *= 2;
        if partner >= peers.all() {
            continue;
        }
        peers.exchange((partner, block.buffer()), (partner, incoming.buffer()))?;
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
