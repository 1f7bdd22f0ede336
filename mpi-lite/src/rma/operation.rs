//! What an operation does, and where. Source: MPI 5.0, 12.3.

use super::errors::wrong;
use crate::data::{Basic, Buffer, Datatype, Family, Op};
use crate::error::{Class, Result};

/// Where an operation works at its target.
#[derive(Clone, Debug)]
pub struct Target {
    /// The rank in the window.
    pub rank: u32,
    /// In units of the target; in a dynamic window an address.
    pub displacement: i64,
    /// Elements.
    pub count: u64,
    /// What they are.
    pub datatype: Datatype,
}

/// What an operation does.
#[derive(Clone, Debug)]
pub enum WindowAction {
    /// Writes the buffer there.
    Put(Buffer),
    /// Reads into the buffer from there.
    Get(Buffer),
    /// Combines the buffer with what is there.
    Accumulate {
        /// What is combined.
        origin: Buffer,
        /// How.
        op: Op,
    },
    /// The same, and reads what was there before.
    GetAccumulate {
        /// What is combined; nothing for [`Op::NoOp`].
        origin: Buffer,
        /// Where the old data goes.
        result: Buffer,
        /// How.
        op: Op,
    },
    /// Writes one element if another one is there, and reads what was there before.
    CompareAndSwap {
        /// What is written.
        origin: Buffer,
        /// What must be there.
        compare: Buffer,
        /// Where the old element goes.
        result: Buffer,
    },
}

/// What kind of access an operation is, once its arguments have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    Put,
    Get,
    /// An atomic access to elements of this kind.
    Atomic(Basic),
}

impl WindowAction {
    /// Checks that the arguments fit together.
    ///
    /// # Errors
    /// `Op`, `Type`: the operator or the datatype is none for this. `Truncate`: both sides describe
    /// different amounts of data. `Count`, `NullBuffer`.
    #[inline]
    pub(super) fn check(&self, target: &Target) -> Result<AccessKind> {
        match self {
            Self::Put(origin) => same_size(origin, target).map(|()| AccessKind::Put),
            Self::Get(origin) => same_size(origin, target).map(|()| AccessKind::Get),
            Self::Accumulate { origin, op } => {
                let Some(base) = operand(op, target, false)? else {
                    return same_size(origin, target).map(|()| AccessKind::Put);
                };
                same_base(origin, base)?;
                same_size(origin, target)?;
                Ok(AccessKind::Atomic(base))
            }
            Self::GetAccumulate { origin, result, op } => {
                let Some(base) = operand(op, target, true)? else {
                    return same_size(result, target).map(|()| AccessKind::Get);
                };
                if !matches!(op, Op::NoOp) {
                    same_base(origin, base)?;
                    same_size(origin, target)?;
                }
                same_base(result, base)?;
                same_size(result, target)?;
                Ok(AccessKind::Atomic(base))
            }
            Self::CompareAndSwap { .. } => compared(&target.datatype).map(AccessKind::Atomic),
        }
    }
}

#[inline]
fn same_size(origin: &Buffer, target: &Target) -> Result<()> {
    let (len, room) = (origin.check()?, target.datatype.bytes(target.count)?);
    match len == room {
        true => Ok(()),
        false => Err(wrong(
            Class::Truncate,
            format!(
                "{len} bytes at the origin and {room} at the target: both must describe the same \
                 amount of data"
            ),
        )),
    }
}

/// The predefined datatype of which a buffer consists must be that of the target.
#[inline]
fn same_base(buffer: &Buffer, base: Basic) -> Result<()> {
    let datatype = buffer.datatype();
    let is_empty = buffer.count() == 0 || datatype.size() == 0;
    if is_empty || matches!(datatype, Datatype::Basic(own) if *own == base) {
        return Ok(());
    }
    match datatype.reduction_base() {
        Some(own) if own.is_like(base) => Ok(()),
        own => Err(wrong(
            Class::Type,
            format!(
                "{} at the origin and {} at the target: an accumulate combines elements of one \
                 predefined datatype",
                own.map_or(datatype.name(), Basic::name),
                base.name()
            ),
        )),
    }
}

/// The predefined datatype of the target's elements, to which `op` must apply; `None` if there is
/// no data.
#[inline]
fn operand(op: &Op, target: &Target, fetches: bool) -> Result<Option<Basic>> {
    match target.datatype.reduction_base() {
        _ if target.count == 0 || target.datatype.size() == 0 => {
            // Bytes may be replaced, whatever they are part of.
            let nothing = Op::Replace;
            let op = if op.calls_program() { op } else { &nothing };
            op.check_accumulate(Basic::Byte, fetches).map(|()| None)
        }
        Some(base) => {
            op.check_accumulate(base, fetches)?;
            Ok(Some(base))
        }
        None => {
            let why = "the target's datatype must consist of elements of one predefined datatype";
            Err(wrong(Class::Type, why))
        }
    }
}

/// Integers, truth values and bytes can be compared. Source: MPI 5.0, 12.3.4.4.
#[inline]
pub(super) fn is_comparable(basic: Basic) -> bool {
    use Family::{Byte, Character, FortranInteger, Integer, Logical, MultiLanguage};
    matches!(
        basic.family(),
        Byte | Character | FortranInteger | Integer | Logical | MultiLanguage
    )
}

fn compared(datatype: &Datatype) -> Result<Basic> {
    match datatype {
        Datatype::Basic(basic) if is_comparable(*basic) => Ok(*basic),
        _ => {
            let why = format!(
                "{} cannot be compared: it must be a predefined integer, truth value or byte",
                datatype.name()
            );
            Err(wrong(Class::Type, why))
        }
    }
}
