//! Room for messages: stable positions, reused without allocation.

use alloc::vec::Vec;

use crate::ids::Key;

#[derive(Clone)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Values at stable positions. A [`Key`] of a value that is gone finds nothing.
#[derive(Clone)]
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    /// The generation of positions that are new: greater than all that were given back.
    first_generation: u32,
}

/// Lists and tables write this where they mean no position: there are fewer.
pub(crate) const NO_POSITION: u32 = u32::MAX;

/// An empty slab keeps room for this many values.
const KEPT: usize = 4096;

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            first_generation: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, value: T) -> Key {
        let key = self.next_key();
        self.free.pop();
        self.slots[key.index as usize].value = Some(value);
        key
    }

    /// Drops the value at a taken position. Where it stands: it is too long to be moved.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        debug_assert!(slot.value.is_some(), "what is in a list or table is here");
        slot.generation = slot.generation.wrapping_add(1);
        slot.value = None;
        self.free.push(index);
        if self.slots.len() > KEPT && self.len() == 0 {
            self.give_back();
        }
    }

    /// Gives the memory of a long queue back that has been drained.
    #[cold]
    fn give_back(&mut self) {
        let newest = self.slots.iter().map(|slot| slot.generation).max();
        self.first_generation = newest.map_or(0, |newest| newest.wrapping_add(1));
        (self.slots, self.free) = (Vec::new(), Vec::new());
    }

    /// The key that the next `insert` will give.
    pub(crate) fn next_key(&mut self) -> Key {
        if let Some(&index) = self.free.last() {
            return self.key(index);
        }
        let index = u32::try_from(self.slots.len()).unwrap_or(NO_POSITION);
        assert!(index < NO_POSITION, "fewer than 2^32 - 1 messages live");
        self.slots.push(Slot {
            generation: self.first_generation,
            value: None,
        });
        self.free.push(index);
        self.key(index)
    }

    /// Skips the next key: a caller that was given it finds nothing.
    pub(crate) fn skip(&mut self, key: Key) {
        let slot = &mut self.slots[key.index as usize];
        slot.generation = slot.generation.wrapping_add(1);
    }

    /// The position of `key`'s value, if it still lives.
    pub(crate) fn find(&self, key: Key) -> Option<u32> {
        let slot = self.slots.get(key.index as usize)?;
        (slot.generation == key.generation && slot.value.is_some()).then_some(key.index)
    }

    /// The value at a position, if it is taken.
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.slots.get(index as usize)?.value.as_ref()
    }

    /// The value at a position, if it is taken, to be changed.
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slots.get_mut(index as usize)?.value.as_mut()
    }

    /// The key of the value at a taken position.
    pub(crate) fn key(&self, index: u32) -> Key {
        Key {
            index,
            generation: self.slots[index as usize].generation,
        }
    }

    /// Positions free for reuse, the next one last.
    #[cfg(feature = "simulated")]
    pub(crate) fn free(&self) -> &[u32] {
        &self.free
    }

    #[cfg(feature = "simulated")]
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<T>>() + self.free.capacity() * size_of::<u32>()
    }

    #[cfg(feature = "simulated")]
    pub(crate) fn positions(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let numbered = (0..).zip(&self.slots);
        numbered.filter_map(|(index, slot)| Some((index, slot.value.as_ref()?)))
    }
}

impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, index: u32) -> &T {
        self.slots[index as usize]
            .value
            .as_ref()
            .expect("a position in a list or table is taken")
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        self.slots[index as usize]
            .value
            .as_mut()
            .expect("a position in a list or table is taken")
    }
}
