//! What an accumulate does with the memory of its target. Whoever calls this sees to it that nobody
//! else does so at the same time.

use super::operation::WindowAction;
use crate::data::{Area, Basic, Buffer, Datatype, Op};
use crate::error::Result;

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
    let datatype = Datatype::Basic(base);
    match (op, incoming.span(), target.span()) {
        (Op::NoOp, ..) => Ok(()),
        (Op::Replace, ..) => {
            target.copy_from(incoming);
            Ok(())
        }
        (_, Some(incoming), Some(target)) if base.has_no_gaps() => op.apply_to(
            incoming,
            target,
            target.len() as u64 / base.size(),
            &datatype,
        ),
        _ => combine_copies(op, &datatype, incoming, target),
    }
}

/// The same with copies of both, as the operator wants them.
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
