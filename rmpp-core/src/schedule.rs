//! Timers, the earliest first: setting one and taking one that is due costs the logarithm of how
//! many there are.

use alloc::vec::Vec;

use crate::slab::NO_POSITION;
use crate::time::Instant;

const NOWHERE: u32 = NO_POSITION;

/// A schedule that is not needed keeps room for this many timers.
const KEPT: usize = 4096;

/// At most one timer for each key. A timer may ring earlier than needed, and is set anew then: so
/// what is timed may be put off, or end, without a word here, and a timer that has rung is gone.
///
/// A binary heap of (when, key), and for each key where in the heap it is. Timers of the same
/// moment ring in the order of their keys, whatever happened before.
#[derive(Clone)]
pub(crate) struct Schedule {
    heap: Vec<(Instant, u32)>,
    /// Where in the heap each key is; keys behind its end are nowhere.
    places: Vec<u32>,
    /// How many timers have rung so far, and how many were looked at for that.
    rung: u64,
    looked_at: u64,
}

impl Schedule {
    pub(crate) const fn new() -> Self {
        Self {
            heap: Vec::new(),
            places: Vec::new(),
            rung: 0,
            looked_at: 0,
        }
    }

    /// Lets the timer of `key` ring at `when`, unless it rings earlier. Returns true if it was set.
    #[inline]
    pub(crate) fn lower(&mut self, key: u32, when: Instant) -> bool {
        let place = self.places.get(key as usize);
        let set = place.and_then(|&place| self.heap.get(place as usize));
        if set.is_some_and(|set| set.0 <= when) {
            return false;
        }
        self.set(key, when);
        true
    }

    #[cold]
    fn set(&mut self, key: u32, when: Instant) {
        debug_assert_ne!(when, Instant::NEVER, "no timer needs no entry");
        let at = key as usize;
        if at >= self.places.len() {
            self.places.resize(at + 1, NOWHERE);
        }
        let place = match self.places[at] {
            NOWHERE => {
                self.heap.push((when, key));
                debug_assert!(
                    self.heap.len() <= self.places.len(),
                    "one timer for each key"
                );
                self.heap.len() - 1
            }
            place => place as usize,
        };
        self.rise(place, (when, key));
    }

    /// Takes the earliest timer if it is due: answers its key.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<u32> {
        (self.first() <= now && !self.heap.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> u32 {
        let key = self.heap[0].1;
        self.rung += 1;
        self.looked_at += 1;
        self.places[key as usize] = NOWHERE;
        let last = self.heap.pop().expect("it has a first");
        if last.1 != key {
            self.sink(last);
        }
        key
    }

    /// When the earliest timer rings; `NEVER`: there is none.
    pub(crate) fn first(&self) -> Instant {
        self.heap.first().map_or(Instant::NEVER, |first| first.0)
    }

    /// Returns true if it has so much room that the memory is worth giving back.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.places.len() > KEPT
    }

    /// Puts a timer where the one at `place` was, or above it.
    fn rise(&mut self, mut place: usize, timer: (Instant, u32)) {
        while place > 0 {
            let above = (place - 1) / 2;
            if self.heap[above] <= timer {
                break;
            }
            self.put(place, self.heap[above]);
            place = above;
        }
        self.put(place, timer);
    }

    /// Puts a timer where the first one was, or below it.
    fn sink(&mut self, timer: (Instant, u32)) {
        let mut place = 0;
        loop {
            let left = 2 * place + 1;
            let Some(&at_left) = self.heap.get(left) else {
                break;
            };
            self.looked_at += 1;
            let (below, least) = match self.heap.get(left + 1) {
                Some(&at_right) if at_right < at_left => (left + 1, at_right),
                _ => (left, at_left),
            };
            if timer <= least {
                break;
            }
            self.put(place, least);
            place = below;
        }
        self.put(place, timer);
    }

    fn put(&mut self, place: usize, timer: (Instant, u32)) {
        self.heap[place] = timer;
        self.places[timer.1 as usize] = place as u32;
    }

    #[cfg(feature = "simulated")]
    pub(crate) fn rung(&self) -> (u64, u64) {
        (self.rung, self.looked_at)
    }

    /// When the timer of `key` rings; `NEVER`: it has none.
    #[cfg(any(feature = "simulated", test))]
    pub(crate) fn of(&self, key: u32) -> Instant {
        let place = self.places.get(key as usize);
        let set = place.and_then(|&place| self.heap.get(place as usize));
        set.map_or(Instant::NEVER, |set| set.0)
    }

    /// Bytes of the timers and of their index.
    #[cfg(feature = "simulated")]
    pub(crate) fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<(Instant, u32)>()
            + self.places.capacity() * size_of::<u32>()
    }

    /// All timers in the order of their keys.
    #[cfg(feature = "simulated")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Instant)> {
        let keys = (0..).zip(&self.places);
        keys.filter_map(|(key, &place)| Some((key, self.heap.get(place as usize)?.0)))
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::rng::Rng;

    impl Schedule {
        fn check(&self) {
            for (place, timer) in self.heap.iter().enumerate() {
                assert_eq!(self.places[timer.1 as usize] as usize, place);
                assert!(place == 0 || self.heap[(place - 1) / 2] < *timer);
            }
            let set = self.places.iter().filter(|&&place| place != NOWHERE);
            assert_eq!(set.count(), self.heap.len());
        }
    }

    /// The earliest of a map's timers, that of the least key if there are several.
    fn earliest(model: &BTreeMap<u32, Instant>) -> Option<(Instant, u32)> {
        model.iter().map(|(&key, &when)| (when, key)).min()
    }

    fn agrees_with_a_map(seed: u64, keys: u64) {
        let (mut schedule, mut model) = (Schedule::new(), BTreeMap::new());
        let (mut rng, mut now) = (Rng::new(seed), 0);
        for _ in 0..20_000 {
            let key = rng.below(keys) as u32;
            if rng.chance(700_000) {
                let when = Instant(now + rng.below(50));
                let old = model.get(&key).copied().unwrap_or(Instant::NEVER);
                assert_eq!(schedule.lower(key, when), when < old, "seed {seed}");
                model.insert(key, old.min(when));
            } else {
                now += rng.below(10);
                let due = earliest(&model).filter(|first| first.0 <= Instant(now));
                let taken = schedule.take_due(Instant(now));
                assert_eq!(taken, due.map(|due| due.1), "seed {seed}");
                taken.map(|key| model.remove(&key));
            }
            let first = earliest(&model).map_or(Instant::NEVER, |first| first.0);
            assert_eq!(schedule.first(), first, "seed {seed}");
            let set = model.get(&key).copied().unwrap_or(Instant::NEVER);
            assert_eq!(schedule.of(key), set, "seed {seed}");
            schedule.check();
        }
    }

    #[test]
    fn agrees_with_a_map_under_random_use() {
        for (seed, keys) in (1..).zip([1, 2, 3, 7, 30, 300]) {
            agrees_with_a_map(seed, keys);
        }
    }

    #[test]
    fn timers_of_one_moment_ring_in_the_order_of_their_keys() {
        for offset in 0..10 {
            let mut schedule = Schedule::new();
            for key in 0..10 {
                schedule.lower((key * 7 + offset) % 10, Instant(5));
            }
            let rung = core::iter::from_fn(|| schedule.take_due(Instant(5)));
            assert_eq!(rung.collect::<Vec<_>>(), Vec::from_iter(0..10));
        }
    }
}
