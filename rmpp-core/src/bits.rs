//! A window of packets as bits: which of the next 256 have come, or must go again.

/// Packets of one message that may be under way at once.
pub(crate) const WINDOW: u32 = 256;

/// Words of a window.
pub(crate) const WORDS: usize = (WINDOW / 64) as usize;

/// 256 bits; bit 0 is the packet that the window begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bits([u64; WORDS]);

impl Bits {
    pub(crate) const NONE: Self = Self([0; WORDS]);

    pub(crate) fn from_words(words: [u64; WORDS]) -> Self {
        Self(words)
    }

    pub(crate) fn words(&self) -> &[u64; WORDS] {
        &self.0
    }

    /// How many words there are up to the last that is not zero.
    pub(crate) fn used_words(&self) -> usize {
        self.highest().map_or(0, |at| at as usize / 64 + 1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Bit `at`; there is none beyond the window.
    pub(crate) fn get(&self, at: u32) -> bool {
        at < WINDOW && self.0[at as usize / 64] >> (at % 64) & 1 == 1
    }

    /// Sets bit `at`, which is in the window; answers whether it was clear.
    pub(crate) fn set(&mut self, at: u32) -> bool {
        let (word, bit) = (&mut self.0[at as usize / 64], 1 << (at % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    pub(crate) fn clear(&mut self, at: u32) {
        self.0[at as usize / 64] &= !(1 << (at % 64));
    }

    #[cfg_attr(feature = "simulated", inline)]
    pub(crate) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The lowest bit that is set.
    pub(crate) fn lowest(&self) -> Option<u32> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(word as u32 * 64 + self.0[word].trailing_zeros())
    }

    /// The highest bit that is set.
    pub(crate) fn highest(&self) -> Option<u32> {
        let word = self.0.iter().rposition(|&word| word != 0)?;
        Some(word as u32 * 64 + self.0[word].ilog2())
    }

    /// How many bits from 0 on are set without a gap.
    pub(crate) fn run(&self) -> u32 {
        let word = self.0.iter().position(|&word| word != u64::MAX);
        word.map_or(WINDOW, |word| {
            word as u32 * 64 + self.0[word].trailing_ones()
        })
    }

    /// Lets the window begin `by` packets later.
    pub(crate) fn advance(&mut self, by: u32) {
        let (skip, shift) = ((by / 64) as usize, by % 64);
        let old = self.0;
        let word = |at: usize| old.get(at).copied().unwrap_or(0);
        for (at, new) in self.0.iter_mut().enumerate() {
            let low = word(at.saturating_add(skip)) >> shift;
            // A shift by 64 would be undefined: a whole word is skipped instead.
            let high = word(at.saturating_add(skip + 1)).checked_shl(64 - shift);
            *new = low | high.unwrap_or(0);
        }
    }

    /// The bits that are set among the first `count`.
    pub(crate) fn first(&self, count: u32) -> Self {
        let mut first = Self::NONE;
        for (at, word) in first.0.iter_mut().enumerate() {
            let wanted = count.saturating_sub(at as u32 * 64).min(64);
            *word = self.0[at] & u64::MAX.checked_shr(64 - wanted).unwrap_or(0);
        }
        first
    }

    /// The bits that are clear among the first `count`.
    pub(crate) fn gaps(&self, count: u32) -> Self {
        let mut gaps = Self::NONE;
        for (at, gap) in gaps.0.iter_mut().enumerate() {
            let wanted = count.saturating_sub(at as u32 * 64).min(64);
            let mask = u64::MAX.checked_shr(64 - wanted).unwrap_or(0);
            *gap = !self.0[at] & mask;
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn agrees_with_an_array_under_random_use() {
        let (mut bits, mut plain) = (Bits::NONE, [false; WINDOW as usize]);
        let mut rng = Rng::new(3);
        for _ in 0..20_000 {
            let at = rng.below(u64::from(WINDOW)) as u32;
            match rng.below(8) {
                0 => {
                    let by = rng.below(300) as u32;
                    bits.advance(by);
                    for to in 0..plain.len() {
                        plain[to] = plain.get(to + by as usize).copied().unwrap_or(false);
                    }
                }
                1 => {
                    bits.clear(at);
                    plain[at as usize] = false;
                }
                _ => {
                    assert_eq!(bits.set(at), !plain[at as usize]);
                    plain[at as usize] = true;
                }
            }
            agree(&bits, &plain, at);
        }
    }

    fn agree(bits: &Bits, plain: &[bool], upto: u32) {
        assert!((0..WINDOW).all(|at| bits.get(at) == plain[at as usize]));
        assert_eq!(
            bits.count() as usize,
            plain.iter().filter(|&&set| set).count()
        );
        let lowest = plain.iter().position(|&set| set);
        assert_eq!(bits.lowest().map(|at| at as usize), lowest);
        let highest = plain.iter().rposition(|&set| set);
        assert_eq!(bits.highest().map(|at| at as usize), highest);
        let run = plain.iter().take_while(|&&set| set).count();
        assert_eq!(bits.run() as usize, run);
        let gaps = bits.gaps(upto);
        assert!((0..WINDOW).all(|at| gaps.get(at) == (at < upto && !plain[at as usize])));
        assert_eq!(Bits::from_words(*bits.words()), *bits);
    }

    #[test]
    fn a_full_window_runs_to_its_end() {
        let mut bits = Bits::NONE;
        (0..WINDOW).for_each(|at| assert!(bits.set(at)));
        assert_eq!((bits.run(), bits.used_words()), (WINDOW, WORDS));
        assert!(bits.gaps(WINDOW).is_empty());
        bits.advance(WINDOW);
        assert!(bits.is_empty());
        assert_eq!(bits.used_words(), 0);
    }
}
