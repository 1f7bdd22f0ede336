//! The seeded generator of the core, and the clauses in which a program is drawn from it.

use rmpp_core::Rng as Words;

#[derive(Clone, Debug)]
pub(crate) struct Rng(Words);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Words::new(seed))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number in `0..limit`; 0 when `limit` is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }

    /// An index of something with `len` entries, of which there is at least one.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        assert!(len > 0, "nothing to choose from");
        self.below(len as u64) as usize
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.index(last + 1));
        }
    }
}
