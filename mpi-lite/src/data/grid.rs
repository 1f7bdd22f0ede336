//! Parts of arrays with several dimensions, as nested strides.
//!
//! Source: MPI 5.0, 5.1.3 (subarrays), 5.1.4 (distributed arrays).

use super::datatype::{Block, Datatype, Limits, TOO_LARGE};
use super::layout::{List, Shape};
use crate::error::Result;

/// The indices of one dimension that belong to a part of an array: `count` blocks of `block`
/// indices, `period` indices from start to start, and behind them a shorter block of `rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    size: u64,
    start: u64,
    count: u64,
    block: u64,
    period: u64,
    rest: u64,
}

impl Axis {
    /// The `len` indices from `start` on, of `size`.
    #[must_use]
    pub fn range(size: u64, start: u64, len: u64) -> Self {
        Self {
            size,
            start,
            count: 1,
            block: len,
            period: 0,
            rest: 0,
        }
    }

    /// The indices of process `place` of `places` if blocks of `block` of the `size` indices are
    /// dealt out to the processes in turn.
    #[must_use]
    pub fn dealt(size: u64, block: u64, (place, places): (u64, u64)) -> Self {
        let start = place.saturating_mul(block);
        let period = places.saturating_mul(block);
        let here = size.saturating_sub(start);
        let (rounds, last) = match period {
            0 => (0, 0),
            _ => (here / period, here % period),
        };
        let count = rounds + u64::from(last >= block && block > 0);
        let rest = if last < block { last } else { 0 };
        if count == 0 {
            return Self::range(size, start.min(size), rest);
        }
        Self {
            size,
            start,
            count,
            block,
            period,
            rest,
        }
    }
}

impl Datatype {
    /// The part of an array of these elements whose indices are on all of `axes`, outermost first.
    /// The new datatype has the lower bound 0 and the extent of the whole array.
    ///
    /// # Errors
    /// [`Cause::Datatype`](crate::error::Cause::Datatype) if it is too large.
    pub fn grid(&self, axes: &[Axis]) -> Result<Self> {
        let mut nest = Nest {
            item: self.clone(),
            levels: Vec::new(),
            start: 0,
            stride: self.extent(),
        };
        for axis in axes.iter().rev() {
            nest.add(axis)?;
        }
        let block = Block {
            displacement: nest.start,
            count: 1,
            datatype: strided(&nest.item, &nest.levels)?,
        };
        let limits = Limits::Given((0, nest.stride));
        Self::limited(Shape::Listed(List::new(vec![block])), limits)
    }
}

/// `count` items, `stride` bytes from start to start.
type Level = (u64, i64);

/// The dimensions of a part of an array, as far as they were added, innermost first.
struct Nest {
    /// What is repeated.
    item: Datatype,
    /// How, innermost first; levels that continue each other are one.
    levels: Vec<Level>,
    /// Bytes from the start of the array to the first item.
    start: i64,
    /// Bytes from an index of the next dimension to the following one.
    stride: i64,
}

impl Nest {
    /// Adds the next outer dimension.
    fn add(&mut self, axis: &Axis) -> Result<()> {
        let stride = self.stride;
        let start = times(axis.start, stride)?;
        self.start = self.start.checked_add(start).ok_or(TOO_LARGE)?;
        self.stride = times(axis.size, stride)?;
        let period = times(axis.period, stride)?;
        if axis.rest == 0 {
            push(&mut self.levels, (axis.block, stride));
            push(&mut self.levels, (axis.count, period));
            return Ok(());
        }
        let inner = strided(&self.item, &self.levels)?;
        let mut whole = vec![];
        push(&mut whole, (axis.block, stride));
        push(&mut whole, (axis.count, period));
        let part = |displacement, levels: &[Level]| -> Result<Block> {
            Ok(Block {
                displacement,
                count: 1,
                datatype: strided(&inner, levels)?,
            })
        };
        let parts = vec![
            part(0, &whole)?,
            part(times(axis.count, period)?, &[(axis.rest, stride)])?,
        ];
        self.item = Datatype::build(Shape::Listed(List::new(parts)))?;
        self.levels.clear();
        Ok(())
    }
}

/// Adds a level, or makes the last one longer if the new one continues it.
fn push(levels: &mut Vec<Level>, (count, stride): Level) {
    match levels.last_mut() {
        _ if count == 1 => {}
        Some((inner, step)) if times(*inner, *step).ok() == Some(stride) => {
            *inner = inner.saturating_mul(count);
        }
        _ => levels.push((count, stride)),
    }
}

/// Items in nested strides, innermost first. The innermost level becomes the block of the next one
/// if its items follow each other.
fn strided(item: &Datatype, levels: &[Level]) -> Result<Datatype> {
    let (block, levels) = match levels.split_first() {
        Some((&(count, stride), outer)) if stride == item.extent() => (count, outer),
        _ => (1, levels),
    };
    match levels.split_first() {
        None if block == 1 => Ok(item.clone()),
        None => item.contiguous(block),
        Some((&(count, stride), outer)) => outer.iter().try_fold(
            item.hvector(count, block, stride)?,
            |inner, &(count, stride)| inner.hvector(count, 1, stride),
        ),
    }
}

fn times(count: u64, stride: i64) -> Result<i64> {
    let count = i64::try_from(count).map_err(|_| TOO_LARGE)?;
    Ok(count.checked_mul(stride).ok_or(TOO_LARGE)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Basic, Buffer};
    use crate::memory::Span;

    /// The places of the bytes of an array that belong to the part, found one by one.
    fn packed(part: &Datatype, bytes: usize) -> Vec<u8> {
        let mut memory: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
        Buffer::at(Span::of(&mut memory).origin(0), 1, part.clone()).pack()
    }

    fn byte() -> Datatype {
        Basic::Byte.into()
    }

    #[test]
    fn the_blocks_of_all_processes_are_every_index_once() {
        for (size, block, places) in [(10, 3, 2), (1, 5, 3), (12, 4, 3), (7, 1, 4), (9, 2, 1)] {
            let mut owners = vec![0; size];
            for place in 0..places {
                let axis = Axis::dealt(size as u64, block, (place, places));
                for index in packed(&byte().grid(&[axis]).unwrap(), size) {
                    let owner = u64::from(index) / block % places;
                    assert_eq!(owner, place, "{size} {block} {places}: {index}");
                    owners[usize::from(index)] += 1;
                }
            }
            assert!(owners.iter().all(|count| *count == 1), "{owners:?}");
        }
    }

    #[test]
    fn a_box_of_an_array_is_as_few_strides_as_its_rows_allow() {
        let part = |axes: &[(u64, u64, u64)]| {
            let axes: Vec<_> = axes
                .iter()
                .map(|&(n, at, len)| Axis::range(n, at, len))
                .collect();
            byte().grid(&axes).unwrap()
        };
        // A plane, a row of planes, a column: one stretch, one stretch, one stride.
        for (axes, stripes) in [
            ([(4, 1, 2), (5, 0, 5), (6, 0, 6)], 1),
            ([(4, 1, 2), (5, 2, 2), (6, 0, 6)], 1),
            ([(4, 0, 4), (5, 0, 5), (6, 3, 1)], 1),
            ([(100, 0, 100), (5, 2, 1), (6, 1, 3)], 1),
            ([(3, 0, 3), (100, 0, 99), (6, 1, 3)], 3),
        ] {
            let mut found = 0;
            super::super::layout::stripes(&part(&axes), 1, 0, |_| {
                found += 1;
                true
            });
            assert_eq!(found, stripes, "{axes:?}");
        }
        let whole = part(&[(4, 0, 4), (5, 0, 5), (6, 0, 6)]);
        assert!(whole.is_contiguous());
        assert_eq!(packed(&part(&[(2, 1, 1), (3, 1, 2)]), 6), [4, 5]);
    }
}
