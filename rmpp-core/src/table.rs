//! Where is the state of message (node, msgID)? Paper §3.4 keeps it in lists; we hash.

use alloc::vec;
use alloc::vec::Vec;

use crate::slab::NO_POSITION;

const EMPTY: u32 = NO_POSITION;

/// An empty table keeps this many slots.
const KEPT: usize = 16_384;

/// An open-addressing table from (node, msgID) to a slab position. Hashing is fixed, so that the
/// same packets give the same run; memory is reused, so a steady load does not allocate.
#[derive(Clone)]
pub(crate) struct Table {
    slots: Vec<(u64, u32)>,
    len: usize,
    shift: u32,
}

fn join(node: u32, msg_id: u32) -> u64 {
    u64::from(node) << 32 | u64::from(msg_id)
}

impl Table {
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![(0, EMPTY); 16],
            len: 0,
            shift: 60,
        }
    }

    /// Fibonacci hashing spreads consecutive ids evenly.
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    fn position(&self, key: u64) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        loop {
            match self.slots[at] {
                (_, EMPTY) => return Err(at),
                (found, _) if found == key => return Ok(at),
                _ => at = (at + 1) & mask,
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, node: u32, msg_id: u32) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        self.position(join(node, msg_id))
            .ok()
            .map(|at| self.slots[at].1)
    }

    /// Enters a message. Returns false, and changes nothing, if its name is taken.
    pub(crate) fn insert(&mut self, node: u32, msg_id: u32, index: u32) -> bool {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let key = join(node, msg_id);
        let Err(at) = self.position(key) else {
            return false;
        };
        debug_assert_ne!(index, EMPTY, "no value has this position");
        self.slots[at] = (key, index);
        self.len += 1;
        debug_assert!(
            self.len * 2 <= self.slots.len(),
            "half of the slots are empty"
        );
        true
    }

    pub(crate) fn remove(&mut self, node: u32, msg_id: u32) {
        let Ok(mut hole) = self.position(join(node, msg_id)) else {
            return;
        };
        let mask = self.slots.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let (key, index) = self.slots[at];
            if index == EMPTY {
                break;
            }
            // Move an entry back unless that would put it before its home.
            if (at.wrapping_sub(self.home(key)) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = (key, index);
                hole = at;
            }
        }
        self.slots[hole] = (0, EMPTY);
        self.len -= 1;
        if self.len == 0 && self.slots.len() > KEPT {
            *self = Self::new();
        }
    }

    #[cfg(feature = "simulated")]
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<(u64, u32)>()
    }

    /// All entries.
    #[cfg(feature = "simulated")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(u64, u32)> {
        self.slots.iter().filter(|entry| entry.1 != EMPTY)
    }

    fn grow(&mut self) {
        assert!(self.shift > 1, "a table has at most 2^63 slots");
        let room = self.slots.len() * 2;
        let old = core::mem::replace(&mut self.slots, vec![(0, EMPTY); room]);
        self.shift -= 1;
        for (key, index) in old.into_iter().filter(|entry| entry.1 != EMPTY) {
            let (Ok(at) | Err(at)) = self.position(key);
            self.slots[at] = (key, index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::collections::BTreeMap;

    #[test]
    fn agrees_with_a_map_under_random_use() {
        let (mut table, mut map, mut rng) = (Table::new(), BTreeMap::new(), Rng::new(1));
        for step in 0..200_000_u32 {
            let name = (rng.below(4) as u32, rng.below(300) as u32);
            if rng.chance(500_000) {
                let fresh = !map.contains_key(&name);
                assert_eq!(table.insert(name.0, name.1, step), fresh);
                map.entry(name).or_insert(step);
            } else {
                table.remove(name.0, name.1);
                map.remove(&name);
            }
            let other = (rng.below(4) as u32, rng.below(300) as u32);
            assert_eq!(table.get(other.0, other.1), map.get(&other).copied());
            assert_eq!(table.len, map.len());
        }
    }
}
