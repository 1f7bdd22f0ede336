//! Arguments that are arrays. Another argument is their length.
#![expect(
    unsafe_code,
    reason = "arrays are read and written through the caller's pointers"
)]

use core::ffi::c_int;

use crate::abi::{self, Handle};
use crate::args::numbers::{LateCount, Length, show_address};
use crate::declaration::Declarator;
use crate::entry::{Arg, Large, Read, Small};
use crate::error::{Error, Result};
use crate::objects::recipe::Recipe;
use crate::raise::Call;

macro_rules! arrays {
    (
        $(
            $(#[$doc:meta])*
            $name:ident: $pointer:ty, $element:ty, $base:literal $(, $shape:ident)?;
        )*
    ) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(pub $pointer);

        impl<W> Arg<W> for $name {
            type C = $pointer;
            const DECLARATION: Declarator = arrays!(@declare $base $(, $shape)?);
            const IS_KEPT: bool = false;

            fn show(c: $pointer, name: &str, line: &mut String) {
                show_address(c.addr(), name, line);
            }
        }

        impl<W> Read<W> for $name {
            unsafe fn read(c: $pointer, _name: &'static str, _call: &Call) -> Result<Self> {
                Ok(Self(c))
            }
        }

        impl $name {
            /// The element at `index`.
            ///
            /// # Errors
            /// The array is null.
            pub fn get(self, index: usize) -> Result<$element> {
                if self.0.is_null() {
                    return Err(Error::new(abi::MPI_ERR_ARG, NULL_ARRAY));
                }
                // SAFETY: not null, and the caller passed as many elements as the call names.
                Ok(unsafe { self.0.add(index).read_unaligned() })
            }
        }
    )*};
    (@declare $base:literal) => { Declarator::array($base) };
    (@declare $base:literal, $shape:ident) => { Declarator::$shape($base) };
    (out $($name:ident $element:ty;)*) => {$(
        impl $name {
            /// Writes the element at `index` if the caller has passed an array.
            ///
            /// # Errors
            /// None.
            pub fn set_if_given(self, index: usize, value: $element) -> Result<()> {
                if self.0.is_null() {
                    return Ok(());
                }
                self.set(index, value)
            }

            /// Writes the element at `index`.
            ///
            /// # Errors
            /// The array is null.
            pub fn set(self, index: usize, value: $element) -> Result<()> {
                if self.0.is_null() {
                    return Err(Error::new(abi::MPI_ERR_ARG, NULL_ARRAY));
                }
                // SAFETY: not null, and the caller passed room for as many elements as the call
                // names.
                unsafe { self.0.add(index).write_unaligned(value) };
                Ok(())
            }

            /// Writes the elements from the first on.
            ///
            /// # Errors
            /// The array is null, and there are elements.
            pub fn set_all(self, values: &[$element]) -> Result<()> {
                let mut values = values.iter().enumerate();
                values.try_for_each(|(index, value)| self.set(index, *value))
            }
        }
    )*};
}

const NULL_ARRAY: &str = "an array argument is a null pointer";

arrays! {
    /// Integers.
    Ints: *const c_int, c_int, "const int";
    /// Room for integers.
    OutInts: *mut c_int, c_int, "int";
    /// Weights of edges. A pointer in the header: gcc warns if an array is `MPI_UNWEIGHTED`.
    Weights: *const c_int, c_int, "const int", pointer;
    /// Room for weights of edges.
    OutWeights: *mut c_int, c_int, "int", pointer;
    /// Distances in bytes, whatever the width.
    Aints: *const i64, i64, "const MPI_Aint";
    /// Room for distances in bytes.
    OutAints: *mut i64, i64, "MPI_Aint";
    /// Room for large counts.
    OutLargeCounts: *mut i64, i64, "MPI_Count";
    /// Requests that may complete.
    Requests: *mut Handle, Handle, "MPI_Request";
}

arrays! { out
    OutInts c_int;
    OutAints i64;
    OutLargeCounts i64;
    Requests Handle;
}

impl Ints {
    /// `len` integers.
    ///
    /// # Errors
    /// The array is null.
    pub fn to_vec(self, len: usize) -> Result<Vec<c_int>> {
        (0..len).map(|index| self.get(index)).collect()
    }
}

impl Requests {
    /// Each handle, as far as the array goes.
    ///
    /// # Errors
    /// The array is null but its length is not 0; or the error of `act`.
    pub fn try_for_each(self, count: Length, act: impl Fn(Handle) -> Result<()>) -> Result<()> {
        (0..count.0 as usize).try_for_each(|index| act(self.get(index)?))
    }
}

impl ConstRequests {
    /// The handles.
    ///
    /// # Errors
    /// The array is null but its length is not 0.
    pub fn to_vec(self, count: Length) -> Result<Vec<Handle>> {
        (0..count.0 as usize).map(|index| self.get(index)).collect()
    }
}

/// Handles that are only read, as the program's binary interface holds them.
#[derive(Debug, Clone, Copy)]
enum Handles {
    /// The standard's.
    Standard(*const Handle),
    /// Numbers, and the handles that they stand for.
    Numbers(*const c_int, fn(c_int) -> Handle),
}

impl Handles {
    fn get(self, index: usize) -> Result<Handle> {
        match self {
            Self::Standard(array) if !array.is_null() => {
                // SAFETY: not null, and the caller passed as many elements as the call names.
                Ok(unsafe { array.add(index).read_unaligned() })
            }
            Self::Numbers(array, standard) if !array.is_null() => {
                // SAFETY: as above.
                Ok(standard(unsafe { array.add(index).read_unaligned() }))
            }
            _ => Err(Error::new(abi::MPI_ERR_ARG, NULL_ARRAY)),
        }
    }
}

macro_rules! handle_arrays {
    ($($(#[$doc:meta])* $name:ident: $base:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(Handles);

        impl<W> Arg<W> for $name {
            type C = *const Handle;
            const DECLARATION: Declarator = Declarator::array($base);
            const IS_KEPT: bool = false;

            fn show(c: *const Handle, name: &str, line: &mut String) {
                show_address(c.addr(), name, line);
            }
        }

        impl<W> Read<W> for $name {
            unsafe fn read(c: *const Handle, _name: &'static str, _call: &Call) -> Result<Self> {
                Ok(Self(Handles::Standard(c)))
            }
        }

        impl $name {
            /// Numbers that stand for handles.
            ///
            /// # Safety
            /// The array is null, or has as many elements as the call names.
            pub unsafe fn numbers(array: *const c_int, standard: fn(c_int) -> Handle) -> Self {
                Self(Handles::Numbers(array, standard))
            }

            /// The element at `index`.
            ///
            /// # Errors
            /// The array is null.
            pub fn get(self, index: usize) -> Result<Handle> {
                self.0.get(index)
            }
        }
    )*};
}

handle_arrays! {
    /// Datatypes.
    Datatypes: "const MPI_Datatype";
    /// Info objects.
    Infos: "const MPI_Info";
    /// Requests that are only looked at.
    ConstRequests: "const MPI_Request";
}

/// Room for datatypes.
#[derive(Debug, Clone, Copy)]
pub struct OutDatatypes(OutHandles);

#[derive(Debug, Clone, Copy)]
enum OutHandles {
    Standard(*mut Handle),
    Numbers(*mut c_int, fn(Handle) -> c_int),
}

impl<W> Arg<W> for OutDatatypes {
    type C = *mut Handle;
    const DECLARATION: Declarator = Declarator::array("MPI_Datatype");
    const IS_KEPT: bool = false;

    fn show(c: *mut Handle, name: &str, line: &mut String) {
        show_address(c.addr(), name, line);
    }
}

impl<W> Read<W> for OutDatatypes {
    unsafe fn read(c: *mut Handle, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(OutHandles::Standard(c)))
    }
}

impl OutDatatypes {
    /// Room for the numbers of handles.
    ///
    /// # Safety
    /// The array is null, or has as many elements as the call names.
    pub unsafe fn numbers(array: *mut c_int, number: fn(Handle) -> c_int) -> Self {
        Self(OutHandles::Numbers(array, number))
    }

    /// Writes the element at `index`.
    ///
    /// # Errors
    /// The array is null.
    pub fn set(self, index: usize, value: Handle) -> Result<()> {
        match self.0 {
            OutHandles::Standard(array) if !array.is_null() => {
                // SAFETY: not null, and the caller passed room for as many elements as the call
                // names.
                unsafe { array.add(index).write_unaligned(value) };
                Ok(())
            }
            OutHandles::Numbers(array, number) if !array.is_null() => {
                // SAFETY: as above.
                unsafe { array.add(index).write_unaligned(number(value)) };
                Ok(())
            }
            _ => Err(Error::new(abi::MPI_ERR_ARG, NULL_ARRAY)),
        }
    }

    /// Checks that there is an array.
    ///
    /// # Errors
    /// The array is null.
    pub fn check(self) -> Result<()> {
        let is_null = match self.0 {
            OutHandles::Standard(array) => array.is_null(),
            OutHandles::Numbers(array, _) => array.is_null(),
        };
        match is_null {
            true => Err(Error::new(abi::MPI_ERR_ARG, NULL_ARRAY)),
            false => Ok(()),
        }
    }

    /// Writes the element at `index` if the caller has passed an array.
    ///
    /// # Errors
    /// None.
    pub fn set_if_given(self, index: usize, value: Handle) -> Result<()> {
        self.set(index, value).or(Ok(()))
    }
}

/// Makes array types of `int`s that another binary interface has other numbers for.
macro_rules! mapped_arrays {
    ($($(#[$doc:meta])* $name:ident: $array:ident($c:ty), $base:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name {
            array: $array,
            map: fn(c_int) -> c_int,
        }

        impl<W> Arg<W> for $name {
            type C = $c;
            const DECLARATION: Declarator = Declarator::array($base);
            const IS_KEPT: bool = false;

            fn show(c: $c, name: &str, line: &mut String) {
                show_address(c.addr(), name, line);
            }
        }

        impl<W> Read<W> for $name {
            unsafe fn read(c: $c, _name: &'static str, _call: &Call) -> Result<Self> {
                Ok(Self::mapped($array(c), |number| number))
            }
        }

        impl $name {
            /// An array whose elements are mapped.
            pub fn mapped(array: $array, map: fn(c_int) -> c_int) -> Self {
                Self { array, map }
            }
        }
    )*};
}

mapped_arrays! {
    /// Ranks, of which some may be `MPI_PROC_NULL`.
    Ranks: Ints(*const c_int), "const int";
    /// How the dimensions of an array are distributed.
    Distributions: Ints(*const c_int), "const int";
    /// Sizes of blocks, of which some may be `MPI_DISTRIBUTE_DFLT_DARG`.
    DistributionArgs: Ints(*const c_int), "const int";
    /// Room for ranks, `MPI_PROC_NULL` and `MPI_UNDEFINED`.
    OutRanks: OutInts(*mut c_int), "int";
}

macro_rules! mapped_reads {
    ($($name:ident)*) => {$(
        impl $name {
            /// `len` numbers of the standard.
            ///
            /// # Errors
            /// The array is null.
            pub fn to_vec(self, len: usize) -> Result<Vec<c_int>> {
                let numbers = self.array.to_vec(len)?.into_iter();
                Ok(numbers.map(self.map).collect())
            }
        }
    )*};
}

mapped_reads! { Ranks Distributions DistributionArgs }

impl OutRanks {
    /// Writes the element at `index`.
    ///
    /// # Errors
    /// The array is null.
    pub fn set(self, index: usize, rank: c_int) -> Result<()> {
        self.array.set(index, (self.map)(rank))
    }
}

/// The integers of a recipe, in the numbers of the program's binary interface.
pub type IntegersOf = fn(&Recipe) -> Vec<c_int>;

/// Room for the integers of a recipe.
#[derive(Debug, Clone, Copy)]
pub struct OutIntegers {
    room: OutInts,
    of: IntegersOf,
}

impl<W> Arg<W> for OutIntegers {
    type C = *mut c_int;
    const DECLARATION: Declarator = Declarator::array("int");
    const IS_KEPT: bool = false;

    fn show(c: *mut c_int, name: &str, line: &mut String) {
        show_address(c.addr(), name, line);
    }
}

impl<W> Read<W> for OutIntegers {
    unsafe fn read(c: *mut c_int, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self::at(OutInts(c), |recipe| recipe.integers.clone()))
    }
}

impl OutIntegers {
    /// Room for what `of` returns.
    pub fn at(room: OutInts, of: IntegersOf) -> Self {
        Self { room, of }
    }

    /// Writes the integers.
    ///
    /// # Errors
    /// The array is null, and there are some.
    pub fn set_all(self, recipe: &Recipe) -> Result<()> {
        self.room.set_all(&(self.of)(recipe))
    }
}

/// Triplets of first rank, last rank and stride.
#[derive(Debug, Clone, Copy)]
pub struct Ranges(*mut [c_int; 3]);

impl<W> Arg<W> for Ranges {
    type C = *mut [c_int; 3];
    const DECLARATION: Declarator = Declarator {
        base: "int",
        before: " ",
        after: "[][3]",
    };
    const IS_KEPT: bool = false;

    fn show(c: Self::C, name: &str, line: &mut String) {
        show_address(c.addr(), name, line);
    }
}

impl<W> Read<W> for Ranges {
    unsafe fn read(c: Self::C, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

impl Ranges {
    /// The triplet at `index`.
    ///
    /// # Errors
    /// The array is null.
    pub fn get(self, index: usize) -> Result<[c_int; 3]> {
        if self.0.is_null() {
            return Err(Error::new(abi::MPI_ERR_ARG, NULL_ARRAY));
        }
        // SAFETY: not null, and the caller passed as many triplets as the call names.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }
}

/// Makes array types whose elements are wider in a `_c` function.
macro_rules! wide_arrays {
    ($($(#[$doc:meta])* $name:ident: $small:ty = $s:literal | $large:ty = $l:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(Wide);

        wide_arrays!(@width $name Small $small, $s);
        wide_arrays!(@width $name Large $large, $l);

        impl $name {
            /// The element at `index`.
            ///
            /// # Errors
            /// The array is null.
            pub fn get(self, index: usize) -> Result<i64> {
                self.0.get(index)
            }
        }
    )*};
    (@width $name:ident $width:ident $element:ty, $base:literal) => {
        impl Arg<$width> for $name {
            type C = *const $element;
            const DECLARATION: Declarator = Declarator::array($base);
            const IS_KEPT: bool = false;

            fn show(c: Self::C, name: &str, line: &mut String) {
                show_address(c.addr(), name, line);
            }
        }

        impl Read<$width> for $name {
            unsafe fn read(c: Self::C, _name: &'static str, _call: &Call) -> Result<Self> {
                Ok(Self(c.into()))
            }
        }
    };
}

wide_arrays! {
    /// Counts, or distances in elements.
    Counts: c_int = "const int" | i64 = "const MPI_Count";
    /// Distances in elements, as collectives take them.
    Displs: c_int = "const int" | i64 = "const MPI_Aint";
    /// Distances in bytes.
    Displacements: i64 = "const MPI_Aint" | i64 = "const MPI_Count";
}

impl Counts {
    /// `len` numbers, which may be negative.
    ///
    /// # Errors
    /// The array is null.
    pub fn to_vec(self, len: usize) -> Result<Vec<i64>> {
        (0..len).map(|index| self.get(index)).collect()
    }

    /// `len` counts.
    ///
    /// # Errors
    /// The array is null, or one is negative.
    pub fn counts(self, len: usize) -> Result<Vec<u64>> {
        (0..len)
            .map(|index| Ok(LateCount(self.get(index)?).get()?.get()))
            .collect()
    }
}

#[derive(Debug, Clone, Copy)]
enum Wide {
    Narrow(*const c_int),
    Broad(*const i64),
}

impl From<*const c_int> for Wide {
    fn from(array: *const c_int) -> Self {
        Self::Narrow(array)
    }
}

impl From<*const i64> for Wide {
    fn from(array: *const i64) -> Self {
        Self::Broad(array)
    }
}

impl Wide {
    fn get(self, index: usize) -> Result<i64> {
        match self {
            Self::Narrow(array) if !array.is_null() => {
                // SAFETY: not null, and the caller passed as many elements as the call names.
                let element = unsafe { array.add(index).read_unaligned() };
                Ok(i64::from(element))
            }
            Self::Broad(array) if !array.is_null() => {
                // SAFETY: as above.
                Ok(unsafe { array.add(index).read_unaligned() })
            }
            _ => Err(Error::new(abi::MPI_ERR_ARG, NULL_ARRAY)),
        }
    }
}
