//! Exchanges in shared memory in which the last member to come sorts the blocks: each member writes
//! its send buffer, the last one sorts all of them into the receive buffers, each reads its own.
//!
//! Data that does not fit the buffers goes in several epochs (`engine::exchange`).

use crate::data::Buffer;
use crate::engine::{AtSite, complain};
use crate::error::{Cause, Result};
use crate::memory::Span;
use crate::node::site::{About, EXCHANGE_BYTES, Epoch, Nonsense};

/// Receive buffers that are written at a time: the pages and lines of this many stay in the caches.
const RECEIVERS: usize = 64;

/// Bytes of the length of a block, where each has its own.
const LENGTH_BYTES: usize = 4;

/// The blocks do not fit a send buffer.
const TOO_LONG: u32 = u32::MAX;

/// Blocks of equal length, one for each rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks<'a> {
    /// All of them, one after the other by rank.
    pub(super) buffer: &'a Buffer,
    /// Bytes of one.
    pub(super) bytes: usize,
}

/// All-to-all of blocks, which lie in `send` and in `receive` one after the other by rank. The
/// two may be the same memory.
///
/// # Errors
/// `Cause::Stray` or `Cause::MismatchAtSite` if members are in different collectives;
/// `Cause::Truncate` if blocks are longer than their places; `Cause::Lost`.
pub(super) fn transpose(
    at_site: AtSite<'_>,
    about: About,
    send: Blocks<'_>,
    receive: Blocks<'_>,
) -> Result<()> {
    let (block, room) = (send.bytes, receive.bytes);
    let (send, receive) = (send.buffer, receive.buffer);
    let size = at_site.site().size();
    let most = EXCHANGE_BYTES / size;
    for from in (0..block).step_by(most) {
        let len = most.min(block - from);
        // Where a block goes whole they are one run.
        let is_whole = len == block && block == room;
        let (runs, run) = if is_whole {
            (1, size * len)
        } else {
            (size, len)
        };
        let bring = |epoch: Epoch<'_>| {
            for rank in 0..runs {
                let part = epoch.send_buffer().part(rank * len, run);
                send.copy_out((rank * block + from) as u64, part);
            }
        };
        let work = |epoch: Epoch<'_>| {
            sort_blocks(epoch, size, len);
            Ok(false)
        };
        let (epoch, _) = at_site.combine(about, bring, work)?;
        for rank in 0..runs {
            let part = epoch.receive_buffer().part(rank * len, run);
            let part = if is_whole {
                part
            } else {
                part.part(0, room.saturating_sub(from))
            };
            receive.copy_in((rank * room + from) as u64, part);
        }
    }
    if block > room {
        let (len, room) = (block as u64, room as u64);
        return Err(Cause::Truncate { len, room }.into());
    }
    Ok(())
}

/// All-to-all of blocks of any lengths: `send` has a block for each rank, `take` is called with
/// rank and block for each. Returns false without a call of `take` if the blocks of a member
/// fit no buffer.
///
/// # Errors
/// `Cause::Stray` or `Cause::MismatchAtSite` if members are in different collectives;
/// `Cause::Lost`; the error of `take`.
pub(super) fn transpose_blocks(
    at_site: AtSite<'_>,
    about: About,
    send: &[Buffer],
    mut take: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<bool> {
    let size = at_site.site().size();
    let lengths: Vec<u64> = send.iter().map(Buffer::bytes).collect::<Result<_>>()?;
    let bring = |epoch: Epoch<'_>| bring_blocks(epoch.send_buffer(), send, &lengths);
    let work = |epoch: Epoch<'_>| sort_lengths(epoch, size);
    let (epoch, is_done) = at_site.combine(about, bring, work)?;
    if !is_done {
        return Ok(false);
    }
    let mut at = size * LENGTH_BYTES;
    let mut block = Vec::new();
    for rank in 0..size {
        let len = read_length(epoch.receive_buffer(), rank);
        block.clear();
        epoch.receive_buffer().part(at, len).append_to(&mut block);
        if block.len() < len {
            return Err(complain(Nonsense));
        }
        take(rank, &block)?;
        at += len;
    }
    Ok(true)
}

/// Block d of send buffer s becomes block s of receive buffer d. All blocks have `len` bytes.
fn sort_blocks(epoch: Epoch<'_>, size: usize, len: usize) {
    for first in (0..size).step_by(RECEIVERS) {
        let some = first..size.min(first + RECEIVERS);
        let receivers: Vec<Span> = some
            .clone()
            .map(|rank| epoch.receive_buffer_of(rank))
            .collect();
        for source in 0..size {
            let sender = epoch.send_buffer_of(source);
            for (receiver, rank) in receivers.iter().zip(some.clone()) {
                let block = sender.part(rank * len, len);
                receiver.part(source * len, len).copy_from(block);
            }
        }
    }
}

/// Writes the lengths of the blocks, then the blocks; or that they are too long.
fn bring_blocks(sender: Span, send: &[Buffer], lengths: &[u64]) {
    let room = (EXCHANGE_BYTES - send.len() * LENGTH_BYTES) as u64;
    let total = lengths
        .iter()
        .fold(0_u64, |sum, len| sum.saturating_add(*len));
    if total > room {
        write_length(sender, 0, TOO_LONG);
        return;
    }
    let mut at = send.len() * LENGTH_BYTES;
    for (rank, (block, &len)) in send.iter().zip(lengths).enumerate() {
        write_length(sender, rank, len as u32);
        block.copy_out(0, sender.part(at, len as usize));
        at += len as usize;
    }
}

/// Sorts blocks of any lengths. Returns false if those of a send or receive buffer do not fit.
fn sort_lengths(epoch: Epoch<'_>, size: usize) -> Result<bool> {
    let mut ends = vec![size * LENGTH_BYTES; size];
    let mut all = Vec::with_capacity(size * size);
    for source in 0..size {
        let sender = epoch.send_buffer_of(source);
        let lengths = (0..size).map(|rank| read_length(sender, rank));
        let before = all.len();
        all.extend(lengths);
        if all[before] == TOO_LONG as usize {
            return Ok(false);
        }
        let total: usize = all[before..].iter().sum();
        if total > EXCHANGE_BYTES - size * LENGTH_BYTES {
            return Err(complain(Nonsense));
        }
        for (end, len) in ends.iter_mut().zip(&all[before..]) {
            *end += len;
        }
    }
    if ends.iter().any(|&end| end > EXCHANGE_BYTES) {
        return Ok(false);
    }
    let mut to = vec![size * LENGTH_BYTES; size];
    for (source, lengths) in all.chunks_exact(size).enumerate() {
        let sender = epoch.send_buffer_of(source);
        let mut from = size * LENGTH_BYTES;
        for (rank, &len) in lengths.iter().enumerate() {
            let receiver = epoch.receive_buffer_of(rank);
            write_length(receiver, source, len as u32);
            receiver
                .part(to[rank], len)
                .copy_from(sender.part(from, len));
            to[rank] += len;
            from += len;
        }
    }
    Ok(true)
}

fn write_length(buffer: Span, number: usize, len: u32) {
    buffer.write(number * LENGTH_BYTES, &len.to_ne_bytes());
}

fn read_length(buffer: Span, number: usize) -> usize {
    let mut len = [0; LENGTH_BYTES];
    buffer
        .part(number * LENGTH_BYTES, LENGTH_BYTES)
        .read_into(&mut len);
    u32::from_ne_bytes(len) as usize
}
