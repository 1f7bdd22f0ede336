//! A queue that is too long to be scanned.

use std::collections::VecDeque;

use super::index::Index;
use super::key::{Label, Shape, Side};
use crate::slab::Key;

/// Who waits at a place.
#[derive(Debug)]
struct Waiting<S> {
    side: S,
    generation: u32,
    /// Who came earlier has the smaller number.
    sequence: u64,
}

/// Those who wait, in their order, and by their labels.
///
/// Each has the place that its key names, so the keys must differ in their index. An index of the
/// labels of one shape is made when it is first needed, and kept up until the queue is empty: who
/// is always taken from the front needs none, and messages are entered under the wildcards that
/// the program uses.
#[derive(Debug)]
pub(super) struct Deep<S> {
    places: Vec<Option<Waiting<S>>>,
    /// Sequence and place, also of some who have left; the first is there.
    order: VecDeque<(u64, u32)>,
    /// By shape.
    indices: [Index; 4],
    is_kept: [bool; 4],
    len: usize,
    sequence: u64,
}

/// So many entries of those who have left do not matter.
const FEW: usize = 64;

/// Whether who got this entry of the order is still there.
fn stands<S>(places: &[Option<Waiting<S>>], &(sequence, place): &(u64, u32)) -> bool {
    let waiting = places[place as usize].as_ref();
    waiting.is_some_and(|waiting| waiting.sequence == sequence)
}

/// What an index of a shape asks for: the label of who waits at a place.
fn label_in<S: Side>(places: &[Option<Waiting<S>>], shape: Shape) -> impl Fn(u32) -> Label {
    move |place| {
        let waiting = places[place as usize].as_ref();
        let label = waiting.and_then(|waiting| waiting.side.label(shape));
        label.expect("who is in an index has its place")
    }
}

impl<S> Default for Deep<S> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            order: VecDeque::new(),
            indices: Default::default(),
            is_kept: [false; 4],
            len: 0,
            sequence: 0,
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
        for shape in Shape::ALL {
            if let Some(label) = side.label(shape).filter(|_| self.is_kept[shape as usize]) {
                self.indices[shape as usize].append(
                    label,
                    key.index,
                    label_in(&self.places, shape),
                );
            }
        }
    }

    /// The first that fits.
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

    /// The earliest of the first of each shape.
    fn search(&mut self, other: &S::Other) -> Option<u32> {
        self.keep(other);
        let mut earliest = None;
        for shape in Shape::ALL {
            let Some(label) = other.label(shape) else {
                continue;
            };
            let index = &self.indices[shape as usize];
            let place = index.first(label, label_in(&self.places, shape));
            let numbered = place.map(|place| (self.waiting(place).sequence, place));
            earliest = earliest.into_iter().chain(numbered).min();
        }
        earliest.map(|(_, place)| place)
    }

    /// From now on there is an index of each shape that `other` is sought by.
    #[inline]
    fn keep(&mut self, other: &S::Other) {
        let lacks = |shape: Shape| !self.is_kept[shape as usize] && other.label(shape).is_some();
        let new = Shape::ALL.map(lacks);
        if new != [false; 4] {
            self.enter_all(new);
        }
    }

    /// Makes the indices of these shapes.
    #[cold]
    fn enter_all(&mut self, new: [bool; 4]) {
        let mut indices = std::mem::take(&mut self.indices);
        let shapes = || Shape::ALL.into_iter().filter(|&shape| new[shape as usize]);
        let mut counts = [0; 4];
        for (_, side) in self.iter() {
            for shape in shapes() {
                counts[shape as usize] += usize::from(side.label(shape).is_some());
            }
        }
        for shape in shapes() {
            self.is_kept[shape as usize] = true;
            indices[shape as usize].reserve(counts[shape as usize]);
        }
        for (key, side) in self.iter() {
            for shape in shapes() {
                if let Some(label) = side.label(shape) {
                    indices[shape as usize].append(label, key.index, label_in(&self.places, shape));
                }
            }
        }
        self.indices = indices;
    }

    /// Takes out whom `key` names. Answers whether it was there.
    pub(super) fn remove(&mut self, key: Key) -> bool {
        let Some(place) = self.places.get_mut(key.index as usize) else {
            return false;
        };
        let is_it = |waiting: &mut Waiting<S>| waiting.generation == key.generation;
        let Some(Waiting { side, .. }) = place.take_if(is_it) else {
            return false;
        };
        for shape in Shape::ALL {
            if let Some(label) = side.label(shape).filter(|_| self.is_kept[shape as usize]) {
                self.indices[shape as usize].remove(
                    label,
                    key.index,
                    label_in(&self.places, shape),
                );
            }
        }
        self.len -= 1;
        if self.len == 0 {
            self.is_kept = [false; 4];
        }
        while let Some(entry) = self.order.front()
            && !stands(&self.places, entry)
        {
            self.order.pop_front();
        }
        true
    }

    /// Those who have left are not half of the order, or few: their entries go all at once.
    fn forget(&mut self) {
        if self.order.len() > 2 * self.len + FEW {
            let places = &self.places;
            self.order.retain(|entry| stands(places, entry));
        }
    }

    /// The first of all.
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
