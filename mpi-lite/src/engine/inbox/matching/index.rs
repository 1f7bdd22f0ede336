//! Places by label: for each label those that have it, in the order in which they came.

use super::chain::{Chain, Links};
use super::key::Label;

/// Slots of a line, and adjacent tags that lie side by side: a program that goes through its tags,
/// up or down, finds most of them in memory that was just touched.
const BLOCK: usize = 8;

/// Lines of the smallest table.
const FEWEST: usize = 32;

/// The places of a label, and where a search for the label begins. The label itself is kept only at
/// its first place, which a search reads next anyway: a table of a few million bytes no longer fits
/// the caches, so each byte counts.
#[derive(Clone, Copy, Debug)]
struct Slot {
    home: u32,
    chain: Chain,
}

const FREE: Slot = Slot {
    home: 0,
    chain: Chain::EMPTY,
};

/// A cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Block([Slot; BLOCK]);

/// An open-addressing table of chains. It keeps its memory, so a steady load does not allocate. Its
/// user knows the label of each place.
#[derive(Debug, Default)]
pub(super) struct Index {
    blocks: Vec<Block>,
    used: usize,
    links: Links,
}

impl Index {
    /// Makes room for `labels` labels in all.
    pub(super) fn reserve(&mut self, labels: usize) {
        let room = (2 * labels / BLOCK + 1).next_power_of_two().max(FEWEST);
        if labels > 0 && room > self.blocks.len() {
            self.grow(room);
        }
    }

    /// Adds `place` behind all others with this label.
    pub(super) fn append(&mut self, label: Label, place: u32, label_of: impl Fn(u32) -> Label) {
        if self.used * 2 >= self.blocks.len() * BLOCK {
            self.grow((self.blocks.len() * 2).max(FEWEST));
        }
        let home = home(label);
        let at = self.position(home, |first| label_of(first) == label);
        if self.slot(at).chain.is_empty() {
            self.used += 1;
        }
        let slot = &mut self.blocks[at / BLOCK].0[at % BLOCK];
        slot.home = home;
        self.links.append(&mut slot.chain, place);
    }

    /// Returns the first place with this label.
    #[inline]
    pub(super) fn first(&self, label: Label, label_of: impl Fn(u32) -> Label) -> Option<u32> {
        if self.used == 0 {
            return None;
        }
        let at = self.position(home(label), |first| label_of(first) == label);
        self.slot(at).chain.first()
    }

    /// Takes out `place`, which has this label.
    pub(super) fn remove(&mut self, label: Label, place: u32, label_of: impl Fn(u32) -> Label) {
        let at = self.position(home(label), |first| {
            first == place || label_of(first) == label
        });
        let chain = &mut self.blocks[at / BLOCK].0[at % BLOCK].chain;
        self.links.remove(chain, place);
        if chain.is_empty() {
            self.used -= 1;
            self.close(at);
        }
    }

    #[inline]
    fn slot(&self, at: usize) -> &Slot {
        &self.blocks[at / BLOCK].0[at % BLOCK]
    }

    #[inline]
    fn mask(&self) -> usize {
        self.blocks.len() * BLOCK - 1
    }

    /// Returns the number of the slot for whose first place `is_it` holds, or of the free slot
    /// where it would be.
    #[inline]
    fn position(&self, home: u32, is_it: impl Fn(u32) -> bool) -> usize {
        let mask = self.mask();
        let mut at = home as usize & mask;
        loop {
            let slot = self.slot(at);
            match slot.chain.first() {
                Some(first) if slot.home != home || !is_it(first) => at = (at + 1) & mask,
                _ => return at,
            }
        }
    }

    /// Fills the free slot at `hole` with later slots that had to go past it.
    fn close(&mut self, mut hole: usize) {
        let mask = self.mask();
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let slot = *self.slot(at);
            if slot.chain.is_empty() {
                break;
            }
            // Unless that would put it before its home.
            let way = at.wrapping_sub(slot.home as usize) & mask;
            if way >= at.wrapping_sub(hole) & mask {
                self.blocks[hole / BLOCK].0[hole % BLOCK] = slot;
                hole = at;
            }
        }
        self.blocks[hole / BLOCK].0[hole % BLOCK] = FREE;
    }

    #[cold]
    fn grow(&mut self, room: usize) {
        let old = std::mem::replace(&mut self.blocks, vec![Block([FREE; BLOCK]); room]);
        let slots = old.into_iter().flat_map(|Block(slots)| slots);
        for slot in slots.filter(|slot| !slot.chain.is_empty()) {
            let at = self.position(slot.home, |_| false);
            self.blocks[at / BLOCK].0[at % BLOCK] = slot;
        }
    }
}

/// Where a search for a label begins, before the table's size cuts it. Both halves of a product
/// count: the lower half spreads labels that differ in low bits, the upper half those that differ
/// in high bits only, like tags that are multiples of a power of two. The words are digits of pi,
/// which are as good as any. The second factor is odd, so that the lower half loses nothing.
#[inline]
fn home(label: Label) -> u32 {
    let tag = label.tag.cast_unsigned();
    let low = u64::from(label.source) << 32 | u64::from(tag / BLOCK as u32);
    let low = u128::from(low ^ 0x243f_6a88_85a3_08d3);
    let high = u128::from(u64::from(label.context) << 1 ^ 0x1319_8a2e_0370_7345);
    let product = low * high;
    let block = (product ^ (product >> 64)) as u32;
    let within = label.source.wrapping_add(tag) % BLOCK as u32;
    block.wrapping_mul(BLOCK as u32) + within
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use proptest::prelude::*;

    use super::*;

    fn label(context: u32, source: u32, tag: i32) -> Label {
        Label {
            context,
            source,
            tag,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Each step adds a place to a label or takes one out; labels come and go.
        #[test]
        fn each_label_has_its_places_in_their_order(
            steps in proptest::collection::vec((0_u32..4, 0_i32..300, 0_usize..4), 0..3000),
        ) {
            let mut index = Index::default();
            let mut lists = BTreeMap::<_, VecDeque<u32>>::new();
            let labels = steps.iter().map(|&(source, tag, _)| label(0, source, tag));
            let labels: Vec<_> = labels.collect();
            let label_of = |place: u32| labels[place as usize];
            for (place, (source, tag, at)) in (0..).zip(steps) {
                let label = label(0, source, tag);
                let list = lists.entry((source, tag)).or_default();
                match list.remove(at) {
                    Some(old) => index.remove(label, old, label_of),
                    None => {
                        index.append(label, place, label_of);
                        list.push_back(place);
                    }
                }
                prop_assert_eq!(index.first(label, label_of), list.front().copied());
            }
            for ((source, tag), list) in lists {
                let label = label(0, source, tag);
                for place in list {
                    prop_assert_eq!(index.first(label, label_of), Some(place));
                    index.remove(label, place, label_of);
                }
                prop_assert_eq!(index.first(label, label_of), None);
            }
            prop_assert_eq!(index.used, 0);
        }
    }

    /// Labels of one source whose tags lie far apart, two of which begin at the same home.
    fn two_with_one_home() -> [Label; 2] {
        let mut known = BTreeMap::new();
        for number in 0..1 << 20 {
            let label = label(0, 1, number * BLOCK as i32);
            if let Some(other) = known.insert(home(label), label) {
                return [other, label];
            }
        }
        panic!("a million labels in 2^29 homes, and no two meet");
    }

    #[test]
    fn labels_with_one_home_are_told_apart() {
        let labels = two_with_one_home();
        let label_of = |place: u32| labels[place as usize % 2];
        let mut index = Index::default();
        for place in 0..4 {
            index.append(label_of(place), place, label_of);
        }
        for place in [1, 3, 0, 2] {
            let label = label_of(place);
            assert_eq!(index.first(label, label_of), Some(place));
            index.remove(label, place, label_of);
        }
    }

    #[test]
    fn a_reserved_index_does_not_grow() {
        for labels in [1, 100, 1000, 10_000] {
            let mut index = Index::default();
            index.reserve(labels);
            let room = index.blocks.len();
            for place in 0..labels as u32 {
                let label_of = |place: u32| label(0, 0, place.cast_signed());
                index.append(label_of(place), place, label_of);
            }
            assert_eq!(index.blocks.len(), room, "{labels} labels");
        }
    }

    /// How many slots past its home a label lies, on the average.
    fn way(labels: impl Iterator<Item = Label>) -> f64 {
        let mut index = Index::default();
        let labels: Vec<_> = labels.collect();
        for (place, &label) in (0..).zip(&labels) {
            index.append(label, place, |place| labels[place as usize]);
        }
        let mask = index.mask();
        let slots = index.blocks.iter().flat_map(|Block(slots)| slots);
        let used = slots.enumerate().filter(|(_, slot)| !slot.chain.is_empty());
        let ways = used.map(|(at, slot)| at.wrapping_sub(slot.home as usize) & mask);
        ways.sum::<usize>() as f64 / index.used as f64
    }

    const MANY: i32 = 30_000;

    #[test]
    fn tags_that_are_multiples_of_a_power_of_two_are_found_as_soon() {
        for exponent in 0..16 {
            let way = way((0..MANY).map(|number| label(0, 1, number << exponent)));
            assert!(way < 8.0, "2^{exponent}: {way}");
        }
    }

    #[test]
    fn sources_and_tags_of_a_grid_are_found_as_soon() {
        for exponent in 0..15 {
            let side = 1 << exponent;
            let labels = (0..MANY).map(|number| label(2, (number % side) as u32, number / side));
            let way = way(labels);
            assert!(way < 8.0, "{side} sources: {way}");
        }
    }
}
