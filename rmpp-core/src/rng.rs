//! A small seeded generator: spreads timeouts, drives the simulator, and draws what a bad network
//! does.

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, every seed good.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator that repeats itself for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[cfg_attr(feature = "simulated", inline)]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..limit`; 0 when `limit` is 0.
    #[cfg_attr(feature = "simulated", inline)]
    pub fn below(&mut self, limit: u64) -> u64 {
        // Multiply-shift: the bias is below 2^-32 for the small limits used here.
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// True with probability `per_million / 1e6`.
    #[cfg_attr(feature = "simulated", inline)]
    pub fn chance(&mut self, per_million: u32) -> bool {
        per_million > 0 && self.below(1_000_000) < u64::from(per_million)
    }

    /// One of `choices`, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
