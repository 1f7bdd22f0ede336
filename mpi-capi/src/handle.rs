//! Handles of objects that the program makes: kind, generation and index in one word.
//!
//! ```text
//!  63   59 58               32 31                       0
//! +-------+-------------------+--------------------------+
//! | kind  |       index       |        generation        |
//! +-------+-------------------+--------------------------+
//! ```
//!
//! The kind is never zero, so such a handle is neither one of the standard's constants nor an
//! address of the program. A place of the table gets a new generation each time it is filled: a
//! handle that was freed, or never was one, is found out and not followed.

use core::ffi::c_int;
use core::fmt;

use crate::abi::Handle;

macro_rules! kinds {
    ($($kind:ident = $spelling:literal;)*) => {
        /// Kinds of object that handles name, from 1.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind {
            $(#[doc = concat!("`", $spelling, "`")] $kind,)*
        }

        impl Kind {
            const ALL: &[Self] = &[$(Self::$kind),*];

            const fn number(self) -> u64 {
                self as u64 + 1
            }
        }
    };
}

kinds! {
    Comm = "MPI_Comm";
    Datatype = "MPI_Datatype";
    Errhandler = "MPI_Errhandler";
    File = "MPI_File";
    Group = "MPI_Group";
    Info = "MPI_Info";
    Message = "MPI_Message";
    Op = "MPI_Op";
    Request = "MPI_Request";
    Session = "MPI_Session";
    Win = "MPI_Win";
    CvarHandle = "MPI_T_cvar_handle";
    PvarHandle = "MPI_T_pvar_handle";
    PvarSession = "MPI_T_pvar_session";
    EventRegistration = "MPI_T_event_registration";
    EventInstance = "MPI_T_event_instance";
}

/// Why a handle cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// The null handle of its kind, by name.
    Null(&'static str),
    /// A predefined object, by name, that exists in the world model only.
    OfWorld(&'static str),
    /// Nothing that this library handed out as this kind of handle.
    Foreign(Handle),
    /// The object is gone.
    Freed(Handle),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null(name) => write!(f, "{name}"),
            Self::OfWorld(name) => write!(f, "{name}, which exists from MPI_Init on"),
            Self::Foreign(handle) => write!(f, "{:#x}, which is not such a handle", handle.0),
            Self::Freed(handle) => {
                write!(
                    f,
                    "{:#x}, a handle that was freed or has completed",
                    handle.0
                )
            }
        }
    }
}

/// A handle taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Place in the table.
    pub index: u32,
    /// Which of the objects that were at this place.
    pub generation: u32,
}

/// Generations have all of mpi-lite's 32 bits: those of requests are its own.
const INDEX_BITS: u32 = 27;
const KIND_SHIFT: u32 = INDEX_BITS + u32::BITS;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;

impl Key {
    /// The handle of this key.
    #[inline]
    pub fn handle(self, kind: Kind) -> Handle {
        assert!(
            self.index <= INDEX_MASK,
            "fewer than 2^27 objects of a kind at a time"
        );
        let index = u64::from(self.index) << u32::BITS;
        Handle((kind.number() << KIND_SHIFT | index | u64::from(self.generation)) as usize)
    }

    /// Takes a handle apart, if it is one of this kind.
    #[inline]
    pub fn of(handle: Handle, kind: Kind) -> Option<Self> {
        let is_its = handle.0 as u64 >> KIND_SHIFT == kind.number();
        is_its.then_some(Self::of_any(handle))
    }

    /// Takes a handle apart whose kind is known.
    #[inline(always)]
    pub fn of_any(handle: Handle) -> Self {
        let word = handle.0 as u64;
        Self {
            index: (word >> u32::BITS) as u32 & INDEX_MASK,
            generation: word as u32,
        }
    }

    /// The kind that a handle says it is of; `None` if this library has made no such handle.
    pub fn kind_of(handle: Handle) -> Option<Kind> {
        let kind = (handle.0 as u64 >> KIND_SHIFT) as usize;
        Kind::ALL.get(kind.wrapping_sub(1)).copied()
    }

    /// The integer that serializes a handle: negative, so that it is none of the standard's, with
    /// eleven bits of the generation and twenty of the index. `None` if the index needs more.
    ///
    /// Source: MPI 5.0, chapter 20, conversion functions.
    pub fn to_int(self) -> Option<c_int> {
        let short = self.generation & SHORT_GENERATION_MASK;
        (self.index <= SHORT_INDEX_MASK)
            .then_some((1 << 31 | short << SHORT_INDEX_BITS | self.index).cast_signed())
    }

    /// The place that an integer of [`Key::to_int`] names.
    pub fn place_of_int(int: c_int) -> Option<u32> {
        (int < 0).then_some(int.cast_unsigned() & SHORT_INDEX_MASK)
    }
}

const SHORT_INDEX_BITS: u32 = 20;
const SHORT_INDEX_MASK: u32 = (1 << SHORT_INDEX_BITS) - 1;
const SHORT_GENERATION_MASK: u32 = (1 << 11) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_tells_its_kind_whatever_its_generation() {
        for kind in Kind::ALL.iter().copied() {
            let (index, generation) = (INDEX_MASK, u32::MAX);
            let key = Key { index, generation };
            assert_eq!(Key::kind_of(key.handle(kind)), Some(kind));
            assert_eq!(Key::of(key.handle(kind), kind), Some(key));
        }
        for none in [0, 1, 0x7fff_dead_beef, usize::MAX] {
            assert_eq!(Key::kind_of(Handle(none)), None);
        }
    }
}
