//! Small collectives of ranks that share memory, without messages: all members write what they
//! bring where the others can read it.
//!
//! Where each member has a core of its own, each looks for itself at what it needs: that is one way
//! of a cache line. Where members share cores most of them do not run, so as few as possible are
//! waited for: each is counted when it comes, and the last one does the work and wakes the others.

use super::partial::{Partial, fold};
use crate::comm::{Operation, in_words};
use crate::data::{Buffer, Op};
use crate::engine::{Circle, agree, complain};
use crate::error::{Cause, Class, Error, Result};
use crate::node::meeting::{About, BRING_BYTES, Gathering, LINE_BYTES, Look, Who};

/// The most bytes for which a gathering is worth while.
pub(super) const MEETING_BYTES: u64 = BRING_BYTES as u64;

/// Said by the last who comes, when it had no memory for the reduction.
const NO_MEMORY: About = About::NONE.with_bytes(1);

impl Operation {
    pub(super) fn about(self, root: usize, bytes: u64) -> About {
        About::new(self as u8, root as u32, bytes as u32)
    }
}

/// Waits for others who should have come for the same.
#[inline]
pub(super) fn wait<T>(circle: Circle<'_>, mine: About, look: impl FnMut() -> Look<T>) -> Result<T> {
    circle
        .wait(mine, look)
        .map_err(|error| in_words(circle, error))
}

/// All do the same collective, or the program is wrong: what the member of rank `other` came for,
/// and what this one did.
#[inline]
pub(super) fn check(
    circle: Circle<'_>,
    (other, theirs): (usize, About),
    mine: About,
) -> Result<()> {
    agree(mine, (Some(other), theirs)).map_err(|error| in_words(circle, error))
}

/// The same for what the last who came has said; which rank that is nobody knows.
#[inline]
fn check_release(circle: Circle<'_>, theirs: About, mine: About) -> Result<()> {
    agree(mine, (None, theirs)).map_err(|error| in_words(circle, error))
}

/// Dissemination by stamps: see `barrier`.
pub(super) fn barrier_in_rounds(circle: Circle<'_>) -> Result<()> {
    let (me, size) = (circle.meeting().me(), circle.meeting().size());
    let (gathering, about) = circle.gather(Operation::Barrier.about(0, 0));
    wait(circle, about, || gathering.is_free())?;
    let mut distance = 1;
    let mut round = 0;
    while distance < size {
        gathering.reach(about, round);
        circle.rouse(Who::One((me + distance) % size));
        let before = (me + size - distance) % size;
        if let Some(theirs) = wait(circle, about, || gathering.has_reached(before, round))? {
            check(circle, (before, theirs), about)?;
        }
        distance *= 2;
        round += 1;
    }
    gathering.is_over();
    Ok(())
}

/// All are counted; the last releases the others.
pub(super) fn barrier_by_count(circle: Circle<'_>) -> Result<()> {
    let (gathering, about) = circle.gather(Operation::Barrier.about(0, 0));
    if gathering.count().map_err(complain)? {
        gathering.release(about, |_| ());
        circle.rouse(Who::Others);
    } else {
        let came_for = wait(circle, about, || gathering.is_released())?;
        check_release(circle, came_for, about)?;
    }
    gathering.is_over();
    Ok(())
}

/// Each member reads what all have brought.
pub(super) fn allreduce_by_all(
    circle: Circle<'_>,
    own: &Buffer,
    result: &Buffer,
    op: &Op,
) -> Result<()> {
    let (me, size) = (circle.meeting().me(), circle.meeting().size());
    let (gathering, about) = circle.gather(Operation::Allreduce.about(0, own.bytes()?));
    wait(circle, about, || gathering.is_free())?;
    gathering.bring(about, Who::Others, |bytes| pack(own, bytes));
    gathering.is_to_be_read_for(Who::Others);
    circle.rouse(Who::Others);
    for rank in (0..size).filter(|&rank| rank != me) {
        let theirs = wait(circle, about, || gathering.has_come(rank))?;
        check(circle, (rank, theirs), about)?;
    }
    gathering.is_complete();
    reduce_all(gathering, size, (result, op))
}

/// The last who comes reads what all have brought, and tells them the result.
pub(super) fn allreduce_by_last(
    circle: Circle<'_>,
    own: &Buffer,
    result: &Buffer,
    op: &Op,
) -> Result<()> {
    let (gathering, about) = circle.gather(Operation::Allreduce.about(0, own.bytes()?));
    wait(circle, about, || gathering.is_free())?;
    gathering.bring(about, Who::Nobody, |bytes| pack(own, bytes));
    if gathering.count().map_err(complain)? {
        let outcome = reduce_for_all(circle, gathering, about, (result, op));
        match &outcome {
            Ok(()) => gathering.release(about, |bytes| pack(result, bytes)),
            Err(error) => gathering.release(said_of(error), |_| ()),
        }
        circle.rouse(Who::Others);
        outcome?;
    } else {
        let theirs = wait(circle, about, || gathering.is_released())?;
        check_result(circle, (theirs, about), result)?;
        gathering.read_result(about.bytes() as usize, |bytes| result.unpack(bytes));
    }
    gathering.is_over();
    Ok(())
}

/// Reduces what all have brought; all have been counted.
fn reduce_for_all(
    circle: Circle<'_>,
    gathering: Gathering<'_>,
    about: About,
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    check_all(circle, gathering, about)?;
    reduce_all(gathering, circle.meeting().size(), (result, op))
}

/// All have been counted: have they come for the same?
fn check_all(circle: Circle<'_>, gathering: Gathering<'_>, about: About) -> Result<()> {
    let all = circle.check_all(gathering, about);
    all.map_err(|error| in_words(circle, error))
}

/// Scan or exscan: how many of the lowest ranks are reduced for this one.
fn prefix_of(rank: usize, kind: Operation) -> usize {
    rank + usize::from(kind == Operation::Scan)
}

/// Scan or exscan where each reads what the lower ranks have brought, and waits for nobody else.
pub(super) fn prefix_by_all(
    circle: Circle<'_>,
    kind: Operation,
    own: &Buffer,
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    let (me, size) = (circle.meeting().me(), circle.meeting().size());
    let (gathering, about) = circle.gather(kind.about(0, own.bytes()?));
    wait(circle, about, || gathering.is_free())?;
    gathering.bring(about, Who::Others, |bytes| pack(own, bytes));
    gathering.is_to_be_read_for(Who::Others);
    circle.rouse(Who::Others);
    for rank in 0..me {
        let theirs = wait(circle, about, || gathering.has_come(rank))?;
        check(circle, (rank, theirs), about)?;
    }
    if me + 1 == size {
        gathering.is_complete();
    }
    match prefix_of(me, kind) {
        0 => Ok(()),
        below => reduce_all(gathering, below, (result, op)),
    }
}

/// The same where the last who comes gives each its result.
pub(super) fn prefix_by_last(
    circle: Circle<'_>,
    kind: Operation,
    own: &Buffer,
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    let (gathering, about) = circle.gather(kind.about(0, own.bytes()?));
    wait(circle, about, || gathering.is_free())?;
    gathering.bring(about, Who::Nobody, |bytes| pack(own, bytes));
    if gathering.count().map_err(complain)? {
        let outcome = release_prefixes(circle, gathering, about, (kind, own, op));
        circle.rouse(Who::Others);
        outcome?;
    }
    let theirs = wait(circle, about, || gathering.is_released_alone())?;
    check_result(circle, (theirs, about), result)?;
    if prefix_of(circle.meeting().me(), kind) > 0 {
        gathering.read_own_result(about.bytes() as usize, |bytes| result.unpack(bytes));
    }
    gathering.is_over();
    Ok(())
}

/// Releases each with its result; or those that have none yet with what went wrong.
fn release_prefixes(
    circle: Circle<'_>,
    gathering: Gathering<'_>,
    about: About,
    work: (Operation, &Buffer, &Op),
) -> Result<()> {
    let size = circle.meeting().size();
    let mut released = 0;
    let outcome = check_all(circle, gathering, about)
        .and_then(|()| fold_prefixes(gathering, (about, size), work, &mut released));
    if let Err(error) = &outcome {
        for rank in released..size {
            gathering.release_one(rank, said_of(error), |_| ());
        }
    }
    outcome
}

/// Reduces from the first rank to the last, and releases each on the way, once what it brought has
/// been read: it may bring something else then.
fn fold_prefixes(
    gathering: Gathering<'_>,
    (about, size): (About, usize),
    (kind, own, op): (Operation, &Buffer, &Op),
    released: &mut usize,
) -> Result<()> {
    let (mut lower, mut next) = (Partial::room(own)?, Partial::room(own)?);
    for rank in 0..size {
        take(gathering, (rank, about.bytes() as usize), next.buffer());
        if rank > 0 {
            if kind == Operation::Exscan {
                gathering.release_one(rank, about, |bytes| pack(lower.buffer(), bytes));
                *released = rank + 1;
            }
            next.fold_left(&lower, op)?;
        }
        core::mem::swap(&mut lower, &mut next);
        // The first one's result of an exscan is nothing: it looks at none.
        if rank == 0 || kind == Operation::Scan {
            gathering.release_one(rank, about, |bytes| pack(lower.buffer(), bytes));
            *released = rank + 1;
        }
    }
    Ok(())
}

/// What the last who comes says when the reduction failed.
fn said_of(error: &Error) -> About {
    match error.class() {
        Class::NoMem => NO_MEMORY,
        _ => About::NONE,
    }
}

/// What the last who came has said: it may have had no memory for a result like `result`.
#[inline]
fn check_result(circle: Circle<'_>, (theirs, mine): (About, About), result: &Buffer) -> Result<()> {
    if theirs == NO_MEMORY {
        let bytes = result.occupied()?.len() as u64;
        return Err(Cause::NoMemory { bytes }.into());
    }
    check_release(circle, theirs, mine)
}

/// The root brings what all read; it does not wait for them.
// Blocking and nonblocking calls are compiled apart, and only the one comes here.
#[inline(always)]
pub(super) fn broadcast(circle: Circle<'_>, buffer: &Buffer, root: usize) -> Result<()> {
    let room = buffer.bytes()?;
    let (gathering, about) = circle.gather(Operation::Bcast.about(root, 0));
    wait(circle, about, || gathering.is_free())?;
    if circle.meeting().me() == root {
        let about = about.with_bytes(room as u32);
        gathering.bring(about, Who::Others, |bytes| pack(buffer, bytes));
        circle.rouse(Who::Others);
        return Ok(());
    }
    gathering.bring(about, Who::Nobody, |_| ());
    gathering.is_to_be_read_for(Who::One(root));
    circle.rouse(gathering.awaited_by());
    let theirs = wait(circle, about, || gathering.has_come(root))?;
    if theirs.with_bytes(0) != about {
        check(circle, (root, theirs), about)?;
    }
    let len = u64::from(theirs.bytes());
    if len > room {
        return Err(Cause::Truncate { len, room }.into());
    }
    take(gathering, (root, theirs.bytes() as usize), buffer);
    Ok(())
}

/// All bring something for the root, and do not wait for it. The root gives the result.
pub(super) fn reduce(
    circle: Circle<'_>,
    own: &Buffer,
    place: Option<&Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial>> {
    let (gathering, about) = circle.gather(Operation::Reduce.about(root, own.bytes()?));
    wait(circle, about, || gathering.is_free())?;
    if circle.meeting().me() == root {
        gathering.bring(about, Who::Nobody, |bytes| pack(own, bytes));
        gathering.is_to_be_read_for(Who::Others);
        circle.rouse(gathering.awaited_by());
        collect(circle, gathering, about)?;
        let result = match place {
            Some(place) => Partial::at(place),
            None => Partial::room(own)?,
        };
        reduce_all(gathering, circle.meeting().size(), (result.buffer(), op))?;
        return Ok(Some(result));
    }
    gathering.bring(about, Who::One(root), |bytes| pack(own, bytes));
    circle.rouse(gathering.awaited_by());
    if !circle.meeting().is_crowded() || gathering.give(root) {
        circle.rouse(Who::One(root));
    }
    Ok(None)
}

/// Waits at the root until all have brought something. Among many only the last one wakes it.
fn collect(circle: Circle<'_>, gathering: Gathering<'_>, about: About) -> Result<()> {
    let (me, size) = (circle.meeting().me(), circle.meeting().size());
    if circle.meeting().is_crowded() {
        let all = gathering.all_given();
        wait(circle, about, || gathering.has_been_given(all))?;
    }
    for rank in (0..size).filter(|&rank| rank != me) {
        let theirs = wait(circle, about, || gathering.has_come(rank))?;
        check(circle, (rank, theirs), about)?;
    }
    Ok(())
}

/// Writes the data of `buffer`, which is as long as `bytes`.
#[inline]
pub(super) fn pack(buffer: &Buffer, bytes: &mut [u8]) {
    match buffer.contiguous() {
        Some(span) => span.read_into(bytes),
        None => buffer.pack_into(bytes),
    };
}

/// Lays down what the member of `rank` has brought.
#[inline]
fn take(gathering: Gathering<'_>, (rank, bytes): (usize, usize), buffer: &Buffer) {
    match buffer.contiguous() {
        Some(span) => gathering.copy(rank, bytes, span),
        None => {
            gathering.read(rank, bytes, |brought| buffer.unpack(brought));
        }
    }
}

/// Reduces what all members have brought, in the order of their ranks: from the last to the first,
/// so that one result goes through all of them.
fn reduce_all(gathering: Gathering<'_>, size: usize, (result, op): (&Buffer, &Op)) -> Result<()> {
    let bytes = result.bytes()? as usize;
    if bytes <= LINE_BYTES && result.datatype().has_no_gaps() {
        return reduce_lines(gathering, (size, bytes), (result, op));
    }
    take(gathering, (size - 1, bytes), result);
    for rank in (0..size - 1).rev() {
        gathering.read(rank, bytes, |brought| fold_packed(brought, result, op))?;
    }
    Ok(())
}

/// The same for what fits a line and looks the same in memory.
#[inline]
fn reduce_lines(
    gathering: Gathering<'_>,
    (size, bytes): (usize, usize),
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    let mut upper = gathering.line(size - 1);
    for rank in (0..size - 1).rev() {
        let lower = gathering.line(rank);
        let inout = &mut upper.0[..bytes];
        op.apply(&lower.0[..bytes], inout, result.count(), result.datatype())?;
    }
    result.unpack(&upper.0[..bytes]);
    Ok(())
}

/// `result = left op result`, where `left` is without gaps.
fn fold_packed(left: &[u8], result: &Buffer, op: &Op) -> Result<()> {
    if result.datatype().has_no_gaps() {
        let (count, datatype) = (result.count(), result.datatype());
        let change = |inout: &mut [u8]| op.apply(left, inout, count, datatype);
        return result.occupied()?.update(change);
    }
    let spread = Partial::room(result)?;
    spread.buffer().unpack(left);
    fold(spread.buffer(), result, op)
}
