//! A queue that is too long to be scanned.

use std::collections::VecDeque;

use super::index::Index;
use super::key::{Label, SHAPES, Shape, Shapes, Side};
use crate::slab::Key;

/// The entry that waits at a place.
#[derive(Debug)]
struct Waiting<S> {
    side: S,
    generation: u32,
    /// An entry that came earlier has a smaller number.
    sequence: u64,
}

/// The entries that wait, in their order, and by their labels.
///
/// Each entry has the place of its key, so the keys must differ in their index. The index of a
/// shape is made when it is first needed, and maintained until the queue is empty. Entries that are
/// always taken from the front need none, and messages are entered only under the wildcards that
/// the program uses.
#[derive(Debug)]
pub(super) struct Deep<S> {
    places: Vec<Option<Waiting<S>>>,
    /// Sequence and place of the entries, and of some that have left. The first one is still there.
    order: VecDeque<(u64, u32)>,
    /// By shape.
    indices: [Index; SHAPES],
    /// The shapes that have an index.
    kept: Shapes,
    len: usize,
    sequence: u64,
    /// The sequence when the queue had no memory yet.
    begun: u64,
}

/// An empty queue keeps this many places.
const KEPT: usize = 8192;

/// Up to this many entries that have left are not dropped.
const FEW: usize = 64;

/// Returns true if the one with this sequence is still at this place.
fn stands<S>(places: &[Option<Waiting<S>>], &(sequence, place): &(u64, u32)) -> bool {
    let waiting = places[place as usize].as_ref();
    waiting.is_some_and(|waiting| waiting.sequence == sequence)
}

/// Returns the function that an index of a shape needs: from a place to the label of its entry.
fn label_in<S: Side>(places: &[Option<Waiting<S>>], shape: Shape) -> impl Fn(u32) -> Label {
    move |place| {
        let waiting = places[place as usize].as_ref();
        let waiting = waiting.expect("who is in an index has its place");
        waiting.side.label(shape)
    }
}

impl<S> Default for Deep<S> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            order: VecDeque::new(),
            indices: Default::default(),
            kept: Shapes::default(),
            len: 0,
            sequence: 0,
            begun: 0,
        }
    }
}

impl<S: Side> Deep<S> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds `side` behind all others.
    pub(super) fn push(&mut self, side: S, key: Key) {
        self.forget();
        self.len += 1;
        self.sequence += 1;
        self.order.push_back((self.sequence, key.index));
        let waiting = Waiting {
            side,
            generation: key.generation,
            sequence: self.sequence,
        };
        let at = key.index as usize;
        if self.places.len() <= at {
            self.places.resize_with(at + 1, || None);
        }
        let before = self.places[at].replace(waiting);
        assert!(before.is_none(), "those who wait differ in their index");
        for shape in side.shapes().and(self.kept).iter() {
            let label_of = label_in(&self.places, shape);
            self.indices[shape.number()].append(side.label(shape), key.index, label_of);
        }
    }

    /// Finds the first that fits.
    pub(super) fn find(&mut self, other: &S::Other) -> Option<Key> {
        let &(_, first) = self.order.front()?;
        let place = if self.waiting(first).side.fits(other) {
            first
        } else {
            self.search(other)?
        };
        let generation = self.waiting(place).generation;
        Some(Key {
            index: place,
            generation,
        })
    }

    /// Finds the earliest of the first ones of each shape.
    fn search(&mut self, other: &S::Other) -> Option<u32> {
        let sought = other.shapes();
        if !sought.without(self.kept).is_empty() {
            self.enter_all(sought.without(self.kept));
        }
        let mut earliest = None;
        for shape in sought.iter() {
            let label_of = label_in(&self.places, shape);
            let index = &self.indices[shape.number()];
            if let Some(place) = index.first(other.label(shape), label_of) {
                let sequence = self.waiting(place).sequence;
                if earliest.is_none_or(|(before, _)| sequence < before) {
                    earliest = Some((sequence, place));
                }
            }
        }
        earliest.map(|(_, place)| place)
    }

    /// Makes the indices of these shapes. They are maintained from now on.
    #[cold]
    fn enter_all(&mut self, new: Shapes) {
        let mut counts = [0; SHAPES];
        for (_, side) in self.iter() {
            for shape in side.shapes().and(new).iter() {
                counts[shape.number()] += 1;
            }
        }
        let mut indices = std::mem::take(&mut self.indices);
        for shape in new.iter() {
            indices[shape.number()].reserve(counts[shape.number()]);
        }
        for (key, side) in self.iter() {
            for shape in side.shapes().and(new).iter() {
                let label_of = label_in(&self.places, shape);
                indices[shape.number()].append(side.label(shape), key.index, label_of);
            }
        }
        self.indices = indices;
        self.kept = self.kept.or(new);
    }

    /// Takes out the entry that `key` names. Returns true if it was there.
    pub(super) fn remove(&mut self, key: Key) -> bool {
        let Some(place) = self.places.get_mut(key.index as usize) else {
            return false;
        };
        let is_it = |waiting: &mut Waiting<S>| waiting.generation == key.generation;
        let Some(Waiting { side, .. }) = place.take_if(is_it) else {
            return false;
        };
        for shape in side.shapes().and(self.kept).iter() {
            let label_of = label_in(&self.places, shape);
            self.indices[shape.number()].remove(side.label(shape), key.index, label_of);
        }
        self.len -= 1;
        if self.len == 0 {
            self.kept = Shapes::default();
        }
        while let Some(entry) = self.order.front()
            && !stands(&self.places, entry)
        {
            self.order.pop_front();
        }
        true
    }

    /// Frees the memory of a long queue that is empty. It does so only after as many entries have
    /// come as there are places, since new entries may still have high places.
    pub(super) fn give_back(&mut self) {
        let sequence = self.sequence;
        let has_paid = sequence - self.begun >= self.places.len() as u64;
        if self.len == 0 && self.places.len() > KEPT && has_paid {
            *self = Self {
                sequence,
                begun: sequence,
                ..Self::default()
            };
        }
    }

    /// Drops all entries that have left, once they are more than half of the order and not few.
    fn forget(&mut self) {
        if self.order.len() > 2 * self.len + FEW {
            let places = &self.places;
            self.order.retain(|entry| stands(places, entry));
        }
    }

    /// Returns the first of all.
    pub(super) fn first(&self) -> Option<(Key, S)> {
        self.iter().next().map(|(key, &side)| (key, side))
    }

    /// All in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &S)> {
        let standing = self
            .order
            .iter()
            .filter(|entry| stands(&self.places, entry));
        standing.map(|&(_, index)| {
            let Waiting {
                side, generation, ..
            } = self.waiting(index);
            let generation = *generation;
            (Key { index, generation }, side)
        })
    }

    #[inline]
    fn waiting(&self, place: u32) -> &Waiting<S> {
        self.places[place as usize]
            .as_ref()
            .expect("who is found has its place")
    }
}
