//! The predefined datatypes, one table.
//!
//! Source: MPI 5.0, 3.2.2 (C types), 6.9.2 (which operators take them), 6.9.4 (pairs), 20 (ABI).

use core::ffi::c_char;

/// How a value of a predefined datatype is kept by the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Machine {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    /// The two-byte float of IEEE 754.
    F16,
    F32,
    F64,
    /// `long double`: x87's 80 bits in 16 bytes on x86-64.
    Long,
    ComplexF16,
    ComplexF32,
    ComplexF64,
    ComplexLong,
    F32I32,
    F64I32,
    I64I32,
    I32I32,
    I16I32,
    LongI32,
    F32F32,
    F64F64,
}

impl Machine {
    /// C's `char`, which has a sign on some machines only.
    pub(crate) const CHAR: Self = match c_char::MIN {
        0 => Self::U8,
        _ => Self::I8,
    };

    /// The two halves of a pair, and the displacement of the second.
    pub(crate) const fn pair(self) -> Option<(Self, Self, u64)> {
        Some(match self {
            Self::F32I32 => (Self::F32, Self::I32, 4),
            Self::F64I32 => (Self::F64, Self::I32, 8),
            Self::I64I32 => (Self::I64, Self::I32, 8),
            Self::I32I32 => (Self::I32, Self::I32, 4),
            Self::I16I32 => (Self::I16, Self::I32, 4),
            Self::LongI32 => (Self::Long, Self::I32, 16),
            Self::F32F32 => (Self::F32, Self::F32, 4),
            Self::F64F64 => (Self::F64, Self::F64, 8),
            _ => return None,
        })
    }

    /// Bytes of data, without padding.
    pub(crate) const fn size(self) -> u64 {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 | Self::ComplexF16 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::ComplexF32 => 8,
            Self::Long | Self::ComplexF64 => 16,
            Self::ComplexLong => 32,
            pair => match pair.pair() {
                Some((a, b, _)) => a.size() + b.size(),
                None => 0,
            },
        }
    }

    /// The alignment that a C compiler gives to it.
    pub(crate) const fn alignment(self) -> u64 {
        match self {
            Self::ComplexF16 => 2,
            Self::ComplexF32 => 4,
            Self::ComplexF64 => 8,
            Self::ComplexLong => 16,
            other => match other.pair() {
                Some((a, b, _)) if a.alignment() > b.alignment() => a.alignment(),
                Some((_, b, _)) => b.alignment(),
                None => other.size(),
            },
        }
    }

    /// Where the data ends: the extent without the padding after it.
    const fn data_end(self) -> u64 {
        match self.pair() {
            Some((_, second, at)) => at + second.size(),
            None => self.size(),
        }
    }

    const fn measures(self) -> Measures {
        let extent = self.data_end().next_multiple_of(self.alignment());
        Measures {
            size: self.size(),
            data_end: self.data_end() as i64,
            extent: extent as i64,
            has_no_gaps: self.size() == extent,
        }
    }
}

/// What every send and receive needs, computed when the library is compiled.
struct Measures {
    size: u64,
    data_end: i64,
    extent: i64,
    has_no_gaps: bool,
}

/// The groups of datatypes by which the standard defines the operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// C integers.
    Integer,
    /// Fortran integers.
    FortranInteger,
    /// Floating point.
    Floating,
    /// C, C++ and Fortran truth values.
    Logical,
    /// Complex numbers.
    Complex,
    /// `MPI_BYTE`.
    Byte,
    /// `MPI_AINT`, `MPI_OFFSET`, `MPI_COUNT`.
    MultiLanguage,
    /// Value and index, for `MPI_MINLOC` and `MPI_MAXLOC`.
    Pair,
    /// `MPI_CHAR`: for the standard a printable character that no operator takes. We take it as an
    /// integer, as other libraries do: widely used programs rely on it.
    Character,
    /// Wide and Fortran characters and packed data: no operator takes them.
    Opaque,
}

macro_rules! basics {
    ($($variant:ident $name:literal $machine:ident $family:ident;)*) => {
        /// A predefined datatype that this library supports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names are MPI's: MPI_…")]
        pub enum Basic {
            $($variant,)*
        }

        const ROWS: &[(&str, Machine, Family)] =
            &[$(($name, Machine::$machine, Family::$family),)*];

        const MEASURES: &[Measures] = &[$(Machine::$machine.measures(),)*];

        impl Basic {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}

basics! {
    Aint "MPI_AINT" I64 MultiLanguage;
    Count "MPI_COUNT" I64 MultiLanguage;
    Offset "MPI_OFFSET" I64 MultiLanguage;
    Packed "MPI_PACKED" U8 Opaque;
    Byte "MPI_BYTE" U8 Byte;
    Char "MPI_CHAR" CHAR Character;
    SignedChar "MPI_SIGNED_CHAR" I8 Integer;
    UnsignedChar "MPI_UNSIGNED_CHAR" U8 Integer;
    Wchar "MPI_WCHAR" I32 Opaque;
    Short "MPI_SHORT" I16 Integer;
    UnsignedShort "MPI_UNSIGNED_SHORT" U16 Integer;
    Int "MPI_INT" I32 Integer;
    Unsigned "MPI_UNSIGNED" U32 Integer;
    Long "MPI_LONG" I64 Integer;
    UnsignedLong "MPI_UNSIGNED_LONG" U64 Integer;
    LongLong "MPI_LONG_LONG" I64 Integer;
    UnsignedLongLong "MPI_UNSIGNED_LONG_LONG" U64 Integer;
    Int8 "MPI_INT8_T" I8 Integer;
    Uint8 "MPI_UINT8_T" U8 Integer;
    Int16 "MPI_INT16_T" I16 Integer;
    Uint16 "MPI_UINT16_T" U16 Integer;
    Int32 "MPI_INT32_T" I32 Integer;
    Uint32 "MPI_UINT32_T" U32 Integer;
    Int64 "MPI_INT64_T" I64 Integer;
    Uint64 "MPI_UINT64_T" U64 Integer;
    Float "MPI_FLOAT" F32 Floating;
    Double "MPI_DOUBLE" F64 Floating;
    LongDouble "MPI_LONG_DOUBLE" Long Floating;
    CBool "MPI_C_BOOL" U8 Logical;
    CxxBool "MPI_CXX_BOOL" U8 Logical;
    CFloatComplex "MPI_C_FLOAT_COMPLEX" ComplexF32 Complex;
    CxxFloatComplex "MPI_CXX_FLOAT_COMPLEX" ComplexF32 Complex;
    CDoubleComplex "MPI_C_DOUBLE_COMPLEX" ComplexF64 Complex;
    CxxDoubleComplex "MPI_CXX_DOUBLE_COMPLEX" ComplexF64 Complex;
    CLongDoubleComplex "MPI_C_LONG_DOUBLE_COMPLEX" ComplexLong Complex;
    CxxLongDoubleComplex "MPI_CXX_LONG_DOUBLE_COMPLEX" ComplexLong Complex;
    FloatInt "MPI_FLOAT_INT" F32I32 Pair;
    DoubleInt "MPI_DOUBLE_INT" F64I32 Pair;
    LongInt "MPI_LONG_INT" I64I32 Pair;
    TwoInt "MPI_2INT" I32I32 Pair;
    ShortInt "MPI_SHORT_INT" I16I32 Pair;
    LongDoubleInt "MPI_LONG_DOUBLE_INT" LongI32 Pair;
    TwoReal "MPI_2REAL" F32F32 Pair;
    TwoDoublePrecision "MPI_2DOUBLE_PRECISION" F64F64 Pair;
    TwoInteger "MPI_2INTEGER" I32I32 Pair;
    FortranLogical "MPI_LOGICAL" I32 Logical;
    FortranInteger "MPI_INTEGER" I32 FortranInteger;
    FortranReal "MPI_REAL" F32 Floating;
    FortranComplex "MPI_COMPLEX" ComplexF32 Complex;
    DoublePrecision "MPI_DOUBLE_PRECISION" F64 Floating;
    DoubleComplex "MPI_DOUBLE_COMPLEX" ComplexF64 Complex;
    Character "MPI_CHARACTER" U8 Opaque;
    Logical1 "MPI_LOGICAL1" I8 Logical;
    Logical2 "MPI_LOGICAL2" I16 Logical;
    Logical4 "MPI_LOGICAL4" I32 Logical;
    Logical8 "MPI_LOGICAL8" I64 Logical;
    Integer1 "MPI_INTEGER1" I8 FortranInteger;
    Integer2 "MPI_INTEGER2" I16 FortranInteger;
    Integer4 "MPI_INTEGER4" I32 FortranInteger;
    Integer8 "MPI_INTEGER8" I64 FortranInteger;
    CFloat16 "MPIX_C_FLOAT16" F16 Floating;
    Real2 "MPI_REAL2" F16 Floating;
    Real4 "MPI_REAL4" F32 Floating;
    Real8 "MPI_REAL8" F64 Floating;
    Complex4 "MPI_COMPLEX4" ComplexF16 Complex;
    Complex8 "MPI_COMPLEX8" ComplexF32 Complex;
    Complex16 "MPI_COMPLEX16" ComplexF64 Complex;
}

impl Basic {
    /// The one with MPI's name `name`, as `MPI_INT`; `None` if this library does not support it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|basic| basic.name() == name)
    }

    /// MPI's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS[self as usize].0
    }

    /// Bytes of data in one element, without padding.
    #[inline]
    #[must_use]
    pub fn size(self) -> u64 {
        MEASURES[self as usize].size
    }

    /// Bytes from one element to the next.
    #[must_use]
    pub fn extent(self) -> i64 {
        MEASURES[self as usize].extent
    }

    /// Returns true if any number of elements is one run of data.
    #[inline]
    pub(crate) fn has_no_gaps(self) -> bool {
        MEASURES[self as usize].has_no_gaps
    }

    /// Where the data ends: the extent without the padding after it.
    pub(crate) fn data_end(self) -> i64 {
        MEASURES[self as usize].data_end
    }

    /// The alignment of the C type, in bytes.
    #[must_use]
    pub fn alignment(self) -> u64 {
        self.machine().alignment()
    }

    /// The group to which the standard counts it.
    #[must_use]
    pub fn family(self) -> Family {
        ROWS[self as usize].2
    }

    /// The bytes of `count` elements, if they have no padding.
    #[inline(always)]
    #[must_use]
    pub fn run_of(self, count: u64) -> Option<usize> {
        let bytes = self.size().checked_mul(count)?;
        let bytes = usize::try_from(bytes).ok()?;
        self.has_no_gaps().then_some(bytes)
    }

    /// Returns true if the machine keeps it as an integer of eight bytes.
    #[inline]
    pub(crate) fn is_long_integer(self) -> bool {
        matches!(self.machine(), Machine::I64 | Machine::U64)
    }

    /// Returns true if the machine keeps both alike.
    pub(crate) fn is_like(self, other: Self) -> bool {
        self.machine() == other.machine()
    }

    pub(crate) fn machine(self) -> Machine {
        ROWS[self as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_extents_are_those_of_the_c_types() {
        // Measured with another implementation of the standard ABI on x86-64.
        let table = [
            ("MPI_AINT", 8, 8),
            ("MPI_COUNT", 8, 8),
            ("MPI_OFFSET", 8, 8),
            ("MPI_PACKED", 1, 1),
            ("MPI_SHORT", 2, 2),
            ("MPI_INT", 4, 4),
            ("MPI_LONG", 8, 8),
            ("MPI_LONG_LONG", 8, 8),
            ("MPI_UNSIGNED", 4, 4),
            ("MPI_FLOAT", 4, 4),
            ("MPI_C_FLOAT_COMPLEX", 8, 8),
            ("MPI_DOUBLE", 8, 8),
            ("MPI_C_DOUBLE_COMPLEX", 16, 16),
            ("MPI_LOGICAL", 4, 4),
            ("MPI_CHARACTER", 1, 1),
            ("MPI_LONG_DOUBLE", 16, 16),
            ("MPI_C_LONG_DOUBLE_COMPLEX", 32, 32),
            ("MPI_FLOAT_INT", 8, 8),
            ("MPI_DOUBLE_INT", 12, 16),
            ("MPI_LONG_INT", 12, 16),
            ("MPI_2INT", 8, 8),
            ("MPI_SHORT_INT", 6, 8),
            ("MPI_LONG_DOUBLE_INT", 20, 32),
            ("MPI_2REAL", 8, 8),
            ("MPI_2DOUBLE_PRECISION", 16, 16),
            ("MPI_2INTEGER", 8, 8),
            ("MPI_C_BOOL", 1, 1),
            ("MPI_WCHAR", 4, 4),
            ("MPI_INT8_T", 1, 1),
            ("MPI_UINT16_T", 2, 2),
            ("MPI_INT32_T", 4, 4),
            ("MPI_UINT64_T", 8, 8),
            ("MPI_BYTE", 1, 1),
            ("MPI_REAL2", 2, 2),
            ("MPI_COMPLEX4", 4, 4),
            ("MPI_REAL8", 8, 8),
            ("MPI_COMPLEX16", 16, 16),
            ("MPI_LOGICAL2", 2, 2),
        ];
        for (name, size, extent) in table {
            let basic = Basic::named(name).expect(name);
            assert_eq!((basic.size(), basic.extent()), (size, extent), "{name}");
        }
    }

    #[test]
    fn names_are_unique() {
        for (at, basic) in Basic::ALL.iter().enumerate() {
            assert_eq!(Basic::named(basic.name()), Some(Basic::ALL[at]));
        }
    }
}
