//! Long collectives of ranks that share memory, without messages: the data go through shared
//! memory in pieces, each in an epoch of its own. A root is ahead of those that read. Each byte is
//! copied into shared memory once, and from there once by each process that needs it.
//!
//! None of it is inlined: it would lengthen the calls with short data.

use super::buffers::{fitting, keep, nth, split};
use super::exchange::look_at_all;
use super::partial::Partial;
use super::shared::{self, SHARED_BYTES, check, wait};
use crate::comm::{Call, Operation, give_up_at, length_differs};
use crate::data::{Buffer, Op};
use crate::engine::{AtSite, complain};
use crate::error::{Cause, Class, Result};
use crate::node::site::{Epoch, Nonsense, Who};

/// The most bytes of a piece. There is room for as many, and for a head.
pub(super) const PIECE_BYTES: usize = 1 << 16;

/// Bytes before the first piece of a broadcast: how many bytes the message has.
const HEAD_BYTES: usize = size_of::<u64>();

/// After so many pieces a root wakes those that read: once for all of these. A root waits for a
/// reader only if it is ahead by as many epochs as there are lines, which are never fewer.
const PIECES_PER_WAKE: usize = 4;

/// What has come of pieces. An error other than that of a wrong length, after which all members are
/// at the same epoch, leaves this member behind: it comes to no collective of the communicator any
/// more, and the others learn of it.
pub(super) fn ended(at_site: AtSite<'_>, outcome: Result<()>) -> Result<()> {
    outcome.inspect_err(|error| {
        if matches!(error.class(), Class::NoMem | Class::Other) {
            give_up_at(at_site, error);
        }
    })
}

/// Calls `piece` with the first element and the number of elements of each piece of `own`.
fn each_piece(
    at_site: AtSite<'_>,
    own: &Buffer,
    mut piece: impl FnMut(u64, u64) -> Result<()>,
) -> Result<()> {
    let each = fitting(own, PIECE_BYTES as u64);
    let mut starts = (0..own.count()).step_by(each as usize);
    let all = starts.try_for_each(|first| piece(first, each.min(own.count() - first)));
    ended(at_site, all)
}

/// Some of the elements of `buffer`, from `first` on.
fn some(buffer: &Buffer, first: u64, count: u64) -> Buffer {
    buffer.part(first.cast_signed(), count)
}

/// Broadcast of more than [`SHARED_BYTES`].
#[inline(never)]
pub(super) fn broadcast(at_site: AtSite<'_>, buffer: &Buffer, root: usize) -> Result<()> {
    let outcome = match at_site.site().me() == root {
        true => give(at_site, buffer, root),
        false => take(at_site, buffer, root),
    };
    ended(at_site, outcome)
}

/// The root's part: it waits for nobody unless it is ahead by all lines.
fn give(at_site: AtSite<'_>, buffer: &Buffer, root: usize) -> Result<()> {
    let total = buffer.bytes()? as usize;
    let pieces = total.div_ceil(PIECE_BYTES);
    for number in 0..pieces {
        let from = number * PIECE_BYTES;
        let len = PIECE_BYTES.min(total - from);
        let head = if number == 0 { HEAD_BYTES } else { 0 };
        let (epoch, about) = at_site.begin_epoch(Operation::Bcast.about(root, 0))?;
        wait(at_site, about, || epoch.is_free())?;
        let about = about.with_bytes((head + len) as u32);
        epoch.bring(about, Who::Others, |bytes| {
            let (first, rest) = bytes.split_at_mut(head);
            first.copy_from_slice(&(total as u64).to_ne_bytes()[..head]);
            take_out(buffer, from, rest);
        });
        if (number + 1).is_multiple_of(PIECES_PER_WAKE) || number + 1 == pieces {
            at_site.wake(Who::Others);
        }
    }
    Ok(())
}

/// The part of the others. If the root has another number of bytes, all of its pieces are passed
/// over, so that all members stay at the same epoch.
fn take(at_site: AtSite<'_>, buffer: &Buffer, root: usize) -> Result<()> {
    let room = buffer.bytes()?;
    let (mut total, mut done) = (None, 0_u64);
    while total.is_none_or(|total| done < total) {
        let (epoch, bytes) = come_for_piece(at_site, root)?;
        let head = if total.is_none() { HEAD_BYTES } else { 0 };
        if head > 0 && bytes as u64 <= SHARED_BYTES {
            // The root has a short message: this is all of it.
            return differs((bytes as u64, room), root);
        }
        let all = *total.get_or_insert_with(|| length_in(epoch, root, bytes));
        let piece = all.saturating_sub(done).min(PIECE_BYTES as u64) as usize;
        if bytes != head + piece {
            return Err(complain(Nonsense));
        }
        if all == room {
            lay(epoch, (root, bytes, head), (buffer, done as usize, piece));
        }
        done += piece as u64;
    }
    match done == room {
        true => Ok(()),
        false => differs((done, room), root),
    }
}

/// Comes to an epoch for a piece of the root. Returns its bytes.
fn come_for_piece(at_site: AtSite<'_>, root: usize) -> Result<(Epoch<'_>, usize)> {
    let (epoch, about) = at_site.begin_epoch(Operation::Bcast.about(root, 0))?;
    wait(at_site, about, || epoch.is_free())?;
    match shared::come_for(at_site, (epoch, about), root)?.bytes() as usize {
        bytes if bytes <= at_site.site().most_bytes() => Ok((epoch, bytes)),
        _ => Err(complain(Nonsense)),
    }
}

/// How many bytes the message has whose first piece has `bytes` bytes.
fn length_in(epoch: Epoch<'_>, root: usize, bytes: usize) -> u64 {
    let mut word = [0; HEAD_BYTES];
    epoch.copy_part(root, (bytes, 0), &mut word[..]);
    u64::from_ne_bytes(word)
}

/// The error for a broadcast whose first piece has `bytes` bytes, where this process has room for a
/// short one. The other pieces are passed over, so that all members stay at the same epoch.
#[cold]
pub(super) fn pass_over(
    at_site: AtSite<'_>,
    (epoch, bytes): (Epoch<'_>, usize),
    (room, root): (u64, usize),
) -> Result<()> {
    if bytes > at_site.site().most_bytes() {
        return Err(complain(Nonsense));
    }
    let all = length_in(epoch, root, bytes);
    for _ in 1..all.div_ceil(PIECE_BYTES as u64) {
        come_for_piece(at_site, root)?;
    }
    differs((all, room), root)
}

/// The error for a broadcast whose root has `len` bytes where this process has room for others.
#[cold]
fn differs((len, room): (u64, u64), root: usize) -> Result<()> {
    if len > room {
        return Err(Cause::Truncate { len, room }.into());
    }
    let call = Call::rooted(Operation::Bcast, root as i32);
    Err(length_differs((len, room), root, call))
}

/// Reduction: all bring their elements for the root, and do not wait for it. `place` is where the
/// root's result goes; it may be the same memory as `own`.
#[inline(never)]
pub(super) fn reduce(
    at_site: AtSite<'_>,
    own: &Buffer,
    place: Option<&Buffer>,
    (op, root): (&Op, usize),
) -> Result<()> {
    each_piece(at_site, own, |first, count| {
        let place = place.map(|place| some(place, first, count));
        let own = some(own, first, count);
        shared::reduce(at_site, &own, place.as_ref(), (op, root)).map(drop)
    })
}

/// Allreduce. `own` and `result` may be the same memory.
#[inline(never)]
pub(super) fn allreduce(at_site: AtSite<'_>, own: &Buffer, result: &Buffer, op: &Op) -> Result<()> {
    each_piece(at_site, own, |first, count| {
        let (own, result) = (some(own, first, count), some(result, first, count));
        match own.bytes()? <= SHARED_BYTES {
            true => shared::allreduce_by_all(at_site, Operation::Allreduce, &own, &result, op),
            false => allreduce_in_slices(at_site, &own, &result, op),
        }
    })
}

/// Allreduce of a piece: each member reduces a slice of it, in the order of the ranks, and brings
/// that for all.
fn allreduce_in_slices(at_site: AtSite<'_>, own: &Buffer, result: &Buffer, op: &Op) -> Result<()> {
    let me = at_site.site().me();
    let slices = split(result, at_site.site().size());
    let sizes = slices
        .iter()
        .map(Buffer::bytes)
        .collect::<Result<Vec<_>>>()?;
    let slice = Partial::room(&slices[me])?;
    let from = sizes[..me].iter().sum::<u64>() as usize;
    let fill = |bytes: &mut [u8]| _ = own.pack_into(bytes);
    let piece = (own.bytes()? as usize, from, fill);
    reduce_slice(at_site, Operation::Allreduce, piece, (slice.buffer(), op))?;
    swap_slices(at_site, (&slices, &sizes), slice.buffer())
}

/// Brings `bytes` bytes that `fill` writes, as many as each other, and reduces those of all from
/// byte `from` on into `slice`, in the order of the ranks. A member whose slice is empty waits for
/// nobody.
fn reduce_slice(
    at_site: AtSite<'_>,
    kind: Operation,
    (bytes, from, fill): (usize, usize, impl FnOnce(&mut [u8])),
    (slice, op): (&Buffer, &Op),
) -> Result<()> {
    let (me, size) = (at_site.site().me(), at_site.site().size());
    let (epoch, about) = at_site.begin_epoch(kind.about(0, bytes as u64))?;
    wait(at_site, about, || epoch.is_free())?;
    epoch.bring(about, Who::Others, fill);
    epoch.is_to_be_read_for(Who::Others);
    at_site.wake(Who::Others);
    if slice.count() == 0 {
        return Ok(());
    }
    for rank in (0..size).filter(|&rank| rank != me) {
        let theirs = wait(at_site, about, || epoch.has_come(rank))?;
        check(at_site, (rank, theirs), about)?;
    }
    shared::reduce_part(epoch, size, (bytes, from), (slice, op))?;
    epoch.is_complete();
    Ok(())
}

/// Reduction whose result is scattered, in elements that fit a piece: `counts[rank]` of `own`
/// belong to each rank. A piece has some elements of each rank's part. `own` and `place` may be the
/// same memory.
#[inline(never)]
pub(super) fn reduce_scatter(
    at_site: AtSite<'_>,
    kind: Operation,
    (own, counts): (&Buffer, &[u64]),
    (place, op): (&Buffer, &Op),
) -> Result<()> {
    let (me, size) = (at_site.site().me(), at_site.site().size());
    let element = own.datatype().size().max(1);
    let each = (PIECE_BYTES as u64 / element / size as u64).max(1);
    let rounds = counts.iter().max().map_or(0, |most| most.div_ceil(each));
    let mut starts = (0..rounds).map(|round| round * each);
    let result = Partial::room(place).and_then(|result| {
        starts.try_for_each(|first| {
            // Where the elements of each rank begin in the piece, in bytes.
            let mut ends = vec![0; size + 1];
            for (rank, &all) in counts.iter().enumerate() {
                let count = each.min(all.saturating_sub(first));
                ends[rank + 1] = ends[rank] + (count * element) as usize;
            }
            let fill = |bytes: &mut [u8]| {
                let mut before = 0;
                for (&all, place) in counts.iter().zip(ends.windows(2)) {
                    let part = &mut bytes[place[0]..place[1]];
                    some(own, before + first, part.len() as u64 / element).pack_into(part);
                    before += all;
                }
            };
            let count = (ends[me + 1] - ends[me]) as u64 / element;
            let slice = some(result.buffer(), first, count);
            reduce_slice(at_site, kind, (ends[size], ends[me], fill), (&slice, op))
        })?;
        result.settle(place)
    });
    ended(at_site, result)
}

/// Scan or exscan (`kind`).
#[inline(never)]
pub(super) fn prefix(
    at_site: AtSite<'_>,
    kind: Operation,
    own: &Buffer,
    (result, op): (&Buffer, &Op),
) -> Result<()> {
    each_piece(at_site, own, |first, count| {
        let (own, result) = (some(own, first, count), some(result, first, count));
        shared::prefix_in_turn(at_site, kind, &own, (&result, op))
    })
}

/// Gather of blocks of any length: all bring theirs for the root, and do not wait for it. `first`
/// is the root's place for the first one, which the others follow.
#[inline(never)]
pub(super) fn gather(
    at_site: AtSite<'_>,
    own: &Buffer,
    first: Option<&Buffer>,
    root: usize,
) -> Result<()> {
    let size = at_site.site().size();
    each_part(at_site, own.bytes()? as usize, PIECE_BYTES, |from, len| {
        let about = Operation::Gather.about(root, len as u64);
        let fill = |bytes: &mut [u8]| match first {
            Some(_) => {}
            None => take_out(own, from, bytes),
        };
        let all = shared::bring_to(at_site, root, about, fill)?;
        if let (Some(epoch), Some(first)) = (all, first) {
            for rank in (0..size).filter(|&rank| rank != root) {
                lay(epoch, (rank, len, 0), (&nth(first, rank), from, len));
            }
        }
        Ok(())
    })?;
    match first {
        Some(first) => keep(own, &nth(first, root)),
        None => Ok(()),
    }
}

/// Scatter of blocks of any length: the root brings some of each, and waits for nobody. `first` is
/// the root's block for rank 0, which the others follow.
#[inline(never)]
pub(super) fn scatter(
    at_site: AtSite<'_>,
    own: &Buffer,
    first: Option<&Buffer>,
    root: usize,
) -> Result<()> {
    let (me, size) = (at_site.site().me(), at_site.site().size());
    let (block, most) = (own.bytes()? as usize, (PIECE_BYTES / size).max(1));
    each_part(at_site, block, most, |from, len| {
        let bytes = size * len;
        let about = Operation::Scatter.about(root, bytes as u64);
        let (epoch, about) = at_site.begin_epoch(about)?;
        wait(at_site, about, || epoch.is_free())?;
        if let Some(first) = first {
            epoch.bring(about, Who::Others, |bytes| match len == block {
                true => take_out(&first.part(0, first.count() * size as u64), 0, bytes),
                false => {
                    for (rank, part) in bytes.chunks_exact_mut(len).enumerate() {
                        take_out(&nth(first, rank), from, part);
                    }
                }
            });
            let number = from / most;
            if (number + 1).is_multiple_of(PIECES_PER_WAKE) || from + len >= block {
                at_site.wake(Who::Others);
            }
            return Ok(());
        }
        let theirs = shared::come_for(at_site, (epoch, about), root)?;
        check(at_site, (root, theirs), about)?;
        lay(epoch, (root, bytes, me * len), (own, from, len));
        Ok(())
    })?;
    match first {
        Some(first) => keep(&nth(first, root), own),
        None => Ok(()),
    }
}

/// Gives all members the `own` slice of each.
fn swap_slices(
    at_site: AtSite<'_>,
    (slices, sizes): (&[Buffer], &[u64]),
    own: &Buffer,
) -> Result<()> {
    let me = at_site.site().me();
    // They differ by an element at most. All bring as many bytes.
    let most = sizes.iter().copied().max().unwrap_or_default() as usize;
    let fill = |bytes: &mut [u8]| _ = own.pack_into(&mut bytes[..sizes[me] as usize]);
    look_at_all(
        at_site,
        Operation::Allreduce,
        (most, fill),
        |epoch, rank| {
            lay(
                epoch,
                (rank, most, 0),
                (&slices[rank], 0, sizes[rank] as usize),
            );
            Ok(())
        },
    )?;
    slices[me].copy_from(own).map(drop)
}

/// All-gather. The own block lies in its place already.
#[inline(never)]
pub(super) fn allgather(at_site: AtSite<'_>, kind: Operation, places: &[Buffer]) -> Result<()> {
    let own = &places[at_site.site().me()];
    each_part(at_site, own.bytes()? as usize, PIECE_BYTES, |from, len| {
        let fill = |bytes: &mut [u8]| take_out(own, from, bytes);
        look_at_all(at_site, kind, (len, fill), |epoch, rank| {
            lay(epoch, (rank, len, 0), (&places[rank], from, len));
            Ok(())
        })
    })
}

/// All-to-all. `blocks` may be the same memory as `places`. All have as many bytes.
#[inline(never)]
pub(super) fn alltoall(at_site: AtSite<'_>, blocks: &[Buffer], places: &[Buffer]) -> Result<()> {
    let (me, size) = (at_site.site().me(), places.len());
    keep(&blocks[me], &places[me])?;
    let most = (PIECE_BYTES / size).max(1);
    each_part(at_site, blocks[me].bytes()? as usize, most, |from, len| {
        let fill = |bytes: &mut [u8]| {
            let parts = blocks.iter().zip(bytes.chunks_exact_mut(len.max(1)));
            for (_, (block, part)) in parts.enumerate().filter(|it| it.0 != me) {
                take_out(block, from, part);
            }
        };
        let kind = Operation::Alltoall;
        look_at_all(at_site, kind, (size * len, fill), |epoch, rank| {
            lay(
                epoch,
                (rank, size * len, me * len),
                (&places[rank], from, len),
            );
            Ok(())
        })
    })
}

/// Calls `part` with where each part of `bytes` bytes begins, and how many it has: one part if
/// there are no bytes.
fn each_part(
    at_site: AtSite<'_>,
    bytes: usize,
    most: usize,
    mut part: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let mut starts = (0..bytes.max(1)).step_by(most);
    let all = starts.try_for_each(|from| part(from, most.min(bytes - from)));
    ended(at_site, all)
}

/// Fills `bytes` with the data of a block from byte `from` on.
fn take_out(block: &Buffer, from: usize, bytes: &mut [u8]) {
    match block.contiguous() {
        Some(span) => _ = span.part(from, bytes.len()).read_into(bytes),
        None => _ = block.copy_out(from as u64, bytes),
    }
}

/// Copies `len` bytes into a place, from byte `at` on. They begin at `from` of the `bytes` bytes
/// that the member of `rank` has brought.
fn lay(
    epoch: Epoch<'_>,
    (rank, bytes, from): (usize, usize, usize),
    (place, at, len): (&Buffer, usize, usize),
) {
    if let Some(span) = place.contiguous() {
        epoch.copy_part(rank, (bytes, from), span.part(at, len));
        return;
    }
    let mut part = vec![0; len];
    epoch.copy_part(rank, (bytes, from), &mut part[..]);
    place.copy_in(at as u64, &part[..]);
}
