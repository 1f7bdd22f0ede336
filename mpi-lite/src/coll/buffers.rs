//! Checks and splits the program's buffers for collectives.

use core::ops::Range;
use std::collections::BinaryHeap;

use crate::data::Buffer;
use crate::error::{Cause, Error, Result};

/// What a process gives to a collective.
#[derive(Clone, Debug)]
pub enum Input {
    /// The elements in a buffer of their own.
    Buffer(Buffer),
    /// `MPI_IN_PLACE`: the elements lie where the result goes.
    InPlace,
}

impl Input {
    /// Returns the buffer, or `place`.
    #[inline]
    pub(super) fn or<'a>(&'a self, place: &'a Buffer) -> &'a Buffer {
        match self {
            Self::Buffer(buffer) => buffer,
            Self::InPlace => place,
        }
    }

    /// Puts the data in their place, unless they are there.
    pub(super) fn keep(&self, place: &Buffer) -> Result<()> {
        match self {
            Self::Buffer(own) => keep(own, place),
            Self::InPlace => Ok(()),
        }
    }

    /// The own block of the process of rank `here`: at the root it may be in place, among those of
    /// `all`.
    pub(super) fn block(&self, here: usize, all: Option<&[Buffer]>) -> Result<Buffer> {
        match (self, all) {
            (Self::InPlace, Some(all)) => Ok(all[here].clone()),
            _ => self.required().cloned(),
        }
    }

    /// The own block of the process of rank `here`: at the root it may be in place, among those
    /// that begin with `first`.
    pub(super) fn nth(&self, here: usize, first: Option<&Buffer>) -> Result<Buffer> {
        match (self, first) {
            (Self::InPlace, Some(first)) => Ok(nth(first, here)),
            _ => self.required().cloned(),
        }
    }

    /// Returns the buffer. `MPI_IN_PLACE` is an error.
    pub(super) fn required(&self) -> Result<&Buffer> {
        match self {
            Self::Buffer(buffer) => Ok(buffer),
            Self::InPlace => {
                Err(Cause::Argument("only the root may pass MPI_IN_PLACE here").into())
            }
        }
    }
}

/// Says that memory was given twice.
pub(super) const SEND_IN_PLACE: Cause = Cause::Overlap(
    "sendbuf and recvbuf overlap: pass MPI_IN_PLACE as sendbuf, or memory of its own",
);

/// Says that memory was given twice, in a call whose result may stay in place.
pub(super) const RECEIVE_IN_PLACE: Cause = Cause::Overlap(
    "sendbuf and recvbuf overlap: pass MPI_IN_PLACE as recvbuf, or memory of its own",
);

/// The blocks of a buffer argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given<'a> {
    /// Equal blocks that lie side by side: the first one, and how many there are.
    Equal(&'a Buffer, u32),
    /// One for each process.
    Each(&'a [Buffer]),
}

impl<'a> Given<'a> {
    /// What this process gives, as `number` blocks side by side, if it is not in place.
    #[inline]
    pub(super) fn by(input: &'a Input, number: usize) -> Option<Self> {
        match input {
            Input::Buffer(buffer) => Some(Self::Equal(buffer, number as u32)),
            Input::InPlace => None,
        }
    }

    /// Refuses memory that is given twice. Source: MPI 5.0, 2.3.
    #[inline]
    pub(super) fn refuse_overlap(self, given: Option<Given<'_>>, why: Cause) -> Result<()> {
        match given {
            Some(given) if given.overlaps(self) => Err(why.into()),
            _ => Ok(()),
        }
    }

    /// Returns true if a byte belongs to both arguments. It compares two ranges if the arguments
    /// lie apart. Of data with gaps it compares only the first byte of each block, so that it never
    /// refuses columns that interleave.
    #[must_use]
    #[inline]
    pub(super) fn overlaps(self, other: Self) -> bool {
        if let (Self::Equal(one, ones), Self::Equal(two, twos)) = (self, other)
            && let (Some(one), Some(two)) = (one.addresses(ones), two.addresses(twos))
        {
            return one.start.max(two.start) < one.end.min(two.end);
        }
        self.overlaps_by_hull(other)
    }

    #[inline(never)]
    fn overlaps_by_hull(self, other: Self) -> bool {
        match (self.hull(), other.hull()) {
            (Some(one), Some(two)) if one.start < two.end && two.start < one.end => {
                self.overlaps_within(other)
            }
            _ => false,
        }
    }

    /// Compares block by block, in the order of their addresses.
    #[cold]
    fn overlaps_within(self, other: Self) -> bool {
        let mut blocks: Vec<(usize, usize, usize)> = Vec::new();
        self.visit(|block| blocks.push((block.start, block.end, 0)));
        other.visit(|block| blocks.push((block.start, block.end, 1)));
        let mut ends = [0; 2];
        let blocks = BinaryHeap::from(blocks).into_sorted_vec();
        blocks.into_iter().any(|(start, end, side)| {
            ends[side] = end.max(ends[side]);
            start < ends[1 - side]
        })
    }

    /// Returns the range from the first address to the last one.
    fn hull(self) -> Option<Range<usize>> {
        let mut hull: Option<Range<usize>> = None;
        self.visit(|block| {
            hull = Some(match hull.take() {
                None => block,
                Some(hull) => hull.start.min(block.start)..hull.end.max(block.end),
            });
        });
        hull
    }

    /// Visits the addresses that hold data for certain.
    fn visit(self, mut visit: impl FnMut(Range<usize>)) {
        let mut visit_block = |block: &Buffer| {
            let range = block.certain();
            if !range.is_empty() {
                visit(range);
            }
        };
        match self {
            Self::Each(blocks) => blocks.iter().for_each(visit_block),
            Self::Equal(first, number) => {
                let (count, number) = (first.count(), u64::from(number));
                let all = first.part(0, count.saturating_mul(number));
                if all.contiguous().is_some() {
                    return visit_block(&all);
                }
                for place in 0..number {
                    visit_block(&first.part(place.wrapping_mul(count).cast_signed(), count));
                }
            }
        }
    }
}

/// Returns the argument that only the root gives.
pub(super) fn at_root<T>(argument: Option<T>) -> Result<T> {
    let why = "the root must give a buffer for all processes";
    argument.ok_or_else(|| Cause::Argument(why).into())
}

/// Checks that there is one buffer per process, as the calls with counts per process need.
pub(super) fn check_each(buffers: &[Buffer], size: usize) -> Result<()> {
    if buffers.len() != size {
        return Err(Cause::Argument("there must be one buffer per process").into());
    }
    buffers
        .iter()
        .try_for_each(|buffer| buffer.check().map(drop))
}

/// Checks the blocks that begin with `first`: as many elements for each of `size` processes.
#[inline]
pub(super) fn check_blocks(first: &Buffer, size: usize) -> Result<()> {
    let count = first.count();
    let total = count.checked_mul(size as u64).ok_or(Cause::Count {
        count,
        size: first.datatype().size(),
    })?;
    first.part(0, total).check().map(drop)
}

/// Checks what this process gives, and that it fills its place: as each message of a collective
/// does. Source: MPI 5.0, 6.1 (the amount sent is the amount that the receiver specifies).
#[inline]
pub(super) fn check_fills(own: &Input, place: &Buffer) -> Result<()> {
    match own {
        Input::Buffer(own) => fills(own.check()?, place.bytes()?),
        Input::InPlace => Ok(()),
    }
}

/// Checks where this process's block goes, and that the block fills it.
pub(super) fn check_filled(place: &Input, block: &Buffer) -> Result<()> {
    match place {
        Input::Buffer(place) => fills(block.bytes()?, place.check()?),
        Input::InPlace => Ok(()),
    }
}

#[inline]
fn fills(len: u64, room: u64) -> Result<()> {
    match len == room {
        true => Ok(()),
        false => Err(differs(len, room)),
    }
}

#[cold]
fn differs(len: u64, room: u64) -> Error {
    if len > room {
        return Cause::Truncate { len, room }.into();
    }
    let why = format!(
        "this process gives {len} bytes where it expects {room} of each process: counts and \
         datatypes of all processes must describe the same amount of data"
    );
    Cause::Collective(why.into()).into()
}

/// The block of this rank, where `first` is that of rank 0 and the others follow it.
#[inline]
pub(super) fn nth(first: &Buffer, rank: usize) -> Buffer {
    let count = first.count();
    first.part((rank as u64 * count) as i64, count)
}

/// The blocks of `size` processes, in rank order: `first`, and what follows it.
pub(super) fn parts(first: &Buffer, size: usize) -> Vec<Buffer> {
    (0..size).map(|rank| nth(first, rank)).collect()
}

/// Splits `whole` into `size` parts whose lengths differ by one element at most.
pub(super) fn split(whole: &Buffer, size: usize) -> Vec<Buffer> {
    let (count, size) = (whole.count(), size as u64);
    // `count * index / size` without overflow.
    let start = |index: u64| count / size * index + count % size * index / size;
    (0..size)
        .map(|index| whole.part(start(index) as i64, start(index + 1) - start(index)))
        .collect()
}

/// How many elements like those of `buffer` fit so many bytes: one at least.
pub(super) fn fitting(buffer: &Buffer, bytes: u64) -> u64 {
    (bytes / buffer.datatype().size().max(1)).max(1)
}

/// In how many pieces of at most `each` elements `count` elements go, and how many of them are in
/// the first one. That tells the number of pieces: so a process with another number of elements
/// notices, in the first piece or in the last one, unless a piece has few elements.
fn cut(count: u64, each: u64) -> (u64, u64) {
    let pieces = count.div_ceil(each.saturating_sub(1).max(1));
    match pieces > 1 && pieces < each / 2 {
        true => (pieces, each - pieces),
        false => (count.div_ceil(each), each),
    }
}

/// In how many [`pieces`] the elements of `whole` go.
pub(super) fn number_of_pieces(whole: &Buffer, each: u64) -> u64 {
    cut(whole.count(), each).0
}

/// The elements of `whole` in pieces of at most `each`.
pub(super) fn pieces(whole: &Buffer, each: u64) -> impl Iterator<Item = Buffer> {
    let (count, first) = (whole.count(), cut(whole.count(), each).1);
    let mut at = 0;
    core::iter::from_fn(move || {
        let most = if at == 0 { first } else { each };
        let piece = whole.part(at as i64, most.min(count - at));
        at += piece.count();
        (piece.count() > 0).then_some(piece)
    })
}

/// Moves the root's own block, unless it is in place already.
pub(super) fn keep(own: &Buffer, place: &Buffer) -> Result<()> {
    let in_place = own.origin().addr() == place.origin().addr()
        && own.count() == place.count()
        && own.datatype().is_same(place.datatype());
    if !in_place {
        place.copy_from(own)?;
    }
    Ok(())
}

/// Unpacks a block into its place, which is not shorter.
pub(super) fn lay_down(place: &Buffer, bytes: &[u8]) -> Result<()> {
    let (len, room) = (bytes.len() as u64, place.bytes()?);
    if len > room {
        return Err(Cause::Truncate { len, room }.into());
    }
    place.unpack(bytes);
    Ok(())
}

/// Returns the blocks `which` of `all`, of `count` elements each.
pub(super) fn blocks(all: &Buffer, count: usize, which: Range<usize>) -> Buffer {
    all.part((which.start * count) as i64, (which.len() * count) as u64)
}

/// Checks that the input and the result of a reduction have as many elements.
pub(super) fn check_counts(send: &Buffer, receive: &Buffer) -> Result<()> {
    if send.count() != receive.count() {
        let why = "a reduction has as many results as elements";
        return Err(Cause::Argument(why).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Basic, Datatype};

    /// `count` bytes from byte `first` on.
    fn block(bytes: &mut [u8], first: usize, count: usize) -> Buffer {
        Buffer::of_bytes(&mut bytes[first..first + count])
    }

    #[test]
    fn buffers_overlap_exactly_if_they_have_a_byte_in_common() {
        let mut bytes = [0_u8; 64];
        for (first, count) in (0..16).flat_map(|first| (0..8).map(move |count| (first, count))) {
            let place = block(&mut bytes, 4, 2);
            let given = block(&mut bytes, first, count);
            // Three places of two bytes each: bytes 4 to 9.
            let meets = count > 0 && first < 10 && first + count > 4;
            let (given, place) = (Given::Equal(&given, 1), Given::Equal(&place, 3));
            assert_eq!(given.overlaps(place), meets, "{first} {count}");
            assert_eq!(place.overlaps(given), meets, "{first} {count}");
        }
    }

    #[test]
    fn blocks_that_interleave_without_a_common_byte_do_not_overlap() {
        let mut bytes = [0_u8; 64];
        let even: Vec<_> = [8, 0, 16].map(|at| block(&mut bytes, at, 4)).into();
        let mut odd: Vec<_> = [20, 4, 12].map(|at| block(&mut bytes, at, 4)).into();
        assert!(!Given::Each(&even).overlaps(Given::Each(&odd)));
        odd.push(block(&mut bytes, 11, 1));
        assert!(Given::Each(&even).overlaps(Given::Each(&odd)));
    }

    #[test]
    fn columns_of_one_matrix_overlap_only_if_they_are_the_same() {
        let mut bytes = [0_u8; 64];
        let column = Datatype::Basic(Basic::Byte)
            .vector(4, 1, 4)
            .expect("it fits");
        let mut at = |first| {
            let first = block(&mut bytes, first, 1);
            Buffer::at(first.origin(), 1, column.clone())
        };
        let (one, other) = (at(0), at(1));
        let one = Given::Equal(&one, 1);
        assert!(one.overlaps(one));
        assert!(!one.overlaps(Given::Equal(&other, 1)));
    }

    /// So a process that expects another number of elements notices.
    #[test]
    fn the_pieces_of_one_number_of_elements_are_no_beginning_of_those_of_another() {
        let mut byte = [0; 1];
        let empty = block(&mut byte, 0, 0);
        let lengths = |count| -> Vec<u64> {
            let all = empty.part(0, count);
            pieces(&all, 64).map(|piece| piece.count()).collect()
        };
        let all: Vec<_> = (65..1500).map(lengths).collect();
        for (one, other) in all.iter().zip(&all[1..]) {
            assert!(!one.starts_with(other) && !other.starts_with(one));
        }
        for (count, lengths) in (65..1500).zip(&all) {
            assert_eq!(lengths.iter().sum::<u64>(), count);
            let far = all.iter().filter(|other| other.starts_with(lengths));
            assert_eq!(far.count(), 1, "{count}");
        }
    }
}
