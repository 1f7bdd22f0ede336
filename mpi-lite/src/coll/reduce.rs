//! Reduction to one process, and within one. Source: MPI 5.0, 6.9.1 and 6.9.7.

use super::buffers::{Input, at_root, check_counts};
use super::choose::{self, Collection, nearness};
use super::partial::{Partial, fold};
use super::shared;
use super::tree::lowest_bit;

use crate::comm::{Begun, Communicator, Operation, Peers, finish};
use crate::data::{Buffer, Op};
use crate::engine::AtSite;
use crate::error::Result;

/// Reduction to one process.
impl Communicator {
    /// Reduces the elements with the same index in the `send` of all into `receive` at the root:
    /// `receive[i] = send_0[i] op send_1[i] op …`, in the order of the ranks if the operator does
    /// not commute. Only the root gives `receive`, of as many elements, and may send in place.
    ///
    /// # Errors
    /// The [cause](crate::error::Cause) is `Root`; `Op` if the operator is not defined for the
    /// datatype; `Argument` if the counts differ or an argument of the root is missing; `Count`,
    /// `NullBuffer` or `Lost`.
    ///
    /// Source: MPI 5.0, 6.9.1.
    pub fn reduce(&self, send: &Input, receive: Option<&Buffer>, op: &Op, root: i32) -> Result<()> {
        let peers = self.within_rooted(Operation::Reduce, root);
        finish(reduce(&peers, send, receive, op, root))
    }
}

/// Reduces the elements of all into `receive` at the root.
pub(super) fn reduce(
    peers: &impl Peers,
    send: &Input,
    receive: Option<&Buffer>,
    op: &Op,
    root: i32,
) -> Begun<impl Future<Output = Result<()>>> {
    let root = peers.check_root(root)?;
    let is_root = peers.here() == root;
    let (own, place);
    if is_root {
        let receive = at_root(receive)?;
        receive.check()?;
        own = send.or(receive);
        check_counts(&own, receive)?;
        place = Some(receive);
    } else {
        own = send.required()?.clone();
        place = None;
    }
    own.check()?;
    op.check(own.datatype())?;
    if own.count() == 0 {
        return Ok(None);
    }
    if let Some(at_site) = where_to_meet(peers, &own)? {
        shared::reduce(at_site, &own, place, (op, root))?;
        return Ok(None);
    }
    Ok(Some(async move {
        let result = by_messages(peers, &own, place, (op, root)).await?;
        match (result, place) {
            (Some(result), Some(place)) => result.settle(place),
            _ => Ok(()),
        }
    }))
}

/// Returns the result at the root. Returns nothing elsewhere, or if there is nothing to reduce.
pub(super) async fn to_root(
    peers: &impl Peers,
    own: &Buffer,
    (op, root): (&Op, usize),
) -> Result<Option<Partial>> {
    op.check(own.datatype())?;
    if own.count() == 0 {
        return Ok(None);
    }
    if let Some(at_site) = where_to_meet(peers, own)? {
        return shared::reduce(at_site, own, None, (op, root));
    }
    by_messages(peers, own, None, (op, root)).await
}

/// Returns the site of the processes, if they share memory and there is little to reduce.
fn where_to_meet<'a>(peers: &'a impl Peers, own: &Buffer) -> Result<Option<AtSite<'a>>> {
    let choice = choose::collection(own.bytes()?, peers.all(), nearness(peers));
    Ok(match choice {
        Collection::Site => peers.at_site(),
        Collection::Tree => None,
    })
}

/// Returns the result at the root, in `place` if there is one and the order allows it.
async fn by_messages(
    peers: &impl Peers,
    own: &Buffer,
    place: Option<&Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial>> {
    if op.is_commutative() || root == 0 {
        return binomial(peers, own, place, (op, root)).await;
    }
    // Rank order needs the tree at rank 0; the result then goes to the root.
    let result = binomial(peers, own, None, (op, 0)).await?;
    if peers.here() == root {
        let result = Partial::room(own)?;
        peers.receive(0, result.buffer()).await?;
        return Ok(Some(result));
    }
    if let Some(result) = result {
        peers.send(root, result.buffer()).await?;
    }
    Ok(None)
}

/// Binomial tree over the distance from `root`: a process collects from those whose distance has
/// its bits and one lower bit, near ones first. Then it passes the result on. With root 0 the
/// operands stay in the order of the ranks.
async fn binomial(
    peers: &impl Peers,
    own: &Buffer,
    place: Option<&Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial>> {
    let size = peers.all();
    let distance = (peers.here() + size - root) % size;
    let lowest = lowest_bit(distance, size);
    if lowest == 1 && distance > 0 {
        peers.send((distance - 1 + root) % size, own).await?;
        return Ok(None);
    }
    let mut result = match place {
        Some(place) => Partial::begin(own, place)?,
        None => Partial::copy_of(own)?,
    };
    let mut incoming = Partial::room(own)?;
    let mut bit = 1;
    while bit < lowest && distance + bit < size {
        peers
            .receive((distance + bit + root) % size, incoming.buffer())
            .await?;
        result.fold_right(&mut incoming, op)?;
        bit *= 2;
    }
    if distance == 0 {
        return Ok(Some(result));
    }
    peers
        .send((distance - lowest + root) % size, result.buffer())
        .await?;
    Ok(None)
}

/// `inout[i] = input[i] op inout[i]`, without any communication.
///
/// # Errors
/// The [cause](crate::error::Cause) is `Op` if the operator is not defined for the datatype;
/// `Argument` if the counts differ; `NullBuffer` or `Count`.
///
/// Source: MPI 5.0, 6.9.7.
pub fn reduce_local(input: &Buffer, inout: &Buffer, op: &Op) -> Result<()> {
    op.check(inout.datatype())?;
    input.check()?;
    inout.check()?;
    check_counts(input, inout)?;
    let left = Partial::copy_of(input)?;
    fold(left.buffer(), inout, op)
}
