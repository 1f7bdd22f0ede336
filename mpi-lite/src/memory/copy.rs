//! The copies between runs of bytes and one stretch of memory.
#![expect(unsafe_code, reason = "the user's buffers are raw addresses")]

#[cfg(all(target_arch = "x86_64", not(miri)))]
use core::arch::asm;
use core::marker::PhantomData;
use core::ops::{Range, RangeInclusive};

use super::{Bytes, Origin, Room, Span};

/// Elements of equal layout, each as far from the one before as the next. An element is one run of
/// bytes, or several.
#[derive(Clone, Copy, Debug)]
pub struct Stripe<'a> {
    /// Displacement of the first element.
    pub at: i64,
    /// Where the runs of an element start, from the place of the element on; at least one.
    pub places: &'a [i64],
    /// How long they are.
    pub lengths: Lengths<'a>,
    /// Bytes from the start of an element to that of the next.
    pub step: i64,
    /// Elements.
    pub count: u64,
}

/// The bytes of each run of an element.
#[derive(Clone, Copy, Debug)]
pub enum Lengths<'a> {
    /// All runs are equally long, and not empty.
    Even(u64),
    /// Each run ends so many bytes of data behind a common start, and none is empty.
    Ends {
        /// Bytes of data from the common start to the first run.
        before: u64,
        /// Bytes of data from the common start to the end of each run.
        ends: &'a [u64],
    },
}

impl<'a> Stripe<'a> {
    /// Bytes of data in an element.
    #[inline]
    #[must_use]
    pub fn size(&self) -> u64 {
        match self.lengths {
            Lengths::Even(len) => len * self.places.len() as u64,
            Lengths::Ends { before, ends } => ends.last().map_or(0, |end| end - before),
        }
    }

    /// Returns how many runs of an element end within its first `bytes` bytes, and their bytes.
    #[must_use]
    pub fn runs_within(&self, bytes: u64) -> (usize, u64) {
        match self.lengths {
            Lengths::Even(len) => {
                let runs = (bytes / len).min(self.places.len() as u64);
                (runs as usize, runs * len)
            }
            Lengths::Ends { before, ends } => {
                let runs = ends.partition_point(|end| end - before <= bytes);
                (runs, self.start(runs))
            }
        }
    }

    /// Bytes of an element before its run `index`.
    fn start(&self, index: usize) -> u64 {
        match self.lengths {
            Lengths::Even(len) => index as u64 * len,
            Lengths::Ends { before, ends } => {
                let last = index.checked_sub(1);
                last.map_or(0, |last| ends[last] - before)
            }
        }
    }

    /// Bytes of run `index`.
    #[must_use]
    pub fn run_len(&self, index: usize) -> u64 {
        match self.lengths {
            Lengths::Even(len) => len,
            Lengths::Ends { before, ends } => ends[index] - before - self.start(index),
        }
    }

    /// The displacement and the bytes of each run, element by element.
    pub fn runs(self) -> impl Iterator<Item = (i64, u64)> + 'a {
        (0..self.count as i64).flat_map(move |number| {
            let at = self.at + number * self.step;
            (0..self.places.len()).map(move |run| (at + self.places[run], self.run_len(run)))
        })
    }

    /// The runs `range` of the element `number`, which is the only one then.
    #[must_use]
    pub fn runs_of(&self, number: u64, range: Range<usize>) -> Self {
        let lengths = match self.lengths {
            Lengths::Even(_) => self.lengths,
            Lengths::Ends { before, ends } => Lengths::Ends {
                before: before + self.start(range.start),
                ends: &ends[range.clone()],
            },
        };
        Self {
            at: self.at + number as i64 * self.step,
            places: &self.places[range],
            lengths,
            step: 0,
            count: 1,
        }
    }
}

/// The stretch of memory on the other side of a copy, as far as it has not been copied.
#[derive(Debug)]
pub struct Packed<'a> {
    rest: Span,
    way: Way,
    borrowed: PhantomData<Room<'a>>,
}

/// Which way bytes go between runs and one stretch of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Out of the runs (packing).
    Out,
    /// Into them (unpacking).
    Into,
}

impl<'a> From<Room<'a>> for Packed<'a> {
    fn from(room: Room<'a>) -> Self {
        Self {
            rest: room.span,
            way: Way::Out,
            borrowed: PhantomData,
        }
    }
}

impl<'a> From<Bytes<'a>> for Packed<'a> {
    fn from(bytes: Bytes<'a>) -> Self {
        Self {
            rest: bytes.span,
            way: Way::Into,
            borrowed: PhantomData,
        }
    }
}

impl Packed<'_> {
    /// Bytes that have not been copied.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.rest.len
    }

    /// Returns true if all have been copied.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.len == 0
    }
}

impl Origin {
    /// Copies between the runs of `stripe` and `packed`, where they lie one behind the other, as
    /// far as that goes.
    pub fn copy(&self, stripe: Stripe<'_>, packed: &mut Packed<'_>) {
        let done = match packed.way {
            way if self.is_null() => self.copy_absolute(stripe, packed.rest, way),
            Way::Out => self.copy_stripe::<true>(stripe, packed.rest),
            Way::Into => self.copy_stripe::<false>(stripe, packed.rest),
        };
        packed.rest = packed.rest.tail(done);
    }

    /// Copies run by run: each may lie in memory of its own.
    #[cold]
    fn copy_absolute(&self, stripe: Stripe<'_>, packed: Span, way: Way) -> usize {
        let mut done = 0;
        for (place, len) in stripe.runs() {
            let rest = packed.part(done, usize::try_from(len).unwrap_or(usize::MAX));
            let run = self.at(place, rest.len);
            done += match way {
                Way::Out => rest.copy_from(run),
                Way::Into => run.copy_from(rest),
            };
            if done == packed.len {
                break;
            }
        }
        done
    }

    fn copy_stripe<const OUT: bool>(&self, stripe: Stripe<'_>, packed: Span) -> usize {
        let size = stripe.size();
        let whole = (packed.len as u64 / size).min(stripe.count);
        self.copy_whole::<OUT>(
            Stripe {
                count: whole,
                ..stripe
            },
            packed,
        );
        let done = (whole * size) as usize;
        if done == packed.len || whole == stripe.count {
            return done;
        }
        // A part of the next element, whose last run may be a part too.
        let rest = packed.tail(done);
        let (runs, bytes) = stripe.runs_within(rest.len as u64);
        self.copy_whole::<OUT>(stripe.runs_of(whole, 0..runs), rest);
        let rest = rest.tail(bytes as usize);
        if rest.len > 0 {
            let place = stripe.at + whole as i64 * stripe.step + stripe.places[runs];
            // SAFETY: the run has more bytes than `rest`.
            unsafe { copy_run::<OUT>(self.0.wrapping_offset(place as isize), rest.addr, rest.len) };
        }
        packed.len
    }

    /// Copies elements of which all bytes are there.
    fn copy_whole<const OUT: bool>(&self, stripe: Stripe<'_>, packed: Span) {
        // Short runs are most of the work where there are any: known lengths need no call.
        match stripe.lengths {
            Lengths::Even(4) => self.copy_even::<OUT>(stripe, 4, packed),
            Lengths::Even(8) => self.copy_even::<OUT>(stripe, 8, packed),
            Lengths::Even(12) => self.copy_even::<OUT>(stripe, 12, packed),
            Lengths::Even(16) => self.copy_even::<OUT>(stripe, 16, packed),
            Lengths::Even(24) => self.copy_even::<OUT>(stripe, 24, packed),
            Lengths::Even(32) => self.copy_even::<OUT>(stripe, 32, packed),
            Lengths::Even(64) => self.copy_even::<OUT>(stripe, 64, packed),
            Lengths::Even(len) => self.copy_even::<OUT>(stripe, len as usize, packed),
            Lengths::Ends { before, ends } => {
                self.copy_uneven::<OUT>(stripe, (before, ends), packed);
            }
        }
    }

    #[inline(always)]
    fn copy_even<const OUT: bool>(&self, stripe: Stripe<'_>, len: usize, packed: Span) {
        let mut packed = packed.addr;
        let mut element = self.0.wrapping_offset(stripe.at as isize);
        // The bytes that are written soon: the copies of longer runs wait for these lines most.
        let prefetch = |run: *mut u8, packed: *mut u8| {
            if PREFETCHED.contains(&len) {
                let next = if OUT {
                    packed.wrapping_add(2 * len)
                } else {
                    run.wrapping_offset(stripe.step as isize)
                };
                prefetch_lines(next, len);
            }
        };
        if let [place] = *stripe.places {
            element = element.wrapping_offset(place as isize);
            for _ in 0..stripe.count {
                prefetch(element, packed);
                // SAFETY: `packed` holds all runs; they are part of the buffer, whose creator
                // vouched for all its bytes.
                unsafe { copy_run::<OUT>(element, packed, len) };
                packed = packed.wrapping_add(len);
                element = element.wrapping_offset(stripe.step as isize);
            }
            return;
        }
        for _ in 0..stripe.count {
            for place in stripe.places {
                let run = element.wrapping_offset(*place as isize);
                prefetch(run, packed);
                // SAFETY: as above.
                unsafe { copy_run::<OUT>(run, packed, len) };
                packed = packed.wrapping_add(len);
            }
            element = element.wrapping_offset(stripe.step as isize);
        }
    }

    fn copy_uneven<const OUT: bool>(
        &self,
        stripe: Stripe<'_>,
        (before, ends): (u64, &[u64]),
        packed: Span,
    ) {
        let mut packed = packed.addr;
        for number in 0..stripe.count as i64 {
            let at = stripe.at + number * stripe.step;
            let (base, mut start) = (self.0.wrapping_offset(at as isize), before);
            for (place, &end) in stripe.places.iter().zip(ends) {
                let len = (end - start) as usize;
                start = end;
                // SAFETY: as in `copy_even`.
                unsafe {
                    copy_run::<OUT>(base.wrapping_offset(*place as isize), packed, len);
                    packed = packed.add(len);
                }
            }
        }
    }
}

/// The lengths of runs whose next lines are asked for ahead. The processor sees the pattern of
/// shorter ones, and longer ones hide the wait for their first lines.
const PREFETCHED: RangeInclusive<usize> = 65..=2048;

/// Asks for the cache lines of `len` bytes, to write them. They need not exist. To ask for reading
/// is not enough: the lines of shared memory that another process has read would be fetched twice.
#[inline(always)]
fn prefetch_lines(first: *mut u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for at in (0..len).step_by(64) {
        let line = first.wrapping_add(at);
        // SAFETY: a hint, which accesses no memory in the program's view. A processor without the
        // instruction passes over it.
        unsafe { asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (first, len);
}

/// Copies a run, which is not empty. For a short one there is no call: its first and its last
/// bytes, which overlap in both places, are copied. A program that passes the same memory twice
/// gets wrong data, but not undefined behaviour here.
///
/// # Safety
/// Both addresses must have `len` bytes.
#[inline(always)]
unsafe fn copy_run<const OUT: bool>(run: *mut u8, packed: *mut u8, len: usize) {
    let (from, to) = if OUT { (run, packed) } else { (packed, run) };
    // SAFETY: both have `len` bytes, by the caller's word, of which no part is longer.
    unsafe {
        if len >= 16 {
            match len {
                0..32 => copy_ends::<Wide>(from, to, len),
                32..=64 => {
                    let rest = len - 32;
                    copy_ends::<Wide>(from, to, 32);
                    copy_ends::<Wide>(from.add(rest), to.add(rest), 32);
                }
                _ => core::ptr::copy(from, to, len),
            }
        } else if len >= 8 {
            copy_ends::<u64>(from, to, len);
        } else if len >= 4 {
            copy_ends::<u32>(from, to, len);
        } else {
            let places = [0, len / 2, len - 1];
            let bytes = places.map(|place| from.add(place).read());
            for (place, byte) in places.into_iter().zip(bytes) {
                to.add(place).write(byte);
            }
        }
    }
}

/// Sixteen bytes that are copied at once.
#[cfg(target_arch = "x86_64")]
type Wide = core::arch::x86_64::__m128i;
#[cfg(not(target_arch = "x86_64"))]
type Wide = u128;

/// Copies the first and the last bytes of `len`, as many of each as a `T` has.
///
/// # Safety
/// Both addresses must have `len` bytes, and a `T` no more.
#[inline(always)]
unsafe fn copy_ends<T: Copy>(from: *mut u8, to: *mut u8, len: usize) {
    let rest = len - size_of::<T>();
    // SAFETY: all within `len` bytes; a value may lie anywhere.
    unsafe {
        let first = from.cast::<T>().read_unaligned();
        let last = from.add(rest).cast::<T>().read_unaligned();
        to.cast::<T>().write_unaligned(first);
        to.add(rest).cast::<T>().write_unaligned(last);
    }
}
