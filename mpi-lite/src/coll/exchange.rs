//! Exchanges in shared memory: allgather and alltoall of small blocks.
//!
//! Members with a core each read what all others bring. Members that share cores let the last one
//! to come sort it for all (`sorting`).

use super::buffers::{keep, lay_down};
use super::shared::{check, wait};
use super::sorting::{Blocks, transpose, transpose_blocks};
use crate::comm::{Call, Operation, check_length, in_words};
use crate::data::Buffer;
use crate::engine::AtSite;
use crate::error::Result;
use crate::node::site::{Epoch, Who};

/// All-gather in which each reads from all others. The own block lies in its place already.
pub(super) fn allgather_by_all(
    at_site: AtSite<'_>,
    kind: Operation,
    places: &[Buffer],
) -> Result<()> {
    let own = &places[at_site.site().me()];
    let block = own.bytes()? as usize;
    let fill = |bytes: &mut [u8]| _ = own.pack_into(bytes);
    look_at_all(at_site, kind, (block, fill), |epoch, rank| {
        let part = Excerpt {
            rank,
            bytes: block,
            from: 0,
            len: block,
        };
        take_part(epoch, part, &places[rank])
    })
}

/// All-gather (`kind`) in which the last member to come joins the blocks. They may have any length.
pub(super) fn allgather_by_last(
    at_site: AtSite<'_>,
    kind: Operation,
    places: &[Buffer],
) -> Result<()> {
    let mut starts = vec![0];
    for place in places {
        starts.push(starts[starts.len() - 1] + place.bytes()? as usize);
    }
    let total = starts[places.len()];
    let about = kind.about(0, total as u64);
    let own = &places[at_site.site().me()];
    let mut rank = 0;
    let done = at_site.concatenate(
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
                    places[rank].copy_in((first - starts[rank]) as u64, part);
                }
                if starts[rank + 1] > end {
                    return;
                }
                rank += 1;
            }
        },
    );
    done.map_err(|error| in_words(at_site, error))
}

/// All-to-all in which each reads from all others. `own` holds the blocks of all ranks, one after
/// the other, and may be the same memory as `places`.
pub(super) fn alltoall_by_all(at_site: AtSite<'_>, own: &Buffer, places: &[Buffer]) -> Result<()> {
    let (me, size) = (at_site.site().me(), places.len());
    let total = own.bytes()? as usize;
    let count = own.count() / size as u64;
    keep(&own.part((me as u64 * count) as i64, count), &places[me])?;
    let fill = |bytes: &mut [u8]| _ = own.pack_into(bytes);
    look_at_all(
        at_site,
        Operation::Alltoall,
        (total, fill),
        |epoch, rank| {
            let len = total / size;
            let part = Excerpt {
                rank,
                bytes: total,
                from: me * len,
                len,
            };
            take_part(epoch, part, &places[rank])
        },
    )
}

/// All-to-all in which the last member to come sorts the blocks.
pub(super) fn alltoall_by_last(at_site: AtSite<'_>, own: &Buffer, receive: &Buffer) -> Result<()> {
    let size = at_site.site().size();
    let block = |all: &Buffer| -> Result<usize> { Ok(all.bytes()? as usize / size) };
    let (len, room) = (block(own)?, block(receive)?);
    let blocks = |buffer, bytes| Blocks { buffer, bytes };
    let about = Operation::Alltoall.about(0, len as u64);
    let done = transpose(at_site, about, blocks(own, len), blocks(receive, room));
    done.map_err(|error| in_words(at_site, error))
}

/// All-to-all of blocks of any lengths, which the last member to come sorts. Returns false, and
/// receives nothing, if they are too long.
pub(super) fn alltoallw_by_last(
    at_site: AtSite<'_>,
    send: &[Buffer],
    places: &[Buffer],
) -> Result<bool> {
    let about = Operation::Alltoallv.about(0, 0);
    let done = transpose_blocks(at_site, about, send, |rank, block| {
        lay_down(&places[rank], block)?;
        let call = Call::of_all(Operation::Alltoallv);
        check_length(block.len() as u64, (&places[rank], rank), call)
    });
    done.map_err(|error| in_words(at_site, error))
}

/// Brings `bytes` bytes that `fill` writes, as many as each other, and calls `take` with each other
/// rank that has come.
pub(super) fn look_at_all(
    at_site: AtSite<'_>,
    kind: Operation,
    (bytes, fill): (usize, impl FnOnce(&mut [u8])),
    mut take: impl FnMut(Epoch<'_>, usize) -> Result<()>,
) -> Result<()> {
    let (me, size) = (at_site.site().me(), at_site.site().size());
    let (epoch, about) = at_site.begin_epoch(kind.about(0, bytes as u64))?;
    wait(at_site, about, || epoch.is_free())?;
    epoch.bring(about, Who::Others, fill);
    epoch.is_to_be_read_for(Who::Others);
    at_site.wake(Who::Others);
    for rank in (0..size).filter(|&rank| rank != me) {
        let theirs = wait(at_site, about, || epoch.has_come(rank))?;
        check(at_site, (rank, theirs), about)?;
        take(epoch, rank)?;
    }
    epoch.is_complete();
    Ok(())
}

/// The `len` bytes that begin at `from`, of the `bytes` bytes that the member of `rank` has
/// brought.
#[derive(Clone, Copy, Debug)]
struct Excerpt {
    rank: usize,
    bytes: usize,
    from: usize,
    len: usize,
}

/// Copies a part of what a member has brought into its place.
fn take_part(epoch: Epoch<'_>, part: Excerpt, place: &Buffer) -> Result<()> {
    let Excerpt {
        rank,
        bytes,
        from,
        len,
    } = part;
    if let Some(span) = place.contiguous().filter(|span| span.len() == len) {
        epoch.copy_part(rank, (bytes, from), span);
        return Ok(());
    }
    let mut block = vec![0; len];
    epoch.copy_part(rank, (bytes, from), &mut block[..]);
    lay_down(place, &block)
}
