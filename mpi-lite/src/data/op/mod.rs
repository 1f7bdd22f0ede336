//! Reduction operators.
//!
//! Source: MPI 5.0, 6.9.2 (predefined operators and the datatypes they take), 6.9.4 (`MPI_MINLOC`
//! and `MPI_MAXLOC`), 6.9.5 (operators of the program).

mod long_double;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod wide;

use std::fmt;
use std::sync::Arc;

use super::basic::{Basic, Family, Machine};
use super::datatype::Datatype;
use crate::error::{Cause, Error, Result};
use crate::memory::{Bytes, Room};
use half::f16;
use long_double::LongDouble;
use scalar::{Complex, Pair, Scalar};

/// The function of an operator of the program: `inout[i] = incoming[i] op inout[i]` for `count`
/// elements of the datatype. Both spans begin at the first byte that the elements occupy, which
/// is [`Datatype::occupied`]'s displacement from the address the C function expects. What lies in
/// gaps between the elements' bytes may be somebody else's: no slice is made of it.
pub type UserFunction = dyn Fn(Bytes<'_>, Room<'_>, u64, &Datatype) + Send + Sync;

/// An operator that the program made.
#[derive(Clone)]
pub struct UserOp {
    /// What it does.
    pub function: Arc<UserFunction>,
    /// True if the order of the operands does not matter.
    pub commutative: bool,
}

impl UserOp {
    /// An operator whose function works on slices. All bytes that its operands span must be the
    /// operation's own, also those in gaps.
    pub fn on_slices(
        function: impl Fn(&[u8], &mut [u8], u64, &Datatype) + Send + Sync + 'static,
        commutative: bool,
    ) -> Self {
        let on_spans =
            move |incoming: Bytes<'_>, mut inout: Room<'_>, count, datatype: &Datatype| {
                incoming.view(|incoming| {
                    inout.update(|inout| function(incoming, inout, count, datatype));
                });
            };
        Self {
            function: Arc::new(on_spans),
            commutative,
        }
    }
}

impl fmt::Debug for UserOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserOp")
            .field("commutative", &self.commutative)
            .finish_non_exhaustive()
    }
}

/// A reduction operator.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are MPI's: MPI_…")]
pub enum Op {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
    Minloc,
    Maxloc,
    Replace,
    NoOp,
    User(UserOp),
}

impl Op {
    /// Returns true if it calls a function of the program.
    #[must_use]
    pub fn calls_program(&self) -> bool {
        matches!(self, Self::User(_))
    }

    /// MPI's name, or what it is.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Max => "MPI_MAX",
            Self::Min => "MPI_MIN",
            Self::Sum => "MPI_SUM",
            Self::Prod => "MPI_PROD",
            Self::Land => "MPI_LAND",
            Self::Band => "MPI_BAND",
            Self::Lor => "MPI_LOR",
            Self::Bor => "MPI_BOR",
            Self::Lxor => "MPI_LXOR",
            Self::Bxor => "MPI_BXOR",
            Self::Minloc => "MPI_MINLOC",
            Self::Maxloc => "MPI_MAXLOC",
            Self::Replace => "MPI_REPLACE",
            Self::NoOp => "MPI_NO_OP",
            Self::User(_) => "the program's operator",
        }
    }

    /// Returns true if the order of the operands does not matter (`MPI_Op_commutative`).
    #[must_use]
    pub fn is_commutative(&self) -> bool {
        match self {
            Self::User(user) => user.commutative,
            Self::Replace => false,
            _ => true,
        }
    }

    /// Checks that a reduction with this operator may work on `datatype`.
    ///
    /// # Errors
    /// [`Cause::Op`] if it is not defined, as for every predefined operator on a derived datatype,
    /// and for `MPI_REPLACE` and `MPI_NO_OP`, which are for one-sided communication only.
    ///
    /// Source: MPI 5.0, 6.9.2.
    pub fn check(&self, datatype: &Datatype) -> Result<()> {
        let takes = match (self, datatype) {
            (Self::User(_), _) => true,
            (Self::Replace | Self::NoOp, _) => false,
            (_, Datatype::Basic(basic)) => self.takes(*basic),
            (_, Datatype::Derived(_)) => false,
        };
        takes.then_some(()).ok_or_else(|| self.undefined(datatype))
    }

    /// Checks that an accumulate with this operator may work on elements of `basic`. `fetches`: it
    /// reads what is there, too.
    ///
    /// # Errors
    /// [`Cause::Op`] if the operator is not defined for it, is one of the program, or does nothing.
    ///
    /// Source: MPI 5.0, 12.3.4.
    #[inline]
    pub fn check_accumulate(&self, basic: Basic, fetches: bool) -> Result<()> {
        match self {
            Self::User(_) => Err(Cause::Accumulate(
                "an operator of the program works in no accumulate: only predefined ones do",
            )
            .into()),
            Self::NoOp if !fetches => Err(Cause::Accumulate(
                "MPI_NO_OP is for MPI_Get_accumulate and MPI_Fetch_and_op, which read",
            )
            .into()),
            Self::NoOp | Self::Replace => Ok(()),
            _ if self.takes(basic) => Ok(()),
            _ => Err(self.undefined(&Datatype::Basic(basic))),
        }
    }

    /// Returns true if a predefined operator is defined for `basic`. Source: MPI 5.0, 6.9.2, and as
    /// an extension: `MPI_CHAR` is an integer, and logical operators take `MPI_AINT`, `MPI_COUNT`
    /// and `MPI_OFFSET`.
    #[inline]
    fn takes(&self, basic: Basic) -> bool {
        use Family::{
            Byte, Character, Complex, Floating, FortranInteger, Integer, Logical, MultiLanguage,
            Pair,
        };
        let family = basic.family();
        let defined = match self {
            Self::Max | Self::Min => {
                matches!(
                    family,
                    Integer | Character | FortranInteger | Floating | MultiLanguage
                )
            }
            Self::Sum | Self::Prod => matches!(
                family,
                Integer | Character | FortranInteger | Floating | MultiLanguage | Complex
            ),
            Self::Land | Self::Lor | Self::Lxor => {
                matches!(family, Integer | Character | MultiLanguage | Logical)
            }
            Self::Band | Self::Bor | Self::Bxor => {
                matches!(
                    family,
                    Integer | Character | FortranInteger | MultiLanguage | Byte
                )
            }
            Self::Minloc | Self::Maxloc => family == Pair,
            Self::Replace | Self::NoOp | Self::User(_) => true,
        };
        defined && (LongDouble::IS_SUPPORTED || !needs_long_double(basic.machine()))
    }

    fn undefined(&self, datatype: &Datatype) -> Error {
        Cause::Op {
            op: self.name(),
            datatype: datatype.name(),
        }
        .into()
    }

    /// `inout[i] = incoming[i] op inout[i]` for `count` elements, wherever they are. Both spans
    /// hold the bytes that the elements occupy, gaps included, from the first occupied byte on
    /// ([`Datatype::occupied`]); they need no alignment and do not overlap. `incoming` is the left
    /// operand: of two ranks the lower one's data. Bytes in gaps are left alone.
    ///
    /// # Errors
    /// [`Cause::Op`] if a predefined operator is not defined for the datatype.
    pub fn apply_to<'a>(
        &self,
        incoming: impl Into<Bytes<'a>>,
        inout: impl Into<Room<'a>>,
        count: u64,
        datatype: &Datatype,
    ) -> Result<()> {
        let (incoming, mut inout) = (incoming.into(), inout.into());
        if let Self::User(user) = self {
            if count > 0 {
                (user.function)(incoming, inout, count, datatype);
            }
            return Ok(());
        }
        // Basic datatypes have no gaps but those inside of a pair, which are the pair's own.
        inout.update(|inout| incoming.view(|incoming| self.apply(incoming, inout, count, datatype)))
    }

    /// Applies the operator to operands in slices.
    ///
    /// # Errors
    /// As [`Op::apply_to`].
    pub fn apply(
        &self,
        incoming: &[u8],
        inout: &mut [u8],
        count: u64,
        datatype: &Datatype,
    ) -> Result<()> {
        if matches!(self, Self::User(_)) {
            return self.apply_to(incoming, inout, count, datatype);
        }
        let Datatype::Basic(basic) = datatype else {
            return Err(self.undefined(datatype));
        };
        if !self.takes(*basic) {
            return Err(self.undefined(datatype));
        }
        match self {
            Self::NoOp => {}
            Self::Replace => inout.copy_from_slice(incoming),
            _ => self.fold(*basic, incoming, inout),
        }
        Ok(())
    }

    fn fold(&self, basic: Basic, incoming: &[u8], inout: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if wide::fold(self, basic.machine(), incoming, inout) {
            return;
        }
        match basic.machine() {
            Machine::I8 => self.integers::<i8>(incoming, inout),
            Machine::U8 => self.integers::<u8>(incoming, inout),
            Machine::I16 => self.integers::<i16>(incoming, inout),
            Machine::U16 => self.integers::<u16>(incoming, inout),
            Machine::I32 => self.integers::<i32>(incoming, inout),
            Machine::U32 => self.integers::<u32>(incoming, inout),
            Machine::I64 => self.integers::<i64>(incoming, inout),
            Machine::U64 => self.integers::<u64>(incoming, inout),
            Machine::F16 => self.ordered::<f16>(incoming, inout),
            Machine::F32 => self.ordered::<f32>(incoming, inout),
            Machine::F64 => self.ordered::<f64>(incoming, inout),
            Machine::Long => self.ordered::<LongDouble>(incoming, inout),
            Machine::ComplexF16 => self.arithmetic::<Complex<f16>>(incoming, inout),
            Machine::ComplexF32 => self.arithmetic::<Complex<f32>>(incoming, inout),
            Machine::ComplexF64 => self.arithmetic::<Complex<f64>>(incoming, inout),
            Machine::ComplexLong => self.arithmetic::<Complex<LongDouble>>(incoming, inout),
            Machine::F32I32 => self.pairs::<f32, i32, 8>(incoming, inout),
            Machine::F64I32 => self.pairs::<f64, i32, 16>(incoming, inout),
            Machine::I64I32 => self.pairs::<i64, i32, 16>(incoming, inout),
            Machine::I32I32 => self.pairs::<i32, i32, 8>(incoming, inout),
            Machine::I16I32 => self.pairs::<i16, i32, 8>(incoming, inout),
            Machine::LongI32 => self.pairs::<LongDouble, i32, 32>(incoming, inout),
            Machine::F32F32 => self.pairs::<f32, f32, 8>(incoming, inout),
            Machine::F64F64 => self.pairs::<f64, f64, 16>(incoming, inout),
        }
    }

    fn integers<T: scalar::Integer>(&self, incoming: &[u8], inout: &mut [u8]) {
        let truth = |b: bool| if b { T::ONE } else { T::ZERO };
        match self {
            Self::Land => T::fold(incoming, inout, |a, b| truth(a.is_true() && b.is_true())),
            Self::Lor => T::fold(incoming, inout, |a, b| truth(a.is_true() || b.is_true())),
            Self::Lxor => T::fold(incoming, inout, |a, b| truth(a.is_true() != b.is_true())),
            Self::Band => T::fold(incoming, inout, T::and),
            Self::Bor => T::fold(incoming, inout, T::or),
            Self::Bxor => T::fold(incoming, inout, T::xor),
            _ => self.ordered::<T>(incoming, inout),
        }
    }

    fn ordered<T: scalar::Number + PartialOrd>(&self, incoming: &[u8], inout: &mut [u8]) {
        match self {
            Self::Max => T::fold(incoming, inout, |a, b| if a > b { a } else { b }),
            Self::Min => T::fold(incoming, inout, |a, b| if a < b { a } else { b }),
            _ => self.arithmetic::<T>(incoming, inout),
        }
    }

    fn arithmetic<T: scalar::Number>(&self, incoming: &[u8], inout: &mut [u8]) {
        match self {
            Self::Sum => T::fold(incoming, inout, T::plus),
            Self::Prod => T::fold(incoming, inout, T::times),
            _ => unreachable!("`takes` lets only operators of the family through"),
        }
    }

    fn pairs<V, I, const EXTENT: usize>(&self, incoming: &[u8], inout: &mut [u8])
    where
        V: Scalar + PartialOrd,
        I: Scalar + PartialOrd,
    {
        match self {
            Self::Maxloc => Pair::<V, I, EXTENT>::fold(incoming, inout, |a, b| a > b),
            Self::Minloc => Pair::<V, I, EXTENT>::fold(incoming, inout, |a, b| a < b),
            _ => unreachable!("`takes` lets only operators of the family through"),
        }
    }
}

fn needs_long_double(machine: Machine) -> bool {
    matches!(
        machine,
        Machine::Long | Machine::ComplexLong | Machine::LongI32
    )
}

#[cfg(test)]
mod tests;
