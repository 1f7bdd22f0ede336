//! A table of things by small index, which reuses free places.

/// Things by index. Indices of removed things are given out again, the last one first.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Place<T>>,
    /// The free place to be used next; as many as there are places if none is free.
    free: u32,
    len: usize,
}

#[derive(Debug)]
enum Place<T> {
    Full(T),
    /// The free place to be used after this one.
    Free(u32),
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: 0,
            len: 0,
        }
    }
}

impl<T> Slab<T> {
    /// Puts `thing` in a free place and answers its index.
    #[inline(always)]
    pub fn insert(&mut self, thing: T) -> u32 {
        let index = self.free;
        if self.places.len() <= index as usize {
            self.extend();
        }
        self.len += 1;
        let place = &mut self.places[index as usize];
        let Place::Free(next) = *place else {
            unreachable!("the list of free places leads to free places");
        };
        self.free = next;
        *place = Place::Full(thing);
        index
    }

    /// Makes a free place. It does not get the thing that is to go there: so a thing is written
    /// where it stays, and never to the stack first.
    #[cold]
    fn extend(&mut self) {
        let next = u32::try_from(self.places.len() + 1).expect("fewer than 2^32 things at a time");
        self.places.push(Place::Free(next));
    }

    /// The index that the next `insert` will answer.
    #[inline]
    #[must_use]
    pub fn next_index(&self) -> u32 {
        self.free
    }

    /// The thing at `index`.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&T> {
        match self.places.get(index as usize) {
            Some(Place::Full(thing)) => Some(thing),
            _ => None,
        }
    }

    /// The thing at `index`.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.places.get_mut(index as usize) {
            Some(Place::Full(thing)) => Some(thing),
            _ => None,
        }
    }

    /// Takes the thing at `index` out.
    #[inline]
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let place = self.places.get_mut(index as usize)?;
        if let Place::Free(_) = place {
            return None;
        }
        let Place::Full(thing) = core::mem::replace(place, Place::Free(self.free)) else {
            return None;
        };
        self.free = index;
        self.len -= 1;
        Some(thing)
    }

    /// Drops the thing at `index`, if there is one.
    #[inline(always)]
    pub fn discard(&mut self, index: u32) {
        if let Some(place @ Place::Full(_)) = self.places.get_mut(index as usize) {
            *place = Place::Free(self.free);
            self.free = index;
            self.len -= 1;
        }
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All things with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let things = self.places.iter().zip(0..);
        things.filter_map(|(place, index)| match place {
            Place::Full(thing) => Some((index, thing)),
            Place::Free(_) => None,
        })
    }
}

/// The name of a thing in a [`Table`]: stale once the thing is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The place.
    pub index: u32,
    /// Which of the things that were at this place.
    pub generation: u32,
}

impl Key {
    /// The name that no thing ever has.
    pub const NOTHING: Self = Self {
        index: 0,
        generation: 0,
    };
}

/// A [`Slab`] whose names are not mistaken when a place is used again.
#[derive(Debug)]
pub struct Table<T> {
    slab: Slab<(u32, T)>,
    generation: u32,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            slab: Slab::default(),
            generation: 0,
        }
    }
}

impl<T> Table<T> {
    /// Puts `thing` in and answers its name.
    #[inline(always)]
    pub fn insert(&mut self, thing: T) -> Key {
        self.generation = self.generation.wrapping_add(1).max(1);
        let generation = self.generation;
        Key {
            index: self.slab.insert((generation, thing)),
            generation,
        }
    }

    /// The thing of this name, if it is still there.
    #[inline]
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&T> {
        let (generation, thing) = self.slab.get(key.index)?;
        (*generation == key.generation).then_some(thing)
    }

    /// The thing of this name, if it is still there.
    #[inline]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (generation, thing) = self.slab.get_mut(key.index)?;
        (*generation == key.generation).then_some(thing)
    }

    /// Takes the thing of this name out, if it is still there.
    #[inline]
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        self.slab.remove(key.index).map(|(_, thing)| thing)
    }

    /// Drops the thing of this name, if it is still there.
    #[inline(always)]
    pub fn discard(&mut self, key: Key) {
        if self.get(key).is_some() {
            self.slab.discard(key.index);
        }
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_name_finds_nothing_though_its_place_is_used_again() {
        let mut table = Table::default();
        let old = table.insert('a');
        assert_eq!(table.remove(old), Some('a'));
        let new = table.insert('b');
        assert_eq!(new.index, old.index);
        assert_eq!((table.get(old), table.get(new)), (None, Some(&'b')));
        assert_eq!(table.remove(old), None);
    }
}
