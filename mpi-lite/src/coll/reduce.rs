//! Reduction to one process, and within one. Source: MPI 5.0, 6.9.1 and 6.9.7.

use super::between::{Role, given};
use super::buffers::{Given, Input, SEND_IN_PLACE, at_root, check_counts};
use super::choose::{self, Collection, Meeting, RELAY_BYTES};
use super::collective::Collective;
use super::levels::Levels;
use super::near::Near;
use super::partial::{Partial, fold};
use super::tree::{Relay, lowest_bit};
use super::{buffers, pieces, shared};
use crate::comm::{Call, Everyone, Members, Nodes, Operation, Peers, Sides};
use crate::data::{Buffer, Op};
use crate::error::{Cause, Result};

/// Reduces like [`Allreduce`](super::Allreduce), with the result at the root.
///
/// The [cause](crate::error::Cause) of an error is as there, `Root`, and `Argument` if an argument
/// of the root is missing.
///
/// Source: MPI 5.0, 6.9.1.
#[derive(Clone, Debug)]
pub struct Reduce {
    /// The elements of this process. The root's may lie in place.
    pub send: Input,
    /// Of the root alone: where the result goes, as many elements.
    pub receive: Option<Buffer>,
    /// The operator.
    pub op: Op,
    /// The rank of the root.
    pub root: i32,
}

impl Collective for Reduce {
    type Output = ();

    #[inline]
    fn call(&self) -> Call {
        Call::rooted(Operation::Reduce, self.root)
    }

    #[inline]
    fn calls_program(&self) -> bool {
        self.op.calls_program()
    }

    #[inline]
    fn check(&self, members: Members) -> Result<()> {
        if members.is_root(self.root)? {
            let receive = at_root(self.receive.as_ref())?;
            return check_operands(&self.send, receive, &self.op);
        }
        let own = self.send.required()?;
        own.check()?;
        self.op.check(own.datatype())
    }

    fn check_between(&self, _members: Members, others: usize) -> Result<()> {
        let elements = match Role::checked(self.root, others)? {
            Role::Root => at_root(self.receive.as_ref())?,
            Role::Idle => return Ok(()),
            Role::Other(_) => given(&self.send)?,
        };
        elements.check()?;
        self.op.check(elements.datatype())
    }

    async fn between<P: Peers>(&self, sides: &Sides<P>) -> Result<()> {
        match Role::of(self.root) {
            Role::Root => match at_root(self.receive.as_ref())? {
                place if place.count() == 0 => Ok(()),
                place => sides.remote.receive(0, place).await,
            },
            Role::Idle => Ok(()),
            Role::Other(root) => reduce_for(sides, root, (given(&self.send)?, &self.op)).await,
        }
    }

    #[inline(always)]
    fn without_messages(&self, near: &Near<'_>) -> Result<Option<()>> {
        let (own, place) = self.at(near.here())?;
        let (op, root) = (&self.op, self.root as usize);
        if own.count() == 0 {
            return Ok(Some(()));
        }
        match choose::meeting(near, own.bytes()?, own.datatype().size()) {
            Some((Meeting::Pieces, at_site)) => {
                pieces::reduce(at_site, own, place, (op, root)).map(Some)
            }
            Some((_, at_site)) => shared::reduce(at_site, own, place, (op, root)).map(|_| Some(())),
            None => Ok(None),
        }
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let (own, place) = self.at(peers.here())?;
        let (op, root) = (&self.op, self.root as usize);
        let result = collect(peers, own, place, (op, root)).await?;
        match (result, place) {
            (Some(result), Some(place)) => result.settle(place),
            _ => Ok(()),
        }
    }
}

impl Reduce {
    /// The operands of the process of this rank, and where its result goes if it is the root.
    #[inline]
    fn at(&self, here: usize) -> Result<(&Buffer, Option<&Buffer>)> {
        let place = self.receive.as_ref().filter(|_| here == self.root as usize);
        match place {
            Some(place) => Ok((self.send.or(place), Some(place))),
            None => Ok((self.send.required()?, None)),
        }
    }
}

/// Checks the operands of a reduction and where its result goes.
#[inline]
pub(super) fn check_operands(send: &Input, receive: &Buffer, op: &Op) -> Result<()> {
    op.check(receive.datatype())?;
    receive.check()?;
    if let Input::Buffer(own) = send {
        own.check()?;
        check_counts(own, receive)?;
        let given = Some(Given::Equal(own, 1));
        return Given::Equal(receive, 1).refuse_overlap(given, SEND_IN_PLACE);
    }
    Ok(())
}

/// Reduces by messages. Returns the result as [`to_root`].
pub(super) async fn collect<'a>(
    peers: &impl Everyone,
    own: &Buffer,
    place: Option<&'a Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial<'a>>> {
    match choose::nodes_to_reduce(peers, op.is_commutative()) {
        // Boxed, so that the future of processes that are equally near stays small.
        Some(nodes) if own.count() > 0 => {
            Box::pin(by_nodes((peers, nodes), own, place, (op, root))).await
        }
        _ => to_root(peers, own, place, (op, root)).await,
    }
}

/// The leader of each node collects from the processes there, and the root from the leaders.
async fn by_nodes<'a>(
    (peers, nodes): (&impl Everyone, &Nodes),
    own: &Buffer,
    place: Option<&'a Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial<'a>>> {
    let levels = Levels::led_by(root, peers, nodes);
    let of_node = to_root(levels.node(), own, place, (op, levels.leader())).await?;
    match (of_node, levels.leaders()) {
        (Some(of_node), Some(leaders)) => {
            let own = of_node.buffer();
            to_root(leaders, own, place, (op, nodes.number(root))).await
        }
        _ => Ok(None),
    }
}

/// Reduces by messages, as processes that are equally near. Returns the result at the root, in
/// `place` if there is one and the order allows it. Returns nothing elsewhere, or if there is
/// nothing to reduce.
pub(super) async fn to_root<'a>(
    peers: &impl Peers,
    own: &Buffer,
    place: Option<&'a Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial<'a>>> {
    if own.count() == 0 {
        return Ok(None);
    }
    if op.is_commutative() || root == 0 {
        return in_order(peers, own, place, (op, root)).await;
    }
    // Rank order begins at rank 0; the result then goes to the root.
    let result = in_order(peers, own, None, (op, 0)).await?;
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

/// Reduces the elements of this side and sends the result to `root` on the other one.
async fn reduce_for<P: Peers>(
    sides: &Sides<P>,
    root: usize,
    (own, op): (&Buffer, &Op),
) -> Result<()> {
    match to_root(&sides.local, own, None, (op, 0)).await? {
        Some(result) => sides.remote.send(root, result.buffer()).await,
        None => Ok(()),
    }
}

/// Reduces the elements of this side, and those of the other. The first process of this side
/// receives the result of the other one into `place`.
pub(super) async fn swap_results<P: Peers>(
    sides: &Sides<P>,
    (own, op): (&Buffer, &Op),
    place: &Buffer,
) -> Result<()> {
    match to_root(&sides.local, own, None, (op, 0)).await? {
        Some(result) => {
            let (send, receive) = ((0, result.buffer()), (0, place));
            sides.remote.exchange(send, receive).await
        }
        None => Ok(()),
    }
}

/// Reduces in the order of the distance from `root`.
async fn in_order<'a>(
    peers: &impl Peers,
    own: &Buffer,
    place: Option<&'a Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial<'a>>> {
    match choose::collection(peers, own.bytes()?) {
        Collection::Tree => binomial(peers, own, place, (op, root)).await,
        Collection::Pieces => in_pieces(peers, own, place, (op, root)).await,
    }
}

/// In pieces: a process adds its elements to what others pass on to it, and passes that on towards
/// `root` while the next piece is on its way.
pub(super) async fn in_pieces<'a>(
    peers: &impl Peers,
    own: &Buffer,
    place: Option<&'a Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial<'a>>> {
    let each = buffers::fitting(own, RELAY_BYTES);
    let process = (peers.here(), peers.all());
    let pieces = buffers::number_of_pieces(own, each);
    let Relay { above, below } = Relay::of(process, root, pieces, op.is_commutative());
    let result = match (above, place) {
        (None, Some(place)) => Some(Partial::begin(own, place)?),
        (None, None) => Some(Partial::copy_of(own)?),
        _ => None,
    };
    let piece = own.part(0, each.min(own.count()));
    let (room, sum) = (Partial::room(&piece)?, Partial::room(&piece)?);
    let mut first = 0;
    for given in buffers::pieces(own, each) {
        let count = given.count();
        let here = match &result {
            Some(result) => result.buffer().part(first, count),
            None if below.is_empty() => given,
            None => {
                let sum = sum.buffer().part(0, count);
                sum.copy_from(&given)?;
                sum
            }
        };
        first += count.cast_signed();
        for &below in &below {
            let theirs = room.buffer().part(0, count);
            peers.receive(below, &theirs).await?;
            if op.is_commutative() {
                fold(&theirs, &here, op)?;
            } else {
                fold(&here, &theirs, op)?;
                here.copy_from(&theirs)?;
            }
        }
        if let Some(above) = above {
            peers.send(above, &here).await?;
        }
    }
    Ok(result)
}

/// Binomial tree over the distance from `root`: a process collects from those whose distance has
/// its bits and one lower bit, near ones first. Then it passes the result on. With root 0 the
/// operands stay in the order of the ranks.
async fn binomial<'a>(
    peers: &impl Peers,
    own: &Buffer,
    place: Option<&'a Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial<'a>>> {
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

const LOCAL_OVERLAP: Cause =
    Cause::Overlap("inbuf and inoutbuf overlap: pass memory of its own as inbuf");

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
    let given = Some(Given::Equal(input, 1));
    Given::Equal(inout, 1).refuse_overlap(given, LOCAL_OVERLAP)?;
    let left = Partial::copy_of(input)?;
    fold(left.buffer(), inout, op)
}
