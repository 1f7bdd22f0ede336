//! Values that operators work on, read from and written to bytes of any alignment.

use half::f16;

/// A value of fixed size. The loops are over arrays of bytes, which the compiler vectorises.
pub(super) trait Scalar: Copy {
    const SIZE: usize;

    /// The value at the start of `bytes`.
    fn load(bytes: &[u8]) -> Self;

    /// Writes the value to the start of `bytes`.
    fn store(self, bytes: &mut [u8]);

    /// `inout[i] = op(incoming[i], inout[i])`, element by element.
    #[inline(always)]
    fn fold(incoming: &[u8], inout: &mut [u8], op: impl Fn(Self, Self) -> Self) {
        let left = incoming.chunks_exact(Self::SIZE);
        for (a, b) in left.zip(inout.chunks_exact_mut(Self::SIZE)) {
            op(Self::load(a), Self::load(b)).store(b);
        }
    }
}

/// A value that can be added and multiplied, as C does it; integers wrap.
pub(super) trait Number: Scalar {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// A value with truth and bits.
pub(super) trait Integer: Number + PartialOrd {
    const ZERO: Self;
    const ONE: Self;

    fn is_true(self) -> bool;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

macro_rules! scalar {
    ($($type:ident)*) => {$(
        impl Scalar for $type {
            const SIZE: usize = size_of::<Self>();

            #[inline(always)]
            fn load(bytes: &[u8]) -> Self {
                let value = bytes.first_chunk().expect("a chunk holds one value");
                Self::from_ne_bytes(*value)
            }

            #[inline(always)]
            fn store(self, bytes: &mut [u8]) {
                bytes[..Self::SIZE].copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

macro_rules! integer {
    ($($type:ident)*) => {$(
        scalar!($type);

        impl Number for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }

        impl Integer for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn is_true(self) -> bool {
                self != 0
            }

            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    )*};
}

macro_rules! float {
    ($($type:ident)*) => {$(
        scalar!($type);

        impl Number for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    )*};
}

integer!(i8 u8 i16 u16 i32 u32 i64 u64);
float!(f16 f32 f64);

/// A complex number: real part first.
#[derive(Clone, Copy)]
pub(super) struct Complex<T> {
    re: T,
    im: T,
}

impl<T: Scalar> Scalar for Complex<T> {
    const SIZE: usize = 2 * T::SIZE;

    #[inline(always)]
    fn load(bytes: &[u8]) -> Self {
        Self {
            re: T::load(bytes),
            im: T::load(&bytes[T::SIZE..]),
        }
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        self.re.store(bytes);
        self.im.store(&mut bytes[T::SIZE..]);
    }
}

impl<T: Number> Number for Complex<T> {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self {
            re: self.re.plus(other.re),
            im: self.im.plus(other.im),
        }
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self {
            re: self.re.minus(other.re),
            im: self.im.minus(other.im),
        }
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self {
            re: self.re.times(other.re).minus(self.im.times(other.im)),
            im: self.re.times(other.im).plus(self.im.times(other.re)),
        }
    }
}

/// A value and its index, `EXTENT` bytes from one pair to the next.
pub(super) struct Pair<V, I, const EXTENT: usize>(core::marker::PhantomData<(V, I)>);

impl<V: Scalar + PartialOrd, I: Scalar + PartialOrd, const EXTENT: usize> Pair<V, I, EXTENT> {
    /// Where the index stands: after the value, aligned as in a C struct of both. No index has a
    /// larger alignment than its value but in `MPI_SHORT_INT`.
    const INDEX_AT: usize = V::SIZE.next_multiple_of(I::SIZE);

    /// Keeps the pair whose value is `better`; of equal values the lower index.
    /// Source: MPI 5.0, 6.9.4.
    pub(super) fn fold(incoming: &[u8], inout: &mut [u8], better: impl Fn(V, V) -> bool) {
        // Padding after the last pair is not part of what is occupied: take what is there.
        let used = Self::INDEX_AT + I::SIZE;
        for (a, b) in incoming.chunks(EXTENT).zip(inout.chunks_mut(EXTENT)) {
            if a.len() < used || b.len() < used {
                return;
            }
            let (value, kept) = (V::load(a), V::load(b));
            let (index, kept_index) =
                (I::load(&a[Self::INDEX_AT..]), I::load(&b[Self::INDEX_AT..]));
            if better(value, kept) {
                value.store(b);
                index.store(&mut b[Self::INDEX_AT..]);
            } else if value == kept && index < kept_index {
                index.store(&mut b[Self::INDEX_AT..]);
            }
        }
    }
}
