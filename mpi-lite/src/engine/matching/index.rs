//! Places by label: for each label those that have it, in the order in which they came.

use super::chain::{Chain, Links};
use super::key::Label;

/// Slots of the smallest table.
const FEWEST: usize = 256;

/// A label and the places that have it; the chain of a free slot is empty.
#[derive(Clone, Copy, Debug)]
struct Slot {
    label: Label,
    chain: Chain,
}

const FREE: Slot = Slot {
    label: Label {
        context: 0,
        source: 0,
        tag: 0,
    },
    chain: Chain::EMPTY,
};

/// An open-addressing table of chains. It keeps its memory, so a steady load does not allocate.
#[derive(Debug, Default)]
pub(super) struct Index {
    slots: Vec<Slot>,
    used: usize,
    links: Links,
}

impl Index {
    /// Adds `place` behind all others with this label.
    pub(super) fn append(&mut self, label: Label, place: u32) {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.position(label);
        let slot = &mut self.slots[at];
        if slot.chain.is_empty() {
            slot.label = label;
            self.used += 1;
        }
        self.links.append(&mut slot.chain, place);
    }

    /// The first place with this label.
    #[inline]
    pub(super) fn first(&self, label: Label) -> Option<u32> {
        if self.used == 0 {
            return None;
        }
        self.slots[self.position(label)].chain.first()
    }

    /// Takes out `place`, which has this label.
    pub(super) fn remove(&mut self, label: Label, place: u32) {
        let at = self.position(label);
        let chain = &mut self.slots[at].chain;
        self.links.remove(chain, place);
        if chain.is_empty() {
            self.used -= 1;
            self.close(at);
        }
    }

    /// Where the label is, or the free slot where it would be.
    #[inline]
    fn position(&self, label: Label) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = home(label) & mask;
        while !self.slots[at].chain.is_empty() && self.slots[at].label != label {
            at = (at + 1) & mask;
        }
        at
    }

    /// The slot at `hole` has become free: moves back what has had to go past it.
    fn close(&mut self, mut hole: usize) {
        let mask = self.slots.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.chain.is_empty() {
                break;
            }
            // Unless that would put it before its home.
            let way = at.wrapping_sub(home(slot.label)) & mask;
            if way >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = FREE;
    }

    #[cold]
    fn grow(&mut self) {
        let room = (self.slots.len() * 2).max(FEWEST);
        let old = std::mem::replace(&mut self.slots, vec![FREE; room]);
        for slot in old.into_iter().filter(|slot| !slot.chain.is_empty()) {
            let at = self.position(slot.label);
            self.slots[at] = slot;
        }
    }
}

/// So many neighbouring tags lie side by side: who goes through them, up or down, finds most of
/// them in memory that it has just touched.
const BLOCK: u32 = 8;

/// Where a label is sought first, before the table's size cuts it. Both halves of a product take
/// part: the lower one spreads labels that differ in low bits, the upper one those that differ in
/// high bits only, like tags that are multiples of a power of two. The words are digits of pi,
/// which are as good as any; the second factor is odd, so that the lower half loses nothing.
#[inline]
fn home(label: Label) -> usize {
    let tag = label.tag.cast_unsigned();
    let low = u64::from(label.source) << 32 | u64::from(tag / BLOCK);
    let low = u128::from(low ^ 0x243f_6a88_85a3_08d3);
    let high = u128::from(u64::from(label.context) << 1 ^ 0x1319_8a2e_0370_7345);
    let product = low * high;
    let block = (product ^ (product >> 64)) as usize;
    let within = label.source.wrapping_add(tag) % BLOCK;
    block.wrapping_mul(BLOCK as usize) + within as usize
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
            for (place, (source, tag, at)) in (0..).zip(steps) {
                let label = label(0, source, tag);
                let list = lists.entry((source, tag)).or_default();
                match list.remove(at) {
                    Some(old) => index.remove(label, old),
                    None => {
                        index.append(label, place);
                        list.push_back(place);
                    }
                }
                prop_assert_eq!(index.first(label), list.front().copied());
            }
            for ((source, tag), list) in lists {
                let label = label(0, source, tag);
                for place in list {
                    prop_assert_eq!(index.first(label), Some(place));
                    index.remove(label, place);
                }
                prop_assert_eq!(index.first(label), None);
            }
            prop_assert_eq!(index.used, 0);
        }
    }

    /// How many slots past its home a label lies, on the average.
    fn way(labels: impl Iterator<Item = Label>) -> f64 {
        let mut index = Index::default();
        for (place, label) in (0..).zip(labels) {
            index.append(label, place);
        }
        let mask = index.slots.len() - 1;
        let used = index.slots.iter().enumerate();
        let used = used.filter(|(_, slot)| !slot.chain.is_empty());
        let ways = used.map(|(at, slot)| at.wrapping_sub(home(slot.label)) & mask);
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
