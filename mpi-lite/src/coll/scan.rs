//! Prefix reductions. Source: MPI 5.0, 6.11.

use super::buffers::{Input, check_counts, keep};
use super::choose::{self, Prefix, nearness};
use super::partial::Partial;

use super::shared;
use crate::comm::{Begun, Communicator, Operation, Peers, finish};
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
        finish(scan(&self.within(Operation::Scan), send, receive, op))
    }

    /// Reduces the elements of all ranks below this one into `receive`, which stays as it is at
    /// rank 0.
    ///
    /// # Errors
    /// As for [`Communicator::allreduce`].
    ///
    /// Source: MPI 5.0, 6.11.2.
    pub fn exscan(&self, send: &Input, receive: &Buffer, op: &Op) -> Result<()> {
        let peers = self.within(Operation::Exscan);
        finish(exscan(&peers, send, receive, op))
    }
}

/// Reduces the elements of ranks `0..=here` into `receive`.
pub(super) fn scan(
    peers: &impl Peers,
    send: &Input,
    receive: &Buffer,
    op: &Op,
) -> Begun<impl Future<Output = Result<()>>> {
    let begun = begin(peers, Operation::Scan, send, (receive, op))?;
    Ok(begun.map(|own| scan_by_messages(peers, own, receive, op)))
}

async fn scan_by_messages(
    peers: &impl Peers,
    own: Buffer,
    receive: &Buffer,
    op: &Op,
) -> Result<()> {
    match lower_ranks(peers, &own, op).await? {
        Some(lower) => {
            let mut result = Partial::copy_of(&own)?;
            result.fold_left(&lower, op)?;
            receive.copy_from(result.buffer())?;
        }
        None => keep(&own, receive)?,
    }
    Ok(())
}

/// Reduces the elements of ranks `0..here` into `receive`, which stays as it is at rank 0.
pub(super) fn exscan(
    peers: &impl Peers,
    send: &Input,
    receive: &Buffer,
    op: &Op,
) -> Begun<impl Future<Output = Result<()>>> {
    let begun = begin(peers, Operation::Exscan, send, (receive, op))?;
    Ok(begun.map(|own| exscan_by_messages(peers, own, receive, op)))
}

async fn exscan_by_messages(
    peers: &impl Peers,
    own: Buffer,
    receive: &Buffer,
    op: &Op,
) -> Result<()> {
    if let Some(lower) = lower_ranks(peers, &own, op).await? {
        receive.copy_from(lower.buffer())?;
    }
    Ok(())
}

/// Checks the arguments, and reduces in shared memory if the processes can. Returns what must be
/// reduced by messages.
fn begin(
    peers: &impl Peers,
    kind: Operation,
    send: &Input,
    result: (&Buffer, &Op),
) -> Result<Option<Buffer>> {
    let (receive, op) = result;
    let Some(own) = prepare(send, receive, op)? else {
        return Ok(None);
    };
    let choice = choose::prefix(own.bytes()?, peers.all(), nearness(peers));
    match (choice, peers.at_site()) {
        (Prefix::All, Some(at_site)) => shared::prefix_by_all(at_site, kind, &own, result)?,
        (Prefix::Last, Some(at_site)) => shared::prefix_by_last(at_site, kind, &own, result)?,
        _ => return Ok(Some(own)),
    }
    Ok(None)
}

/// Checks the arguments. Returns `None` if there is nothing to do.
fn prepare(send: &Input, receive: &Buffer, op: &Op) -> Result<Option<Buffer>> {
    op.check(receive.datatype())?;
    receive.check()?;
    send.check()?;
    let own = send.or(receive);
    check_counts(&own, receive)?;
    Ok((own.count() > 0).then_some(own))
}

/// Recursive doubling: in round k a process and the one whose rank differs in bit k exchange the
/// sums of their blocks of 2^k adjacent ranks. The upper one adds the lower block to the sum of all
/// ranks below it. A partner beyond the last rank is left out: only blocks above would need it.
async fn lower_ranks(peers: &impl Peers, own: &Buffer, op: &Op) -> Result<Option<Partial>> {
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
