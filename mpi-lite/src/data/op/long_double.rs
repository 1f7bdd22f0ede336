//! C's `long double` on x86-64: the x87 format, 80 bits in 16 bytes. Rust has no such type, so
//! the machine's own instructions do the arithmetic, with C's rounding.
//!
//! On other machines `long double` is another format and no operator takes it here.
#![expect(unsafe_code, reason = "x87 instructions have no safe form")]

use core::cmp::Ordering;

use super::scalar::{Number, Scalar};

/// One `long double`, as it lies in memory.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct LongDouble([u8; 16]);

impl LongDouble {
    /// True if this machine has the format.
    pub(super) const IS_SUPPORTED: bool = cfg!(target_arch = "x86_64");
}

impl Scalar for LongDouble {
    const SIZE: usize = 16;

    fn load(bytes: &[u8]) -> Self {
        Self(*bytes.first_chunk().expect("a chunk holds one value"))
    }

    fn store(self, bytes: &mut [u8]) {
        bytes[..Self::SIZE].copy_from_slice(&self.0);
    }
}

/// Runs one x87 instruction on two values and gives its result.
#[cfg(target_arch = "x86_64")]
macro_rules! x87 {
    ($instruction:literal, $left:expr, $right:expr) => {{
        let (left, right) = ($left, $right);
        let mut result = LongDouble([0; 16]);
        // SAFETY: reads ten bytes of each operand and writes ten bytes of the result, all of
        // which are 16 bytes long; the x87 stack is empty before and after, as the ABI asks, and
        // its registers are declared to be overwritten.
        unsafe {
            core::arch::asm!(
                "fld tbyte ptr [{left}]",
                "fld tbyte ptr [{right}]",
                $instruction,
                "fstp tbyte ptr [{result}]",
                left = in(reg) &raw const left,
                right = in(reg) &raw const right,
                result = in(reg) &raw mut result,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        result
    }};
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! x87 {
    ($instruction:literal, $left:expr, $right:expr) => {{
        let _ = ($left, $right);
        unreachable!("operators refuse long double on this machine")
    }};
}

impl Number for LongDouble {
    fn plus(self, other: Self) -> Self {
        x87!("faddp st(1), st", self, other)
    }

    fn minus(self, other: Self) -> Self {
        x87!("fsubp st(1), st", self, other)
    }

    fn times(self, other: Self) -> Self {
        x87!("fmulp st(1), st", self, other)
    }
}

/// The parts of the format: sign, exponent (15 bits), significand (64 bits with the leading one).
struct Parts {
    is_negative: bool,
    exponent: u16,
    significand: u64,
}

impl LongDouble {
    fn parts(&self) -> Parts {
        let significand = self.0.first_chunk().expect("16 bytes hold 8");
        let top = u16::from_le_bytes([self.0[8], self.0[9]]);
        Parts {
            is_negative: top & 0x8000 != 0,
            exponent: top & 0x7fff,
            significand: u64::from_le_bytes(*significand),
        }
    }
}

impl Parts {
    fn is_nan(&self) -> bool {
        self.exponent == 0x7fff && self.significand << 1 != 0
    }

    /// Orders as the numbers do: exponent before significand, negative numbers reversed. Both
    /// zeros are the same.
    fn rank(&self) -> i128 {
        let magnitude = i128::from(self.exponent) << 64 | i128::from(self.significand);
        if self.is_negative {
            -magnitude
        } else {
            magnitude
        }
    }
}

impl PartialEq for LongDouble {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for LongDouble {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let (a, b) = (self.parts(), other.parts());
        (!a.is_nan() && !b.is_nan()).then(|| a.rank().cmp(&b.rank()))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// `value` as a `long double`.
    fn from_f64(value: f64) -> LongDouble {
        let mut result = LongDouble([0; 16]);
        // SAFETY: reads eight bytes, writes ten into sixteen, leaves the x87 stack empty.
        unsafe {
            core::arch::asm!(
                "fld qword ptr [{value}]",
                "fstp tbyte ptr [{result}]",
                value = in(reg) &raw const value,
                result = in(reg) &raw mut result,
                out("st(0)") _,
                options(nostack),
            );
        }
        result
    }

    #[test]
    fn arithmetic_has_64_bits_of_precision() {
        let (one, tiny) = (from_f64(1.0), from_f64(2f64.powi(-60)));
        assert!(one.plus(tiny) > one, "2^-60 is lost in an f64 but not here");
        assert!(one.plus(tiny).minus(one) == tiny);
        assert!(from_f64(3.0).times(from_f64(-4.0)) == from_f64(-12.0));
        assert!(from_f64(3.0).minus(from_f64(4.0)) == from_f64(-1.0));
    }

    #[test]
    fn order_is_that_of_the_numbers() {
        let samples = [
            -1e300, -2.0, -1.5, -1e-300, -0.0, 0.0, 1e-310, 1.0, 1.5, 2.0, 1e300,
        ];
        let all = samples
            .iter()
            .chain([f64::INFINITY, f64::NEG_INFINITY, f64::NAN].iter());
        for a in all.clone() {
            for b in all.clone() {
                assert_eq!(
                    from_f64(*a).partial_cmp(&from_f64(*b)),
                    a.partial_cmp(b),
                    "{a} {b}"
                );
            }
        }
    }
}
