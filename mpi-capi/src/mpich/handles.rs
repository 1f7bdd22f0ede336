//! MPICH's handles: C `int`s.
//!
//! ```text
//!  31 30 29      26 25        20 19                    0
//! +-----+----------+------------+-----------------------+
//! | 2   |  object  | generation |         index         |
//! +-----+----------+------------+-----------------------+
//! ```
//!
//! The index is that of the standard's handle, the generation its lowest six bits. The whole
//! generation of the newest handle of each index is noted when the handle is given to the program:
//! the way back takes no lock and finds out a handle that was freed, but for one of 64. An index of
//! more than 20 bits has 3 in the two highest bits and no generation. Predefined objects have 1
//! there, but for five pairs of different lengths, null handles 0.
#![expect(
    unsafe_code,
    reason = "pieces of a table are made once and never freed"
)]

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use mpi_lite::engine::Request;

use crate::abi::{self, Handle};
use crate::global::LIBRARY;
use crate::handle::{Key, Kind};
use crate::objects::request;

const INDEX_BITS: u32 = 20;
const GENERATION_BITS: u32 = 6;
const OBJECT_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;

/// The bits of an index without a generation.
const LONG_MASK: u32 = (1 << OBJECT_SHIFT) - 1;

/// The two highest bits of an object that the program made.
const MADE: u32 = 2;

/// The two highest bits of an object that the program made while it had 2^20 of its kind.
const MADE_LONG: u32 = 3;

/// The request of each send that was complete at once. It is never stale, so it has no generation.
const SENT: u32 = 0x6c00_0001;

/// Numbers of the made datatypes begin behind those of the five pairs.
const PAIRS: u32 = 8;

/// The bit above all numbers: such a handle is none of the standard's, nor of the library's.
const UNKNOWN: usize = 1 << 32;

/// Indices whose generations are noted in one piece.
const PIECE: usize = 4096;
const PIECES: usize = (1 << OBJECT_SHIFT) / PIECE;
const KINDS: usize = 16;

/// A piece that is never freed, or null.
type Piece = AtomicPtr<[AtomicU32; PIECE]>;

static NEWEST: [[Piece; PIECES]; KINDS] =
    [const { [const { Piece::new(ptr::null_mut()) }; PIECES] }; KINDS];

/// The place of the newest generation of a number of this kind, if one was given to the program.
#[inline(always)]
fn newest(kind: Kind, place: u32) -> Option<&'static AtomicU32> {
    let piece = NEWEST[kind as usize][place as usize / PIECE].load(Ordering::Acquire);
    // SAFETY: it is null, or `make_piece` has made and leaked it.
    let piece = unsafe { piece.as_ref() }?;
    Some(&piece[place as usize % PIECE])
}

/// Makes the piece of a number, unless another thread does at the same time.
#[cold]
fn make_piece(kind: Kind, place: u32) {
    let made = Box::into_raw(Box::new([const { AtomicU32::new(0) }; PIECE]));
    let piece = &NEWEST[kind as usize][place as usize / PIECE];
    let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
    if piece
        .compare_exchange(ptr::null_mut(), made, success, failure)
        .is_err()
    {
        // SAFETY: it is the box of a few lines above, which nobody else has seen.
        drop(unsafe { Box::from_raw(made) });
    }
}

/// The number of a kind of object.
#[inline(always)]
const fn object_of(kind: Kind) -> u32 {
    match kind {
        Kind::Comm => 1,
        Kind::Group => 2,
        Kind::Datatype => 3,
        Kind::Errhandler => 5,
        Kind::Op => 6,
        Kind::Info => 7,
        Kind::Win => 8,
        Kind::Request | Kind::Message => 11,
        Kind::Session => 14,
        _ => panic!("files and handles of the tool interface are pointers"),
    }
}

/// The standard's null handle of a kind.
const fn null_of(kind: Kind) -> Handle {
    match kind {
        Kind::Comm => abi::MPI_COMM_NULL,
        Kind::Group => abi::MPI_GROUP_NULL,
        Kind::Datatype => abi::MPI_DATATYPE_NULL,
        Kind::Errhandler => abi::MPI_ERRHANDLER_NULL,
        Kind::Op => abi::MPI_OP_NULL,
        Kind::Info => abi::MPI_INFO_NULL,
        Kind::Win => abi::MPI_WIN_NULL,
        Kind::Request => abi::MPI_REQUEST_NULL,
        Kind::Message => abi::MPI_MESSAGE_NULL,
        _ => abi::MPI_SESSION_NULL,
    }
}

/// The number of the null handle of a kind.
pub const fn null_number(kind: Kind) -> c_int {
    (object_of(kind) << OBJECT_SHIFT).cast_signed()
}

fn sent() -> Handle {
    request::handle_of(Request::SENT)
}

/// The number of a handle.
#[inline(never)]
pub fn number_of(kind: Kind, handle: Handle) -> c_int {
    let number = match Key::of(handle, kind) {
        Some(_) if handle == sent() => SENT,
        Some(key) => number_of_made(kind, key),
        None => predefined(handle).unwrap_or(object_of(kind) << OBJECT_SHIFT),
    };
    number.cast_signed()
}

fn number_of_made(kind: Kind, Key { index, generation }: Key) -> u32 {
    let number = index + first_number(kind);
    if number > LONG_MASK {
        let line = format!("mpi-lite: more than {LONG_MASK} objects of one kind at a time");
        LIBRARY.abort(1, &line);
    }
    if newest(kind, number).is_none() {
        make_piece(kind, number);
    }
    let newest = newest(kind, number).expect("its piece was made");
    // A handle that was freed may be given once more: the program has a newer one.
    let later = newest.load(Ordering::Relaxed).wrapping_sub(generation);
    if !(1..=GENERATION_MASK).contains(&later) {
        newest.store(generation, Ordering::Relaxed);
    }
    if number > INDEX_MASK {
        return (MADE_LONG << 4 | object_of(kind)) << OBJECT_SHIFT | number;
    }
    let short = generation & GENERATION_MASK;
    (MADE << 4 | object_of(kind)) << OBJECT_SHIFT | short << INDEX_BITS | number
}

#[inline(always)]
const fn first_number(kind: Kind) -> u32 {
    match kind {
        Kind::Datatype => PAIRS,
        _ => 0,
    }
}

/// The standard's handle behind a number. A number that is no handle of this kind becomes a handle
/// that is none either.
#[inline(never)]
pub fn standard_handle(kind: Kind, number: c_int) -> Handle {
    let number = number.cast_unsigned();
    built_in(object_of(kind), number).unwrap_or_else(|| other_handle(kind, number))
}

/// As [`standard_handle`], for a request: that of a send that is over is found at once.
#[inline(always)]
pub fn request(kind: Kind, number: c_int) -> Handle {
    if number.cast_unsigned() == SENT {
        return sent();
    }
    standard_handle(kind, number)
}

/// Returns true for the number of `MPI_COMM_WORLD`.
#[inline(always)]
pub fn is_world(number: c_int) -> bool {
    number.cast_unsigned() == 0x4400_0000
}

/// The standard's handle of it.
#[inline(always)]
pub fn world(_number: c_int) -> Handle {
    abi::MPI_COMM_WORLD
}

/// Returns true for the number of a built-in datatype.
#[inline(always)]
pub fn is_built_in_datatype(number: c_int) -> bool {
    built_in(object_of(Kind::Datatype), number.cast_unsigned()).is_some()
}

/// The standard's handle of one of these.
///
/// # Safety
/// `is_built_in_datatype` has returned true.
#[inline(always)]
pub unsafe fn built_in_datatype(number: c_int) -> Handle {
    let row = &PLACES[object_of(Kind::Datatype) as usize];
    let (_, handle) = row[(number.cast_unsigned() & PLACE_MASK) as usize];
    let handle = Handle(handle as usize);
    // SAFETY: the caller says so; all datatypes of the table are the standard's.
    unsafe {
        core::hint::assert_unchecked(
            handle.0 > abi::MPI_DATATYPE_NULL.0 && handle.0 <= abi::LAST_RESERVED_HANDLE,
        );
    }
    handle
}

#[inline(never)]
fn other_handle(kind: Kind, number: u32) -> Handle {
    if number == object_of(kind) << OBJECT_SHIFT {
        return null_of(kind);
    }
    made(kind, number).unwrap_or(Handle(UNKNOWN | number as usize))
}

#[inline(always)]
fn made(kind: Kind, number: u32) -> Option<Handle> {
    if number >> OBJECT_SHIFT != MADE << 4 | object_of(kind) {
        return made_long(kind, number);
    }
    let place = number & INDEX_MASK;
    let Some(index) = place.checked_sub(first_number(kind)) else {
        let pair = PREDEFINED.iter().find(|(pair, _)| *pair == number);
        return pair.map(|(_, handle)| *handle);
    };
    let newest = newest(kind, place)?.load(Ordering::Relaxed);
    // The newest generation that has these bits.
    let short = number >> INDEX_BITS & GENERATION_MASK;
    let older = newest.wrapping_sub(short) & GENERATION_MASK;
    let generation = newest.wrapping_sub(older);
    Some(Key { index, generation }.handle(kind))
}

/// The handles that are neither built in nor made with a generation.
#[cold]
fn made_long(kind: Kind, number: u32) -> Option<Handle> {
    if number >> OBJECT_SHIFT != MADE_LONG << 4 | object_of(kind) {
        return (number == SENT && kind == Kind::Request).then(sent);
    }
    let place = number & LONG_MASK;
    let generation = newest(kind, place)?.load(Ordering::Relaxed);
    let index = place.checked_sub(first_number(kind))?;
    (place > INDEX_MASK).then(|| Key { index, generation }.handle(kind))
}

/// Built-in objects by the object in their number, then by its lowest bits. All numbers of a place
/// that is empty differ from it in a bit.
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

/// The standard's handle of a built-in object of this kind.
#[inline(always)]
pub fn built_in(object: u32, number: u32) -> Option<Handle> {
    let (known, handle) = PLACES[object as usize][(number & PLACE_MASK) as usize];
    (known == number).then_some(Handle(handle as usize))
}

macro_rules! predefined {
    ($($name:ident = $number:literal;)*) => {
        const PREDEFINED: &[(u32, Handle)] = &[$(($number, abi::$name)),*];

        /// The number of a predefined object.
        fn predefined(handle: Handle) -> Option<u32> {
            Some(match handle {
                $(abi::$name => $number,)*
                _ => return None,
            })
        }

        /// All of them by name.
        #[cfg(test)]
        pub const NAMED: &[(&str, u32, Handle)] =
            &[$((stringify!($name), $number, abi::$name)),*];
    };
}

predefined! {
    MPI_COMM_NULL = 0x0400_0000;
    MPI_COMM_WORLD = 0x4400_0000;
    MPI_COMM_SELF = 0x4400_0001;
    MPI_DATATYPE_NULL = 0x0c00_0000;
    MPI_AINT = 0x4c00_0843;
    MPI_COUNT = 0x4c00_0845;
    MPI_OFFSET = 0x4c00_0844;
    MPI_PACKED = 0x4c00_010f;
    MPI_SHORT = 0x4c00_0203;
    MPI_INT = 0x4c00_0405;
    MPI_LONG = 0x4c00_0807;
    MPI_LONG_LONG_INT = 0x4c00_0809;
    MPI_UNSIGNED_SHORT = 0x4c00_0204;
    MPI_UNSIGNED = 0x4c00_0406;
    MPI_UNSIGNED_LONG = 0x4c00_0808;
    MPI_UNSIGNED_LONG_LONG = 0x4c00_0819;
    MPI_FLOAT = 0x4c00_040a;
    MPI_C_COMPLEX = 0x4c00_0840;
    MPI_DOUBLE = 0x4c00_080b;
    MPI_C_DOUBLE_COMPLEX = 0x4c00_1041;
    MPI_LONG_DOUBLE = 0x4c00_100c;
    MPI_C_LONG_DOUBLE_COMPLEX = 0x4c00_2042;
    MPI_C_BOOL = 0x4c00_013f;
    MPI_WCHAR = 0x4c00_040e;
    MPI_INT8_T = 0x4c00_0137;
    MPI_UINT8_T = 0x4c00_013b;
    MPI_CHAR = 0x4c00_0101;
    MPI_SIGNED_CHAR = 0x4c00_0118;
    MPI_UNSIGNED_CHAR = 0x4c00_0102;
    MPI_BYTE = 0x4c00_010d;
    MPI_INT16_T = 0x4c00_0238;
    MPI_UINT16_T = 0x4c00_023c;
    MPI_INT32_T = 0x4c00_0439;
    MPI_UINT32_T = 0x4c00_043d;
    MPI_INT64_T = 0x4c00_083a;
    MPI_UINT64_T = 0x4c00_083e;
    MPI_LOGICAL = 0x4c00_041d;
    MPI_INTEGER = 0x4c00_041b;
    MPI_REAL = 0x4c00_041c;
    MPI_COMPLEX = 0x4c00_081e;
    MPI_DOUBLE_PRECISION = 0x4c00_081f;
    MPI_CHARACTER = 0x4c00_011a;
    MPI_CXX_FLOAT_COMPLEX = 0x4c00_0834;
    MPI_CXX_DOUBLE_COMPLEX = 0x4c00_1035;
    MPI_CXX_LONG_DOUBLE_COMPLEX = 0x4c00_2036;
    MPI_CXX_BOOL = 0x4c00_0133;
    MPI_DOUBLE_COMPLEX = 0x4c00_1022;
    MPI_LOGICAL1 = 0x4c00_0147;
    MPI_LOGICAL2 = 0x4c00_0248;
    MPI_LOGICAL4 = 0x4c00_0449;
    MPI_LOGICAL8 = 0x4c00_084a;
    MPI_LOGICAL16 = 0x4c00_104b;
    MPI_INTEGER1 = 0x4c00_012d;
    MPI_INTEGER2 = 0x4c00_022f;
    MPI_INTEGER4 = 0x4c00_0430;
    MPI_INTEGER8 = 0x4c00_0831;
    MPI_INTEGER16 = 0x4c00_1032;
    MPIX_C_FLOAT16 = 0x4c00_0246;
    MPI_REAL2 = 0x4c00_0226;
    MPI_REAL4 = 0x4c00_0427;
    MPI_REAL8 = 0x4c00_0829;
    MPI_REAL16 = 0x4c00_102b;
    MPI_COMPLEX4 = 0x4c00_042e;
    MPI_COMPLEX8 = 0x4c00_0828;
    MPI_COMPLEX16 = 0x4c00_102a;
    MPI_COMPLEX32 = 0x4c00_202c;
    MPI_FLOAT_INT = 0x8c00_0000;
    MPI_DOUBLE_INT = 0x8c00_0001;
    MPI_LONG_INT = 0x8c00_0002;
    MPI_2INT = 0x4c00_0816;
    MPI_SHORT_INT = 0x8c00_0003;
    MPI_LONG_DOUBLE_INT = 0x8c00_0004;
    MPI_2REAL = 0x4c00_0821;
    MPI_2DOUBLE_PRECISION = 0x4c00_1023;
    MPI_2INTEGER = 0x4c00_0820;
    MPI_MESSAGE_NULL = 0x2c00_0000;
    MPI_MESSAGE_NO_PROC = 0x6c00_0000;
    MPI_ERRHANDLER_NULL = 0x1400_0000;
    MPI_ERRORS_ARE_FATAL = 0x5400_0000;
    MPI_ERRORS_ABORT = 0x5400_0003;
    MPI_ERRORS_RETURN = 0x5400_0001;
    MPI_INFO_NULL = 0x1c00_0000;
    MPI_INFO_ENV = 0x5c00_0001;
    MPI_OP_NULL = 0x1800_0000;
    MPI_SUM = 0x5800_0003;
    MPI_MIN = 0x5800_0002;
    MPI_MAX = 0x5800_0001;
    MPI_PROD = 0x5800_0004;
    MPI_BAND = 0x5800_0006;
    MPI_BOR = 0x5800_0008;
    MPI_BXOR = 0x5800_000a;
    MPI_LAND = 0x5800_0005;
    MPI_LOR = 0x5800_0007;
    MPI_LXOR = 0x5800_0009;
    MPI_MINLOC = 0x5800_000b;
    MPI_MAXLOC = 0x5800_000c;
    MPI_REPLACE = 0x5800_000d;
    MPI_NO_OP = 0x5800_000e;
    MPI_GROUP_NULL = 0x0800_0000;
    MPI_GROUP_EMPTY = 0x4800_0000;
    MPI_REQUEST_NULL = 0x2c00_0000;
    MPI_SESSION_NULL = 0x3800_0000;
    MPI_WIN_NULL = 0x2000_0000;
}

#[test]
fn a_handle_comes_back_whole_and_a_freed_one_does_not() {
    for kind in [Kind::Group, Kind::Datatype, Kind::Message] {
        for (index, generation) in [(0, 0), (0, 5), (70_001, 63), (3, 64), (4, 100_000)] {
            let key = Key { index, generation };
            let handle = key.handle(kind);
            let number = number_of(kind, handle);
            assert_eq!(standard_handle(kind, number), handle);
            assert_ne!(standard_handle(Kind::Info, number), handle);
            let generation = generation + 1;
            let next = Key { generation, ..key }.handle(kind);
            let next_number = number_of(kind, next);
            assert_eq!(standard_handle(kind, next_number), next);
            assert_eq!(standard_handle(kind, number), handle);
            // One that was freed is told once more: the newer one stays what it is.
            assert_eq!(number_of(kind, handle), number);
            assert_eq!(standard_handle(kind, next_number), next);
        }
    }
}

#[test]
fn more_than_a_million_objects_of_a_kind_have_handles() {
    for index in [(1 << 20) - 1, 1 << 20, (1 << 26) - 9] {
        for generation in [0, 70] {
            let handle = Key { index, generation }.handle(Kind::Datatype);
            let number = number_of(Kind::Datatype, handle);
            assert_eq!(standard_handle(Kind::Datatype, number), handle, "{index}");
            assert_ne!(standard_handle(Kind::Request, number), handle, "{index}");
        }
    }
}
