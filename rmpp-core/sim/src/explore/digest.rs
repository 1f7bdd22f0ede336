//! A hash of 128 bits over what is the same when two states are the same.

use std::hash::{Hash, Hasher};

use rmpp_core::Instant;

/// Two lanes of multiply and rotate; moments are taken relative to the present.
pub struct Digest {
    lanes: [u64; 2],
    now: Instant,
}

impl Digest {
    /// Moments longer ago than this are all alike, in nanoseconds; longer than any timeout here.
    pub const PAST_NS: u64 = 16;

    /// The digest of `what`, with moments relative to `now`.
    #[must_use]
    pub fn of(what: &impl Hash, now: Instant) -> u128 {
        let lanes = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];
        let mut digest = Self { lanes, now };
        what.hash(&mut digest);
        let [low, high] = digest.lanes.map(finish);
        u128::from(high) << 64 | u128::from(low)
    }
}

/// The last step of SplitMix64: each bit of the lane reaches each bit of the result.
fn finish(lane: u64) -> u64 {
    let mut z = lane;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        finish(self.lanes[0])
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let [low, high] = &mut self.lanes;
        *low = (*low ^ number)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
        *high = (*high ^ number)
            .wrapping_mul(0xd6e8_feb8_6659_fd93)
            .rotate_left(32);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    /// A moment, see `Instant`'s `Hash`.
    fn write_u128(&mut self, number: u128) {
        let moment = number as u64;
        let relative = match Instant(moment) {
            Instant::NEVER => u64::MAX,
            _ => moment
                .wrapping_add(Self::PAST_NS)
                .saturating_sub(self.now.0),
        };
        self.write_u64(relative);
    }
}
