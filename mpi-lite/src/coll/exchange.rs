//! Exchanges in shared memory: allgather and alltoall of small blocks.
//!
//! Members with a core each look at what all others bring; members that share cores let the last
//! one who comes sort it for all (`engine::exchange`).

use super::buffers::{keep, lay_down};
use super::meeting::{check, pack, wait};
use crate::comm::{Operation, in_words};
use crate::data::Buffer;
use crate::engine::Circle;
use crate::error::Result;
use crate::memory::{Span, Way};
use crate::node::meeting::{Gathering, Who};

/// All-gather where each looks at all others: the own block lies in its place already.
pub(super) fn allgather_by_all(circle: Circle<'_>, places: &[Buffer]) -> Result<()> {
    let own = &places[circle.meeting().me()];
    let block = own.bytes()? as usize;
    look_at_all(circle, Operation::Allgather, own, |gathering, rank| {
        take_part(gathering, (rank, block, 0, block), &places[rank])
    })
}

/// The same where the last who comes joins the blocks, which may have any length.
pub(super) fn allgather_by_last(circle: Circle<'_>, places: &[Buffer]) -> Result<()> {
    let mut starts = vec![0];
    for place in places {
        starts.push(starts[starts.len() - 1] + place.bytes()? as usize);
    }
    let total = starts[places.len()];
    let about = Operation::Allgather.about(0, total as u64);
    let own = &places[circle.meeting().me()];
    let mut rank = 0;
    let done = circle.concatenate(
        about,
        |rank| starts[rank],
        own,
        |from, piece| {
            let end = from + piece.len();
            while rank < places.len() && starts[rank] < end {
                let first = starts[rank].max(from);
                let len = starts[rank + 1].min(end) - first;
                if len > 0 {
                    let part = piece.part(first - from, len);
                    places[rank].copy((first - starts[rank]) as u64, part, Way::Into);
                }
                if starts[rank + 1] > end {
                    return;
                }
                rank += 1;
            }
        },
    );
    done.map_err(|error| in_words(circle, error))
}

/// All-to-all where each looks at all others. `own` holds the blocks of all ranks, one after the
/// other, and may be the same memory as `places`.
pub(super) fn alltoall_by_all(circle: Circle<'_>, own: &Buffer, places: &[Buffer]) -> Result<()> {
    let (me, size) = (circle.meeting().me(), places.len());
    let total = own.bytes()? as usize;
    let count = own.count() / size as u64;
    keep(&own.part((me as u64 * count) as i64, count), &places[me])?;
    look_at_all(circle, Operation::Alltoall, own, |gathering, rank| {
        let len = total / size;
        take_part(gathering, (rank, total, me * len, len), &places[rank])
    })
}

/// The same where the last who comes sorts the blocks.
pub(super) fn alltoall_by_last(circle: Circle<'_>, own: &Buffer, receive: &Buffer) -> Result<()> {
    let size = circle.meeting().size();
    let block = |all: &Buffer| -> Result<usize> { Ok(all.bytes()? as usize / size) };
    let (len, room) = (block(own)?, block(receive)?);
    let about = Operation::Alltoall.about(0, len as u64);
    let done = circle.transpose(about, (own, len), (receive, room));
    done.map_err(|error| in_words(circle, error))
}

/// The same with blocks of any lengths. Answers whether it was done: else they are too long.
pub(super) fn alltoallw_by_last(
    circle: Circle<'_>,
    send: &[Buffer],
    places: &[Buffer],
) -> Result<bool> {
    let about = Operation::Alltoallv.about(0, 0);
    let done = circle.transpose_blocks(about, send, |rank, block| lay_down(&places[rank], block));
    done.map_err(|error| in_words(circle, error))
}

/// Brings `own`, and gives `take` each other rank that has come.
fn look_at_all(
    circle: Circle<'_>,
    kind: Operation,
    own: &Buffer,
    mut take: impl FnMut(Gathering<'_>, usize) -> Result<()>,
) -> Result<()> {
    let (me, size) = (circle.meeting().me(), circle.meeting().size());
    let (gathering, about) = circle.gather(kind.about(0, own.bytes()?));
    wait(circle, about, || gathering.is_free())?;
    gathering.bring(about, Who::Others, |bytes| pack(own, bytes));
    gathering.is_to_be_read_for(Who::Others);
    circle.rouse(Who::Others);
    for rank in (0..size).filter(|&rank| rank != me) {
        let theirs = wait(circle, about, || gathering.has_come(rank))?;
        check(circle, (rank, theirs), about)?;
        take(gathering, rank)?;
    }
    gathering.is_complete();
    Ok(())
}

/// Lays down a part of the `bytes` bytes that the member of `rank` has brought: the `len` bytes
/// that begin at `from`.
fn take_part(
    gathering: Gathering<'_>,
    (rank, bytes, from, len): (usize, usize, usize, usize),
    place: &Buffer,
) -> Result<()> {
    if let Some(span) = place.contiguous().filter(|span| span.len() == len) {
        gathering.copy_part(rank, (bytes, from), span);
        return Ok(());
    }
    let mut block = vec![0; len];
    gathering.copy_part(rank, (bytes, from), Span::of(&mut block));
    lay_down(place, &block)
}
