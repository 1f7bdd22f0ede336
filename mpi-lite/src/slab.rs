//! Tables of things by small index. They reuse free places, and free the memory of a long table
//! once it is empty.

/// Things by index. Indices of removed things are given out again, the last one first.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Entry<T>>,
    /// The free place to be used next; as many as there are places if none is free.
    free: u32,
    len: usize,
}

/// An empty table keeps room for this many things.
const KEPT: usize = 8192;

#[derive(Debug)]
enum Entry<T> {
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
    /// Puts `thing` in a free place and returns its index.
    #[inline(always)]
    pub fn insert(&mut self, thing: T) -> u32 {
        let index = self.free;
        if self.places.len() <= index as usize {
            self.extend();
        }
        self.len += 1;
        let place = &mut self.places[index as usize];
        let Entry::Free(next) = *place else {
            unreachable!("the list of free places leads to free places");
        };
        self.free = next;
        *place = Entry::Full(thing);
        index
    }

    /// Makes a free place. It does not get the thing that is to go there: so a thing is written
    /// where it stays, and never to the stack first.
    #[cold]
    fn extend(&mut self) {
        let next = u32::try_from(self.places.len() + 1).expect("fewer than 2^32 things at a time");
        self.places.push(Entry::Free(next));
    }

    /// The index that the next `insert` will return.
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
            Some(Entry::Full(thing)) => Some(thing),
            _ => None,
        }
    }

    /// The thing at `index`.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.places.get_mut(index as usize) {
            Some(Entry::Full(thing)) => Some(thing),
            _ => None,
        }
    }

    /// Takes the thing at `index` out.
    #[inline]
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let place = self.places.get_mut(index as usize)?;
        if let Entry::Free(_) = place {
            return None;
        }
        let Entry::Full(thing) = core::mem::replace(place, Entry::Free(self.free)) else {
            return None;
        };
        self.free = index;
        self.len -= 1;
        Some(thing)
    }

    /// Drops the thing at `index`, if there is one.
    #[inline(always)]
    pub fn discard(&mut self, index: u32) {
        if let Some(place @ Entry::Full(_)) = self.places.get_mut(index as usize) {
            *place = Entry::Free(self.free);
            self.free = index;
            self.len -= 1;
        }
    }

    /// Frees the memory of a long table once it is empty.
    pub fn shrink(&mut self) {
        if self.len == 0 && self.places.len() > KEPT {
            (self.places, self.free) = (Vec::new(), 0);
        }
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All things with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let things = self.places.iter().zip(0..);
        things.filter_map(|(place, index)| match place {
            Entry::Full(thing) => Some((index, thing)),
            Entry::Free(_) => None,
        })
    }
}

/// Things by indices that come from elsewhere, such as those of a [`Slab`].
///
/// [`SlotMap::shrink`] frees its memory, like [`Slab::shrink`]. The indices may stay high though,
/// so that the memory is needed again: a long table is freed less often.
#[derive(Debug)]
pub struct SlotMap<T> {
    places: Vec<Option<T>>,
    /// Calls of `shrink` since the last scan.
    asked: usize,
}

impl<T> Default for SlotMap<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            asked: 0,
        }
    }
}

impl<T> SlotMap<T> {
    /// Puts `thing` at `index`; returns what was there.
    #[inline(always)]
    pub fn put(&mut self, index: usize, thing: T) -> Option<T> {
        if self.places.len() <= index {
            self.extend(index);
        }
        self.places[index].replace(thing)
    }

    #[cold]
    fn extend(&mut self, index: usize) {
        self.places.resize_with(index + 1, || None);
    }

    /// The thing at `index`.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.places.get(index)?.as_ref()
    }

    /// The thing at `index`.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.places.get_mut(index)?.as_mut()
    }

    /// Takes the thing at `index` out.
    #[inline(always)]
    pub fn take(&mut self, index: usize) -> Option<T> {
        self.places.get_mut(index)?.take()
    }

    /// Frees the memory of a long table once it is empty. It scans only every `len / KEPT` calls,
    /// so a call costs O(1) on average.
    pub fn shrink(&mut self) {
        if self.places.len() > KEPT {
            self.asked += 1;
            if self.asked >= self.places.len() / KEPT {
                self.asked = 0;
                if self.is_empty() {
                    self.places = Vec::new();
                }
            }
        }
    }

    /// All things.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }

    /// Takes out all for which `is_one` holds, with their indices.
    pub fn take_all(&mut self, is_one: impl Fn(&T) -> bool) -> Vec<(usize, T)> {
        let things = self.places.iter().enumerate();
        let ones = things.filter(|(_, place)| place.as_ref().is_some_and(&is_one));
        let ones: Vec<usize> = ones.map(|(index, _)| index).collect();
        let taken = ones.into_iter();
        taken
            .filter_map(|index| Some((index, self.take(index)?)))
            .collect()
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.iter().all(Option::is_none)
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
    /// Puts `thing` in and returns its name.
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

    /// All things.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slab.iter().map(|(_, (_, thing))| thing)
    }

    /// Frees the memory of a long table once it is empty.
    pub fn shrink(&mut self) {
        self.slab.shrink();
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_queue_that_was_drained_leaves_no_memory() {
        let mut slab = Slab::default();
        let mut table = Table::default();
        let mut map = SlotMap::default();
        for _ in 0..2 {
            let keys: Vec<Key> = (0..3 * KEPT).map(|_| table.insert(7)).collect();
            (0..3 * KEPT).for_each(|_| _ = slab.insert(7));
            (0..3 * KEPT).for_each(|index| assert_eq!(map.put(index, 7), None));
            for (key, index) in keys.into_iter().zip(0..) {
                table.discard(key);
                assert_eq!(slab.remove(index), Some(7));
                assert_eq!(map.take(index as usize), Some(7));
            }
            slab.shrink();
            table.shrink();
            (0..3).for_each(|_| map.shrink());
            assert_eq!(slab.places.capacity(), 0);
            assert_eq!(table.slab.places.capacity(), 0);
            assert_eq!(map.places.capacity(), 0);
        }
    }

    #[test]
    fn a_high_index_that_is_used_again_and_again_does_not_cost_its_height_each_time() {
        let mut map = SlotMap::default();
        let mut made = 0;
        for _ in 0..100 {
            made += u32::from(map.places.is_empty());
            assert_eq!(map.put(9 * KEPT, 'a'), None);
            assert_eq!(map.take(9 * KEPT), Some('a'));
            map.shrink();
        }
        assert_eq!(made, 12, "a hundred times, each ninth anew");
    }

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
