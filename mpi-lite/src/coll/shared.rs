//! Small collectives of ranks that share memory, without messages: all members write what they
//! bring where the others can read it.
//!
//! If each member has a core of its own, each reads what it needs: a cache line crosses once. If
//! members share cores, most of them do not run, so a member waits for as few as possible. Each is
//! counted when it comes, and the last one does the work and wakes the others.

use super::partial::{Partial, fold};
use crate::comm::{Call, Operation, in_words, length_differs};
use crate::data::{Buffer, Op};
use crate::engine::{AtSite, agree, complain};
use crate::error::{Cause, Class, Error, Result};
use crate::node::site::{About, BRING_BYTES, Epoch, LINE_BYTES, Look, Who};

/// The most bytes for which an epoch is worth while.
pub(super) const SHARED_BYTES: u64 = BRING_BYTES as u64;

/// The round in which a member brings something that has come before.
const BROUGHT: u32 = 1;

/// Released by the last member to come, if it had no memory for the reduction.
const NO_MEMORY: About = About::NONE.with_bytes(1);

impl Operation {
    pub(super) fn about(self, root: usize, bytes: u64) -> About {
        About::new(self as u8, root as u32, bytes as u32)
    }
}

/// Waits for other members, which should have come for the same operation.
#[inline]
pub(super) fn wait<T>(
    at_site: AtSite<'_>,
    mine: About,
    look: impl FnMut() -> Look<T>,
) -> Result<T> {
    at_site
        .wait(mine, look)
        .map_err(|error| in_words(at_site, error))
}

/// Checks that the member of rank `other` came for the same collective as this one. If not, the
/// program is wrong.
#[inline]
pub(super) fn check(
    at_site: AtSite<'_>,
    (other, theirs): (usize, About),
    mine: About,
) -> Result<()> {
    agree(mine, (Some(other), theirs)).map_err(|error| in_words(at_site, error))
}

/// Checks what the last member to come has released the epoch for. Its rank is unknown.
#[inline]
fn check_release(at_site: AtSite<'_>, theirs: About, mine: About) -> Result<()> {
    agree(mine, (None, theirs)).map_err(|error| in_words(at_site, error))
}

/// Dissemination by sequence words: see `barrier`.
pub(super) fn barrier_in_rounds(at_site: AtSite<'_>, kind: Operation) -> Result<()> {
    let (me, size) = (at_site.site().me(), at_site.site().size());
    let (epoch, about) = at_site.begin_epoch(kind.about(0, 0))?;
    wait(at_site, about, || epoch.is_free())?;
    let mut distance = 1;
    let mut round = 0;
    while distance < size {
        epoch.reach(about, round);
        at_site.wake(Who::One((me + distance) % size));
        let before = (me + size - distance) % size;
        if let Some(theirs) = wait(at_site, about, || epoch.has_reached(before, round))? {
            check(at_site, (before, theirs), about)?;
        }
        distance *= 2;
        round += 1;
    }
    epoch.is_over();
    Ok(())
}

/// Barrier in which all are counted, and the last one releases the others.
pub(super) fn barrier_by_count(at_site: AtSite<'_>, kind: Operation) -> Result<()> {
    let (epoch, about) = at_site.begin_epoch(kind.about(0, 0))?;
    if epoch.count().map_err(complain)? {
        epoch.release(about, |_| ());
        at_site.wake(Who::Others);
    } else {
        let came_for = wait(at_site, about, || epoch.is_released())?;
        check_release(at_site, came_for, about)?;
    }
    epoch.is_over();
    Ok(())
}

/// Allreduce in which each member reads what all have brought. `kind` is that, or a part of the
/// result is wanted.
pub(super) fn allreduce_by_all(
    at_site: AtSite<'_>,
    kind: Operation,
    own: &Buffer,
    result: &Buffer,
    op: &Op,
) -> Result<()> {
    let (me, size) = (at_site.site().me(), at_site.site().size());
    let (epoch, about) = at_site.begin_epoch(kind.about(0, own.bytes()?))?;
    wait(at_site, about, || epoch.is_free())?;
    epoch.bring(about, Who::Others, |bytes| _ = own.pack_into(bytes));
    epoch.is_to_be_read_for(Who::Others);
    at_site.wake(Who::Others);
    for rank in (0..size).filter(|&rank| rank != me) {
        let theirs = wait(at_site, about, || epoch.has_come(rank))?;
        check(at_site, (rank, theirs), about)?;
    }
    epoch.is_complete();
    reduce_all(epoch, size, (result, op))
}

/// Allreduce in which the last member to come reads what all have brought, and writes the result
/// for them.
pub(super) fn allreduce_by_last(
    at_site: AtSite<'_>,
    kind: Operation,
    own: &Buffer,
    result: &Buffer,
    op: &Op,
) -> Result<()> {
    let (epoch, about) = at_site.begin_epoch(kind.about(0, own.bytes()?))?;
    wait(at_site, about, || epoch.is_free())?;
    epoch.bring(about, Who::Nobody, |bytes| _ = own.pack_into(bytes));
    if epoch.count().map_err(complain)? {
        let outcome = reduce_for_all(at_site, epoch, about, (result, op));
        match &outcome {
            Ok(()) => epoch.release(about, |bytes| _ = result.pack_into(bytes)),
            Err(error) => epoch.release(said_of(error), |_| ()),
        }
        at_site.wake(Who::Others);
        outcome?;
    } else {
        let theirs = wait(at_site, about, || epoch.is_released())?;
        check_result(at_site, (theirs, about), result)?;
        epoch.read_result(about.bytes() as usize, |bytes| result.unpack(bytes));
    }
    epoch.is_over();
    Ok(())
}

/// Reduces what all have brought. All must have been counted.
fn reduce_for_all(
    at_site: AtSite<'_>,
    epoch: Epoch<'_>,
    about: About,
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    check_all(at_site, epoch, about)?;
    reduce_all(epoch, at_site.site().size(), (result, op))
}

/// Checks that all have come for `about`. All must have been counted.
fn check_all(at_site: AtSite<'_>, epoch: Epoch<'_>, about: About) -> Result<()> {
    let all = at_site.check_all(epoch, about);
    all.map_err(|error| in_words(at_site, error))
}

/// Returns how many of the lowest ranks a scan or exscan reduces for this one.
fn prefix_of(rank: usize, kind: Operation) -> usize {
    rank + usize::from(kind == Operation::Scan)
}

/// Scan or exscan in which each reads what the lower ranks have brought, and waits for nobody else.
pub(super) fn prefix_by_all(
    at_site: AtSite<'_>,
    kind: Operation,
    own: &Buffer,
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    let (me, size) = (at_site.site().me(), at_site.site().size());
    let (epoch, about) = at_site.begin_epoch(kind.about(0, own.bytes()?))?;
    wait(at_site, about, || epoch.is_free())?;
    epoch.bring(about, Who::Others, |bytes| _ = own.pack_into(bytes));
    epoch.is_to_be_read_for(Who::Others);
    at_site.wake(Who::Others);
    for rank in 0..me {
        let theirs = wait(at_site, about, || epoch.has_come(rank))?;
        check(at_site, (rank, theirs), about)?;
    }
    if me + 1 == size {
        epoch.is_complete();
    }
    match prefix_of(me, kind) {
        0 => Ok(()),
        below => reduce_all(epoch, below, (result, op)),
    }
}

/// Scan or exscan in which each gets the sum of all lower ranks from the one below it, and waits
/// for nobody else.
pub(super) fn prefix_in_turn(
    at_site: AtSite<'_>,
    kind: Operation,
    own: &Buffer,
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    let (me, size) = (at_site.site().me(), at_site.site().size());
    let (epoch, about) = at_site.begin_epoch(kind.about(0, own.bytes()?))?;
    wait(at_site, about, || epoch.is_free())?;
    // All see what this member has come for, before it waits.
    epoch.reach(about, 0);
    at_site.wake(epoch.awaited_by());
    let through = match kind {
        Operation::Scan => Partial::begin(own, result)?,
        _ => Partial::copy_of(own)?,
    };
    if let Some(from) = me.checked_sub(1) {
        epoch.is_to_be_read_for(Who::One(from));
        if let Some(theirs) = wait(at_site, about, || epoch.has_reached(from, BROUGHT))? {
            check(at_site, (from, theirs), about)?;
        }
        let left = match kind {
            Operation::Scan => Partial::room(own)?,
            _ => Partial::at(result),
        };
        take(epoch, (from, about.bytes() as usize), left.buffer());
        fold(left.buffer(), through.buffer(), op)?;
    }
    let above = match me + 1 < size {
        true => Who::One(me + 1),
        false => Who::Nobody,
    };
    epoch.bring_in(BROUGHT, (about, above), |bytes| {
        _ = through.buffer().pack_into(bytes);
    });
    at_site.wake(above);
    Ok(())
}

/// Returns what the last member to come releases the epoch with if the reduction failed.
fn said_of(error: &Error) -> About {
    match error.class() {
        Class::NoMem => NO_MEMORY,
        _ => About::NONE,
    }
}

/// Checks what the last member to come has released the epoch with: it may have had no memory for a
/// result like `result`.
#[inline]
fn check_result(
    at_site: AtSite<'_>,
    (theirs, mine): (About, About),
    result: &Buffer,
) -> Result<()> {
    if theirs == NO_MEMORY {
        let bytes = result.occupied()?.len() as u64;
        return Err(Cause::NoMemory { bytes }.into());
    }
    check_release(at_site, theirs, mine)
}

/// Broadcast in which the root brings what all read, and does not wait for them. Returns the epoch
/// and the bytes of the first piece if the root has long data.
// One place calls it.
#[inline(always)]
pub(super) fn broadcast<'a>(
    at_site: AtSite<'a>,
    buffer: &Buffer,
    root: usize,
) -> Result<Option<(Epoch<'a>, usize)>> {
    let room = buffer.bytes()?;
    let (epoch, about) = at_site.begin_epoch(Operation::Bcast.about(root, 0))?;
    wait(at_site, about, || epoch.is_free())?;
    if at_site.site().me() == root {
        let about = about.with_bytes(room as u32);
        epoch.bring(about, Who::Others, |bytes| _ = buffer.pack_into(bytes));
        at_site.wake(Who::Others);
        return Ok(None);
    }
    let theirs = come_for(at_site, (epoch, about), root)?;
    let len = u64::from(theirs.bytes());
    if len > SHARED_BYTES {
        return Ok(Some((epoch, len as usize)));
    }
    if len > room {
        return Err(Cause::Truncate { len, room }.into());
    }
    if len < room {
        return Err(length_differs(
            (len, room),
            root,
            Call::rooted(Operation::Bcast, root as i32),
        ));
    }
    take(epoch, (root, theirs.bytes() as usize), buffer);
    Ok(None)
}

/// Comes to an epoch that has begun, for what the root brings. Returns what the root has come for:
/// it is as `about`, but for the length.
#[inline(always)]
pub(super) fn come_for(
    at_site: AtSite<'_>,
    (epoch, about): (Epoch<'_>, About),
    root: usize,
) -> Result<About> {
    epoch.bring(about, Who::Nobody, |_| ());
    epoch.is_to_be_read_for(Who::One(root));
    at_site.wake(epoch.awaited_by());
    let theirs = wait(at_site, about, || epoch.has_come(root))?;
    if !theirs.is_as(about) {
        check(at_site, (root, theirs), about)?;
    }
    Ok(theirs)
}

/// Reduction in which all bring elements for the root, and do not wait for it. Returns the result
/// at the root.
pub(super) fn reduce<'a>(
    at_site: AtSite<'_>,
    own: &Buffer,
    place: Option<&'a Buffer>,
    (op, root): (&Op, usize),
) -> Result<Option<Partial<'a>>> {
    let about = Operation::Reduce.about(root, own.bytes()?);
    let Some(epoch) = bring_to(at_site, root, about, |bytes| _ = own.pack_into(bytes))? else {
        return Ok(None);
    };
    let result = match place {
        Some(place) => Partial::at(place),
        None => Partial::room(own)?,
    };
    reduce_all(epoch, at_site.site().size(), (result.buffer(), op))?;
    Ok(Some(result))
}

/// Brings for the root what `fill` writes, and does not wait for it. Returns the epoch at the root,
/// once all have brought something.
#[inline]
pub(super) fn bring_to<'a>(
    at_site: AtSite<'a>,
    root: usize,
    about: About,
    fill: impl FnOnce(&mut [u8]),
) -> Result<Option<Epoch<'a>>> {
    let (epoch, about) = at_site.begin_epoch(about)?;
    wait(at_site, about, || epoch.is_free())?;
    if at_site.site().me() == root {
        epoch.bring(about, Who::Nobody, fill);
        epoch.is_to_be_read_for(Who::Others);
        at_site.wake(epoch.awaited_by());
        collect(at_site, epoch, about)?;
        return Ok(Some(epoch));
    }
    epoch.bring(about, Who::One(root), fill);
    at_site.wake(epoch.awaited_by());
    if !at_site.site().is_oversubscribed() || epoch.give(root) {
        at_site.wake(Who::One(root));
    }
    Ok(None)
}

/// Waits at the root until all have brought something. Among many only the last one wakes it.
fn collect(at_site: AtSite<'_>, epoch: Epoch<'_>, about: About) -> Result<()> {
    let (me, size) = (at_site.site().me(), at_site.site().size());
    if at_site.site().is_oversubscribed() {
        let all = epoch.all_given();
        wait(at_site, about, || epoch.has_been_given(all))?;
    }
    for rank in (0..size).filter(|&rank| rank != me) {
        let theirs = wait(at_site, about, || epoch.has_come(rank))?;
        check(at_site, (rank, theirs), about)?;
    }
    Ok(())
}

/// Copies what the member of `rank` has brought into `buffer`.
#[inline]
fn take(epoch: Epoch<'_>, (rank, bytes): (usize, usize), buffer: &Buffer) {
    match buffer.contiguous() {
        Some(span) => epoch.copy(rank, bytes, span),
        None => {
            epoch.read(rank, bytes, |brought| buffer.unpack(brought));
        }
    }
}

/// Reduces what all members have brought, in the order of their ranks: from the last to the first,
/// with one running result.
fn reduce_all(epoch: Epoch<'_>, size: usize, (result, op): (&Buffer, &Op)) -> Result<()> {
    let bytes = result.bytes()? as usize;
    if bytes <= LINE_BYTES && result.datatype().has_no_gaps() {
        return reduce_lines(epoch, (size, bytes), (result, op));
    }
    reduce_part(epoch, size, (bytes, 0), (result, op))
}

/// Bytes that are reduced at a time: they and the result of them stay in the nearest cache.
const CHUNK_BYTES: usize = 8192;

/// Reduces a part of the `bytes` bytes that each member has brought, from `from` on, as much as
/// `result` has. All must have come. What others may write to is copied before it is used.
pub(super) fn reduce_part(
    epoch: Epoch<'_>,
    size: usize,
    (bytes, from): (usize, usize),
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    let (len, element) = (result.bytes()? as usize, result.datatype().size() as usize);
    if !result.datatype().has_no_gaps() || element > CHUNK_BYTES || element == 0 {
        let mut lower = vec![0; len];
        for rank in (0..size).rev() {
            epoch.copy_part(rank, (bytes, from), &mut lower[..]);
            match rank + 1 == size {
                true => _ = result.unpack(&lower),
                false => fold_packed(&lower, result, op)?,
            }
        }
        return Ok(());
    }
    let (whole, most) = (result.occupied()?, CHUNK_BYTES / element * element);
    let mut room = vec![0; most.min(len)];
    for at in (0..len).step_by(most) {
        let place = whole.part(at, most.min(len - at));
        let (chunk, count) = (&mut room[..place.len()], (place.len() / element) as u64);
        epoch.copy_part(size - 1, (bytes, from + at), place);
        for rank in (0..size - 1).rev() {
            epoch.copy_part(rank, (bytes, from + at), &mut *chunk);
            place.update(|inout| op.apply(chunk, inout, count, result.datatype()))?;
        }
    }
    Ok(())
}

/// Reduces what all members have brought, if it fits a line and is laid out there as in memory.
#[inline]
fn reduce_lines(
    epoch: Epoch<'_>,
    (size, bytes): (usize, usize),
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    let mut upper = epoch.line(size - 1);
    for rank in (0..size - 1).rev() {
        let lower = epoch.line(rank);
        let inout = &mut upper.0[..bytes];
        op.apply(&lower.0[..bytes], inout, result.count(), result.datatype())?;
    }
    result.unpack(&upper.0[..bytes]);
    Ok(())
}

/// `result = left op result`, where `left` is without gaps.
pub(super) fn fold_packed(left: &[u8], result: &Buffer, op: &Op) -> Result<()> {
    if result.datatype().has_no_gaps() {
        let (count, datatype) = (result.count(), result.datatype());
        let change = |inout: &mut [u8]| op.apply(left, inout, count, datatype);
        return result.occupied()?.update(change);
    }
    let spread = Partial::room(result)?;
    spread.buffer().unpack(left);
    fold(spread.buffer(), result, op)
}
