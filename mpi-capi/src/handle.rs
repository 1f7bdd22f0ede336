//! Handles of objects that the program makes: kind, generation and index in one word.
//!
//! ```text
//!  63   60 59                      28 27                0
//! +-------+--------------------------+-------------------+
//! | kind  |        generation        |       index       |
//! +-------+--------------------------+-------------------+
//! ```
//!
//! The kind is never zero, so such a handle is neither one of the standard's constants nor an
//! address of the program. A place of the table gets a new generation each time it is filled: a
//! handle that was freed, or never was one, is found out and not followed.

use core::ffi::c_int;
use core::fmt;

use crate::abi::Handle;

/// Kinds of object with a table of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `MPI_Comm`
    Comm = 1,
    /// `MPI_Datatype`
    Datatype,
    /// `MPI_Errhandler`
    Errhandler,
    /// `MPI_Group`
    Group,
    /// `MPI_Info`
    Info,
    /// `MPI_Message`
    Message,
    /// `MPI_Op`
    Op,
    /// `MPI_Request`
    Request,
    /// `MPI_T_cvar_handle`
    CvarHandle,
    /// `MPI_T_pvar_handle`
    PvarHandle,
    /// `MPI_T_pvar_session`
    PvarSession,
    /// `MPI_T_event_registration`
    EventRegistration,
    /// `MPI_T_event_instance`
    EventInstance,
    /// `MPI_Session`
    Session,
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

const INDEX_BITS: u32 = 28;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;

impl Key {
    /// The handle of this key.
    #[inline]
    pub fn handle(self, kind: Kind) -> Handle {
        assert!(
            self.index <= INDEX_MASK,
            "fewer than 2^28 objects of a kind at a time"
        );
        let generation = u64::from(self.generation) << INDEX_BITS;
        Handle(((kind as u64) << 60 | generation | u64::from(self.index)) as usize)
    }

    /// Takes a handle apart, if it is one of this kind.
    #[inline]
    pub fn of(handle: Handle, kind: Kind) -> Option<Self> {
        let word = handle.0 as u64;
        let key = Self {
            index: word as u32 & INDEX_MASK,
            generation: (word >> INDEX_BITS) as u32,
        };
        (word >> 60 == kind as u64).then_some(key)
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

    /// The index and the short generation behind an integer.
    pub fn from_int(int: c_int) -> Option<(u32, u32)> {
        let word = int.cast_unsigned();
        (int < 0).then_some((
            word & SHORT_INDEX_MASK,
            word >> SHORT_INDEX_BITS & SHORT_GENERATION_MASK,
        ))
    }
}

const SHORT_INDEX_BITS: u32 = 20;
const SHORT_INDEX_MASK: u32 = (1 << SHORT_INDEX_BITS) - 1;
const SHORT_GENERATION_MASK: u32 = (1 << 11) - 1;

/// The objects of one kind.
#[derive(Debug)]
pub struct Table<T> {
    kind: Kind,
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    object: Option<T>,
}

impl<T> Table<T> {
    /// An empty table.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Keeps `object` and names it.
    pub fn insert(&mut self, object: T) -> Handle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                object: None,
            });
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 objects of a kind")
        });
        let place = &mut self.places[index as usize];
        place.object = Some(object);
        Key {
            index,
            generation: place.generation,
        }
        .handle(self.kind)
    }

    /// The object named `handle`.
    ///
    /// # Errors
    /// The handle is foreign or freed.
    pub fn get(&self, handle: Handle) -> Result<&T, Unusable> {
        let key = Key::of(handle, self.kind).ok_or(Unusable::Foreign(handle))?;
        let place = self
            .places
            .get(key.index as usize)
            .ok_or(Unusable::Foreign(handle))?;
        match &place.object {
            Some(object) if place.generation == key.generation => Ok(object),
            _ => Err(Unusable::Freed(handle)),
        }
    }

    /// As [`Table::get`], to change it.
    ///
    /// # Errors
    /// The handle is foreign or freed.
    pub fn get_mut(&mut self, handle: Handle) -> Result<&mut T, Unusable> {
        self.get(handle)?;
        let key = Key::of(handle, self.kind).expect("checked by get");
        Ok(self.places[key.index as usize]
            .object
            .as_mut()
            .expect("checked by get"))
    }

    /// Gives up the object named `handle`.
    ///
    /// # Errors
    /// The handle is foreign or freed.
    pub fn remove(&mut self, handle: Handle) -> Result<T, Unusable> {
        self.get(handle)?;
        let key = Key::of(handle, self.kind).expect("checked by get");
        let place = &mut self.places[key.index as usize];
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.index);
        Ok(place.object.take().expect("checked by get"))
    }

    /// The handle behind an integer that `Key::to_int` made, if its object still exists.
    pub fn find_int(&self, int: c_int) -> Option<Handle> {
        let (index, short) = Key::from_int(int)?;
        let place = self.places.get(index as usize)?;
        (place.object.is_some() && place.generation & SHORT_GENERATION_MASK == short).then(|| {
            Key {
                index,
                generation: place.generation,
            }
            .handle(self.kind)
        })
    }

    /// The objects that exist, with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.places.iter().zip(0..).filter_map(|(place, index)| {
            let key = Key {
                index,
                generation: place.generation,
            };
            place
                .object
                .as_ref()
                .map(|object| (key.handle(self.kind), object))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::LAST_RESERVED_HANDLE;

    #[test]
    fn a_made_handle_is_none_of_the_standards() {
        let mut table = Table::new(Kind::Comm);
        assert!(table.insert(()).0 > LAST_RESERVED_HANDLE);
    }

    #[test]
    fn a_freed_handle_is_found_out_even_when_its_place_is_filled_again() {
        let mut table = Table::new(Kind::Info);
        let first = table.insert("first");
        assert_eq!(table.remove(first), Ok("first"));
        assert_eq!(table.get(first), Err(Unusable::Freed(first)));
        let second = table.insert("second");
        assert_ne!(first, second);
        assert_eq!(table.get(first), Err(Unusable::Freed(first)));
        assert_eq!(table.remove(first), Err(Unusable::Freed(first)));
        assert_eq!(table.get(second), Ok(&"second"));
    }

    #[test]
    fn garbage_and_handles_of_another_kind_are_foreign() {
        let mut infos = Table::new(Kind::Info);
        let info = infos.insert(());
        let comms: Table<()> = Table::new(Kind::Comm);
        for handle in [
            info,
            Handle(0),
            Handle(0xdead_beef),
            Handle(0x7fff_dead_beef),
        ] {
            assert_eq!(comms.get(handle), Err(Unusable::Foreign(handle)));
        }
        let beyond = Key {
            index: 77,
            generation: 0,
        }
        .handle(Kind::Info);
        assert_eq!(infos.get(beyond), Err(Unusable::Foreign(beyond)));
    }

    #[test]
    fn a_handle_survives_its_serialization() {
        let mut table = Table::new(Kind::Group);
        let old = table.insert(());
        table.remove(old).expect("just inserted");
        let handle = table.insert(());
        let int = Key::of(handle, Kind::Group)
            .and_then(Key::to_int)
            .expect("a small index");
        assert!(int < 0);
        assert_eq!(table.find_int(int), Some(handle));
        let stale = Key::of(old, Kind::Group)
            .and_then(Key::to_int)
            .expect("a small index");
        assert_eq!(table.find_int(stale), None);
    }
}
