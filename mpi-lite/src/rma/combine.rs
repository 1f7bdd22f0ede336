//! What an accumulate does with the memory of its target. Whoever calls this sees to it that nobody
//! else does so at the same time.

use super::operation::WindowAction;
use crate::data::{Area, Basic, Buffer, Datatype, Op};
use crate::error::Result;
use crate::memory::Span;

/// Combines `incoming` with `target`, of elements of `base`; the data before goes to `old`.
///
/// # Errors
/// `NoMemory`: elements with gaps are copied.
#[inline]
pub(super) fn combine(
    (op, base): (&Op, Basic),
    incoming: &Area,
    target: &Area,
    old: Option<&Area>,
) -> Result<()> {
    if let Some(old) = old {
        old.copy_from(target);
    }
    match (op, incoming.span(), target.span()) {
        (Op::NoOp, ..) => Ok(()),
        (Op::Replace, ..) => {
            target.copy_from(incoming);
            Ok(())
        }
        (_, Some(incoming), Some(target)) if base.has_no_gaps() => {
            combine_runs((op, base), incoming, target, None)
        }
        _ if base.has_no_gaps() => combine_pieces((op, base), incoming, target),
        _ => combine_copies(op, &Datatype::Basic(base), incoming, target),
    }
}

/// The same with runs of bytes, of a datatype without gaps.
///
/// # Errors
/// `Op`: the operator is not defined for it.
#[inline(always)]
pub(super) fn combine_runs(
    (op, base): (&Op, Basic),
    incoming: Span,
    target: Span,
    old: Option<Span>,
) -> Result<()> {
    if let Some(old) = old {
        old.copy_short(target);
    }
    match (op, target.len()) {
        (Op::NoOp, _) => {}
        (Op::Replace, _) => target.copy_short(incoming),
        // One integer: what programs count with.
        (Op::Sum, 8) if base.is_long_integer() => {
            let ([a], [b]) = (incoming.to_words(), target.to_words());
            let sum = a.wrapping_add(b);
            target.write_words(|_| sum);
        }
        (_, len) => {
            let count = len as u64 / base.size();
            op.apply_to(incoming, target, count, &Datatype::Basic(base))?;
        }
    }
    Ok(())
}

/// Compare and swap with four or eight bytes. Returns false if they are not as many.
#[inline(always)]
pub(super) fn swap_runs([origin, compare, old]: [Span; 3], target: Span) -> bool {
    if !matches!(target.len(), 4 | 8) {
        return false;
    }
    let ([there], [wanted]): ([u64; 1], [u64; 1]) = (target.to_words(), compare.to_words());
    if there == wanted {
        target.copy_short(origin);
    }
    old.write_words(|_| there);
    true
}

/// The same with data of which some lies in several runs, a piece at a time.
#[inline(never)]
fn combine_pieces((op, base): (&Op, Basic), incoming: &Area, target: &Area) -> Result<()> {
    const PIECE: usize = 16 << 10;
    let len = target.len() as usize;
    let most = (PIECE - PIECE % base.size() as usize).min(len);
    let (mut from, mut to) = (vec![0; most], vec![0; most]);
    for at in (0..len).step_by(most.max(1)) {
        let bytes = most.min(len - at);
        let (from, to) = (&mut from[..bytes], &mut to[..bytes]);
        incoming.read(at, &mut *from);
        target.read(at, &mut *to);
        op.apply(from, to, bytes as u64 / base.size(), &Datatype::Basic(base))?;
        target.write(at, &*to);
    }
    Ok(())
}

/// The same with copies of both, of elements with gaps, as the operator wants them.
#[cold]
fn combine_copies(op: &Op, datatype: &Datatype, incoming: &Area, target: &Area) -> Result<()> {
    let count = target.len() / datatype.size();
    let copy = |area: &Area| -> Result<Buffer> {
        let copy = Buffer::scratch(count, datatype)?;
        copy.area()?.copy_from(area);
        Ok(copy)
    };
    let (incoming, inout) = (copy(incoming)?, copy(target)?);
    op.apply_to(incoming.occupied()?, inout.occupied()?, count, datatype)?;
    target.copy_from(&inout.area()?);
    Ok(())
}

/// Writes `origin` to `target` if that is equal to `compare`; the element before goes to `old`. All
/// have the same few bytes.
pub(super) fn swap(origin: &Area, compare: &Area, target: &Area, old: &Area) {
    const MOST: usize = 16;
    let len = target.len() as usize;
    let (mut there, mut wanted) = ([0; MOST], [0; MOST]);
    target.read(0, &mut there[..len]);
    compare.read(0, &mut wanted[..len]);
    if there == wanted {
        target.copy_from(origin);
    }
    old.write(0, &there[..len]);
}

/// Carries an atomic operation out on `target`, elements of `base`.
///
/// # Errors
/// `NoMemory`.
#[inline]
pub(super) fn carry_out(action: &WindowAction, base: Basic, target: &Area) -> Result<()> {
    match action {
        WindowAction::Accumulate { origin, op } => {
            combine((op, base), &origin.area()?, target, None)
        }
        WindowAction::GetAccumulate { origin, result, op } => {
            let result = result.area()?;
            combine((op, base), &origin.area()?, target, Some(&result))
        }
        WindowAction::CompareAndSwap {
            origin,
            compare,
            result,
        } => {
            swap(&origin.area()?, &compare.area()?, target, &result.area()?);
            Ok(())
        }
        WindowAction::Put(_) | WindowAction::Get(_) => Ok(()),
    }
}
