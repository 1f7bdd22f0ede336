//! The loops that programs use most, for processors with AVX2: twice as many elements at a time as
//! any x86-64 has.
#![expect(
    unsafe_code,
    reason = "calls a function that is compiled for a processor that was asked for"
)]

use super::Op;
use super::scalar::Number;
use crate::data::basic::Machine;

/// Bytes from which the longer step pays.
const LEAST: usize = 64;

/// Applies a sum, a maximum or a minimum of numbers in registers of 32 bytes. Returns false if
/// nothing was done: the processor has none, or this is something else.
#[inline]
pub(super) fn fold(op: &Op, machine: Machine, incoming: &[u8], inout: &mut [u8]) -> bool {
    if incoming.len() < LEAST || !has_avx2() {
        return false;
    }
    // SAFETY: the processor has what the function is compiled for.
    unsafe { fold_by_32(op, machine, incoming, inout) }
}

#[inline]
fn has_avx2() -> bool {
    cfg!(not(miri)) && is_x86_feature_detected!("avx2")
}

#[target_feature(enable = "avx2")]
fn fold_by_32(op: &Op, machine: Machine, incoming: &[u8], inout: &mut [u8]) -> bool {
    match machine {
        Machine::F64 => numbers::<f64>(op, incoming, inout),
        Machine::F32 => numbers::<f32>(op, incoming, inout),
        Machine::I64 => numbers::<i64>(op, incoming, inout),
        Machine::I32 => numbers::<i32>(op, incoming, inout),
        _ => false,
    }
}

#[inline(always)]
fn numbers<T: Number + PartialOrd>(op: &Op, incoming: &[u8], inout: &mut [u8]) -> bool {
    match op {
        Op::Sum => T::fold(incoming, inout, T::plus),
        Op::Max => T::fold(incoming, inout, |a, b| if a > b { a } else { b }),
        Op::Min => T::fold(incoming, inout, |a, b| if a < b { a } else { b }),
        _ => return false,
    }
    true
}
