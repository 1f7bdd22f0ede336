//! Handles of the second interface: C `int`s.
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
//! the way back takes no lock and finds out a handle that was freed, but for one of 64.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use mpi_lite::engine::Request;

use super::constants::{predefined, standard_built_in, standard_predefined};
use crate::abi::Handle;
use crate::handle::{Key, Kind};
use crate::objects::request;

const INDEX_BITS: u32 = 20;
const GENERATION_BITS: u32 = 6;
const OBJECT_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;

/// The two highest bits of an object that the program made.
const MADE: u32 = 2;

/// The request of each send that was complete at once. It is never stale, so it has no generation.
const SENT: u32 = 0x6c00_0001;

/// The bit above all numbers: such a handle is none of the standard's, nor of the library's.
const UNKNOWN: usize = 1 << 32;

/// Indices whose generations are noted in one piece.
const PIECE: usize = 4096;
const PIECES: usize = (1 << INDEX_BITS) / PIECE;
const KINDS: usize = 16;

type Piece = OnceLock<Box<[AtomicU32]>>;

static NEWEST: [[Piece; PIECES]; KINDS] = [const { [const { OnceLock::new() }; PIECES] }; KINDS];

/// The number of a kind of object.
#[inline(always)]
fn object_of(kind: Kind) -> u32 {
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
        _ => unreachable!("files and handles of the tool interface are pointers"),
    }
}

fn sent() -> Handle {
    request::handle_of(Request::SENT)
}

/// The number of a handle.
#[inline]
pub fn number_of(kind: Kind, handle: Handle) -> c_int {
    let number = predefined(handle).unwrap_or_else(|| number_of_made(kind, handle));
    number.cast_signed()
}

fn number_of_made(kind: Kind, handle: Handle) -> u32 {
    let Some(Key { index, generation }) = Key::of(handle, kind) else {
        return object_of(kind) << OBJECT_SHIFT;
    };
    if handle == sent() {
        return SENT;
    }
    assert!(
        index <= INDEX_MASK,
        "fewer than 2^20 objects of a kind at a time"
    );
    let piece = NEWEST[kind as usize][index as usize / PIECE]
        .get_or_init(|| (0..PIECE).map(|_| AtomicU32::new(0)).collect());
    piece[index as usize % PIECE].store(generation, Ordering::Relaxed);
    let short = generation & GENERATION_MASK;
    (MADE << 4 | object_of(kind)) << OBJECT_SHIFT | short << INDEX_BITS | index
}

/// The standard's handle behind a number. A number that is no handle of this kind becomes a handle
/// that is none either.
#[inline(always)]
pub fn standard_handle(kind: Kind, number: c_int) -> Handle {
    let number = number.cast_unsigned();
    standard_built_in(object_of(kind), number).unwrap_or_else(|| other_handle(kind, number))
}

#[inline(never)]
fn other_handle(kind: Kind, number: u32) -> Handle {
    made(kind, number)
        .or_else(|| standard_predefined(number))
        .unwrap_or(Handle(UNKNOWN | number as usize))
}

#[inline(always)]
fn made(kind: Kind, number: u32) -> Option<Handle> {
    if number >> OBJECT_SHIFT != MADE << 4 | object_of(kind) {
        return (number == SENT && kind == Kind::Request).then(sent);
    }
    let index = number & INDEX_MASK;
    let piece = NEWEST[kind as usize][index as usize / PIECE].get()?;
    let newest = piece[index as usize % PIECE].load(Ordering::Relaxed);
    // The newest generation that has these bits.
    let short = number >> INDEX_BITS & GENERATION_MASK;
    let older = newest.wrapping_sub(short) & GENERATION_MASK;
    let generation = newest.wrapping_sub(older);
    Some(Key { index, generation }.handle(kind))
}

#[test]
fn a_handle_comes_back_whole_and_a_freed_one_does_not() {
    for generation in [0, 5, 63, 64, 100_000] {
        let key = Key {
            index: 70_001,
            generation,
        };
        let handle = key.handle(Kind::Group);
        let number = number_of(Kind::Group, handle);
        assert_eq!(standard_handle(Kind::Group, number), handle);
        assert_ne!(standard_handle(Kind::Info, number), handle);
        let generation = generation + 1;
        let next = Key { generation, ..key }.handle(Kind::Group);
        let next_number = number_of(Kind::Group, next);
        assert_eq!(standard_handle(Kind::Group, next_number), next);
        assert_eq!(standard_handle(Kind::Group, number), handle);
    }
}
