//! The second interface's constants: each is mapped to the standard's and back.

use core::ffi::c_int;

use crate::abi::{self, Handle};

/// The address that stands for `MPI_IN_PLACE`.
const IN_PLACE: usize = usize::MAX;

/// The address that stands for `MPI_STATUS_IGNORE` and for `MPI_STATUSES_IGNORE`.
pub const STATUS_IGNORE: usize = 1;

/// Bytes of the longest text of an error, with its zero. It is short, for the test.
pub const MAX_ERROR_STRING: usize = 24;

/// The address of a buffer in the standard's interface.
#[inline(always)]
pub fn standard_address(address: usize) -> usize {
    match address {
        IN_PLACE => abi::MPI_IN_PLACE,
        _ => address,
    }
}

/// Bytes of a text that `function` lays down, with its zero.
pub fn text_limit(function: &str) -> usize {
    match function {
        "MPI_Error_string" => MAX_ERROR_STRING,
        _ => usize::MAX,
    }
}

/// Makes two functions that are each other's inverse: from the second interface to the standard's,
/// and back. What is not named is itself.
macro_rules! maps {
    ($($(#[$doc:meta])* $to:ident, $back:ident: $($second:literal = $standard:literal),*;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $to(value: c_int) -> c_int {
            match value {
                0.. => value,
                $($second => $standard,)*
                _ => value,
            }
        }

        $(#[$doc])*
        #[inline(always)]
        pub fn $back(value: c_int) -> c_int {
            match value {
                $($standard => $second,)*
                _ => value,
            }
        }
    )*};
}

// Both sides have the same numbers, so that a number without a meaning gets none.
maps! {
    /// A rank that a message goes to: `MPI_PROC_NULL`, and what means nothing.
    standard_rank, rank_of: -1 = -3, -3 = -1;
    /// A rank that a message comes from: `MPI_PROC_NULL`, `MPI_ANY_SOURCE`, and what means nothing.
    standard_source, source_of: -1 = -3, -2 = -1, -3 = -2;
    /// A tag: `MPI_ANY_TAG`, and what means nothing.
    standard_tag, tag_of: -1 = -2, -2 = -1;
}

const _: () = assert!(
    abi::MPI_PROC_NULL == -3 && abi::MPI_ANY_SOURCE == -1 && abi::MPI_ANY_TAG == -2,
    "the right side of the maps"
);

/// The error classes, by their number in the standard's interface.
const CLASSES: [u8; 63] = [
    0, 1, 2, 3, 4, 5, 6, 19, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 17, 20, 21, 53, 22, 46, 23,
    52, 24, 25, 26, 27, 29, 31, 30, 28, 32, 48, 47, 33, 34, 35, 36, 37, 38, 39, 40, 56, 49, 55, 57,
    50, 41, 51, 42, 43, 44, 45, 58, 76, 77, 75, 80, 81,
];

/// The code of the second interface for one of the standard's.
#[inline(always)]
pub fn code_of(code: c_int) -> c_int {
    if code == abi::MPI_SUCCESS {
        return code;
    }
    code_of_error(code)
}

#[cold]
fn code_of_error(code: c_int) -> c_int {
    let class = usize::try_from(code)
        .ok()
        .and_then(|code| CLASSES.get(code));
    class.map_or(code, |class| c_int::from(*class))
}

/// The standard's code for one of the second interface.
pub fn standard_code(code: c_int) -> c_int {
    let place = CLASSES.iter().position(|class| c_int::from(*class) == code);
    place.map_or(code, |place| {
        c_int::try_from(place).expect("fewer than 63 classes")
    })
}

macro_rules! predefined {
    ($($name:ident = $number:literal;)*) => {
        const PREDEFINED: &[(u32, Handle)] = &[$(($number, abi::$name)),*];

        /// The standard's handle of a predefined object.
        #[inline(always)]
        pub fn standard_predefined(number: u32) -> Option<Handle> {
            Some(match number {
                $($number => abi::$name,)*
                _ => return None,
            })
        }

        /// The number of a predefined object.
        #[inline(always)]
        pub fn predefined(handle: Handle) -> Option<u32> {
            Some(match handle {
                $(abi::$name => $number,)*
                _ => return None,
            })
        }
    };
}

/// Predefined objects by the object in their number, then by its lowest bits; but for the null
/// handles. All numbers of a place that is empty differ from it in a bit.
static PLACES: [[(u32, u32); PLACE_MASK as usize + 1]; 16] = places();

const PLACE_MASK: u32 = 127;

const fn places() -> [[(u32, u32); PLACE_MASK as usize + 1]; 16] {
    let mut row = [(0, 0); PLACE_MASK as usize + 1];
    let mut place = 0;
    while place < row.len() {
        row[place].0 = place as u32 ^ 1;
        place += 1;
    }
    let mut places = [row; 16];
    let mut rest = PREDEFINED;
    while let [(number, handle), others @ ..] = rest {
        if *number >> 30 == 1 {
            places[(*number >> 26 & 15) as usize][(*number & PLACE_MASK) as usize] =
                (*number, handle.0 as u32);
        }
        rest = others;
    }
    places
}

/// The standard's handle of a predefined object of this kind that is not null.
#[inline(always)]
pub fn standard_built_in(object: u32, number: u32) -> Option<Handle> {
    let (known, handle) = PLACES[object as usize][(number & PLACE_MASK) as usize];
    (known == number).then_some(Handle(handle as usize))
}

predefined! {
    MPI_COMM_NULL = 0x0400_0000;
    MPI_COMM_WORLD = 0x4400_0000;
    MPI_COMM_SELF = 0x4400_0001;
    MPI_DATATYPE_NULL = 0x0c00_0000;
    MPI_CHAR = 0x4c00_0101;
    MPI_BYTE = 0x4c00_010d;
    MPI_INT = 0x4c00_0405;
    MPI_LONG = 0x4c00_0807;
    MPI_DOUBLE = 0x4c00_080b;
    MPI_ERRHANDLER_NULL = 0x1400_0000;
    MPI_ERRORS_ARE_FATAL = 0x5400_0000;
    MPI_ERRORS_RETURN = 0x5400_0001;
    MPI_ERRORS_ABORT = 0x5400_0003;
    MPI_REQUEST_NULL = 0x2c00_0000;
}
