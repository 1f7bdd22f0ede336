//! Reduction to one process, and within one. Source: MPI 5.0, 6.9.1 and 6.9.7.

use super::choose::{self, Collection};
use super::meeting;
use super::partial::{Partial, fold};
use super::peers::Peers;
use super::{Input, at_root};
use crate::comm::{Communicator, Operation};
use crate::data::{Buffer, Op};
use crate::error::{Cause, Result};

/// Reduction to one process.
impl Communicator {
    /// Reduces the elements at the same place of everybody's `send` into `receive` at the root:
    /// `receive[i] = send_0[i] op send_1[i] op …`, in the order of the ranks if the operator does
    /// not commute. Only the root gives `receive`, of as many elements, and may send in place.
    ///
    /// # Errors
    /// [`Cause::Root`]; [`Cause::Op`] if the operator is not defined for the datatype;
    /// [`Cause::Argument`] if the counts differ or an argument of the root is missing;
    /// [`Cause::Count`], [`Cause::NullBuffer`], [`Cause::Lost`].
    ///
    /// Source: MPI 5.0, 6.9.1.
    pub fn reduce(&self, send: &Input, receive: Option<&Buffer>, op: &Op, root: i32) -> Result<()> {
        reduce(
            &self.within_rooted(Operation::Reduce, root),
            send,
            receive,
            op,
            root,
        )
    }
}

/// Reduces everybody's elements into `receive` at the root.
pub(super) fn reduce(
    peers: &impl Peers,
    send: &Input,
    receive: Option<&Buffer>,
    op: &Op,
    root: i32,
) -> Result<()> {
    let root = peers.check_root(root)?;
    if peers.here() == root {
        let receive = at_root(receive)?;
        receive.check()?;
        send.check()?;
        let own = send.or(receive);
        check_counts(&own, receive)?;
        if let Some(result) = to_root(peers, &own, Some(receive), (op, root))? {
            result.settle(receive)?;
        }
    } else {
        let own = send.required()?;
        own.check()?;
        to_root(peers, own, None, (op, root))?;
    }
    Ok(())
}

/// Checks that what is reduced and the result have as many elements.
pub(super) fn check_counts(send: &Buffer, receive: &Buffer) -> Result<()> {
    if send.count() != receive.count() {
        let why = "a reduction has as many results as elements";
        return Err(Cause::Argument(why).into());
    }
    Ok(())
}

/// Gives the result at the root, in `place` if there is one; nothing elsewhere or if there is
/// nothing to reduce.
pub(super) fn to_root(
    peers: &impl Peers,
    own: &Buffer,
    place: Option<&Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial>> {
    op.check(own.datatype())?;
    if own.count() == 0 {
        return Ok(None);
    }
    let choice = choose::collection(own.bytes()?, peers.all(), peers.nearness());
    if let (Collection::Meeting, Some(circle)) = (choice, peers.circle()) {
        return meeting::reduce(circle, own, place, (op, root));
    }
    if op.is_commutative() || root == 0 {
        return binomial(peers, own, place, (op, root));
    }
    // Rank order needs the tree at rank 0; the result then goes to the root.
    let result = binomial(peers, own, None, (op, 0))?;
    if peers.here() == root {
        let result = Partial::room(own)?;
        peers.receive(0, result.buffer())?;
        return Ok(Some(result));
    }
    result.map_or(Ok(None), |result| {
        peers.send(root, result.buffer()).map(|()| None)
    })
}

/// Binomial tree over the distance from `root`: a process collects from those that have its bits
/// and one lower one, near ones first, then passes the result on. With root 0 the operands stay in
/// the order of the ranks.
fn binomial(
    peers: &impl Peers,
    own: &Buffer,
    place: Option<&Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial>> {
    let size = peers.all();
    let distance = (peers.here() + size - root) % size;
    let lowest = super::bcast::lowest_bit(distance, size);
    if lowest == 1 && distance > 0 {
        peers.send((distance - 1 + root) % size, own)?;
        return Ok(None);
    }
    let mut result = match place {
        Some(place) => Partial::begin(own, place)?,
        None => Partial::copy_of(own)?,
    };
    let mut incoming = Partial::room(own)?;
    let mut bit = 1;
    while bit < lowest && distance + bit < size {
        peers.receive((distance + bit + root) % size, incoming.buffer())?;
        result.fold_right(&mut incoming, op)?;
        bit *= 2;
    }
    if distance == 0 {
        return Ok(Some(result));
    }
    peers.send((distance - lowest + root) % size, result.buffer())?;
    Ok(None)
}

/// `inout[i] = input[i] op inout[i]`, without any communication.
///
/// # Errors
/// [`Cause::Op`] if the operator is not defined for the datatype; [`Cause::Argument`] if the
/// counts differ; [`Cause::NullBuffer`], [`Cause::Count`].
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
