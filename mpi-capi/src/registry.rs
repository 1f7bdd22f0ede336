//! The registry: the objects of the program by handle, in one table for each kind.
//!
//! Each table has a lock of its own, and lies beside the type of its objects; the registry knows
//! none of them. `registered!` makes a table.

use core::ffi::c_int;

use parking_lot::Mutex;

use crate::abi::Handle;
use crate::handle::{Key, Unusable};
use crate::object::Object;

/// An object whose kind has a table for the whole process.
pub trait Registered: Object {
    /// All objects of the kind.
    fn table() -> &'static Mutex<Table<Self>>;
}

/// Makes a type the one of objects of a kind, and their table: of the objects themselves, or of
/// counted references to objects whose field has the error handler in charge.
macro_rules! registered {
    ($object:ty: $kind:ident) => {
        impl $crate::object::Object for $object {
            const KIND: $crate::handle::Kind = $crate::handle::Kind::$kind;
        }

        $crate::registry::registered!(@table $object);
    };
    ($object:ty: $kind:ident, counted, $errhandler:ident) => {
        impl $crate::object::Object for std::sync::Arc<$object> {
            const KIND: $crate::handle::Kind = $crate::handle::Kind::$kind;

            fn handler(&self) -> Option<$crate::abi::Handle> {
                Some(self.$errhandler.get())
            }
        }

        $crate::registry::registered!(@table std::sync::Arc<$object>);
    };
    (@table $object:ty) => {
        impl $crate::registry::Registered for $object {
            #[inline(always)]
            fn table() -> &'static parking_lot::Mutex<$crate::registry::Table<Self>> {
                static TABLE: parking_lot::Mutex<$crate::registry::Table<$object>> =
                    parking_lot::Mutex::new($crate::registry::Table::new());
                &TABLE
            }
        }
    };
}

pub(crate) use registered;

/// Keeps `object` and names it.
pub fn insert<T: Registered>(object: T) -> Handle {
    T::table().lock().insert(object)
}

/// A copy of the object named `handle`, or one more reference to it.
///
/// # Errors
/// The handle is foreign or freed.
#[inline]
pub fn get<T: Registered + Clone>(handle: Handle) -> Result<T, Unusable> {
    T::table().lock().get(handle).cloned()
}

/// Gives up the object named `handle`.
///
/// # Errors
/// The handle is foreign or freed.
pub fn remove<T: Registered>(handle: Handle) -> Result<T, Unusable> {
    T::table().lock().remove(handle)
}

/// The objects of one kind.
#[derive(Debug)]
pub struct Table<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    object: Option<T>,
}

impl<T: Object> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Object> Table<T> {
    /// An empty table.
    pub const fn new() -> Self {
        Self {
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
        .handle(T::KIND)
    }

    /// The object named `handle`.
    ///
    /// # Errors
    /// The handle is foreign or freed.
    pub fn get(&self, handle: Handle) -> Result<&T, Unusable> {
        let key = Key::of(handle, T::KIND).ok_or(Unusable::Foreign(handle))?;
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
        let key = Key::of(handle, T::KIND).expect("checked by get");
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
        let key = Key::of(handle, T::KIND).expect("checked by get");
        let place = &mut self.places[key.index as usize];
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.index);
        Ok(place.object.take().expect("checked by get"))
    }

    /// The handle behind an integer that `Key::to_int` made, if its object still exists.
    pub fn find_int(&self, int: c_int) -> Option<Handle> {
        let index = Key::place_of_int(int)?;
        let place = self.places.get(index as usize)?;
        let generation = place.generation;
        let key = Key { index, generation };
        (place.object.is_some() && key.to_int() == Some(int)).then(|| key.handle(T::KIND))
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
                .map(|object| (key.handle(T::KIND), object))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::LAST_RESERVED_HANDLE;
    use crate::handle::Kind;

    impl Object for &'static str {
        const KIND: Kind = Kind::Info;
    }

    impl Object for () {
        const KIND: Kind = Kind::Group;
    }

    #[test]
    fn a_made_handle_is_none_of_the_standards() {
        let mut table = Table::<()>::new();
        assert!(table.insert(()).0 > LAST_RESERVED_HANDLE);
    }

    #[test]
    fn a_freed_handle_is_found_out_even_when_its_place_is_filled_again() {
        let mut table = Table::new();
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
        let mut infos = Table::new();
        let info = infos.insert("info");
        let groups = Table::<()>::new();
        for handle in [
            info,
            Handle(0),
            Handle(0xdead_beef),
            Handle(0x7fff_dead_beef),
        ] {
            assert_eq!(groups.get(handle), Err(Unusable::Foreign(handle)));
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
        let mut table = Table::<()>::new();
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
