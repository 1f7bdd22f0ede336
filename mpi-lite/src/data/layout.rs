//! How a derived datatype lies in memory: its tree, and the walk over its runs of bytes.

use super::basic::Basic;
use super::datatype::{Block, Datatype};
use crate::memory::Stripe;

/// A range of displacements: start and end.
pub(super) type Range = (i64, i64);

/// The bounds of a datatype, in bytes from the address of an element. What is empty has none and
/// adds nothing to the bounds of what it is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    /// `lb` and `ub`.
    pub(super) marks: Option<Range>,
    /// `true_lb` and `true_ub`: the first byte of data, the end of the last one.
    pub(super) data: Option<Range>,
}

impl Bounds {
    /// Of `count` copies, `step` bytes apart, the first one moved by `by`; the outer `None` means
    /// that they leave the address space.
    fn repeated(self, by: i64, count: u64, step: i64) -> Option<Self> {
        let Some(further) = count.checked_sub(1) else {
            return Some(Self::default());
        };
        let last = i64::try_from(further).ok()?.checked_mul(step)?;
        let least = by.checked_add(last.min(0))?;
        let most = by.checked_add(last.max(0))?;
        let moved = |range: Option<Range>| match range {
            None => Some(None),
            Some((start, end)) => Some(Some((start.checked_add(least)?, end.checked_add(most)?))),
        };
        Some(Self {
            marks: moved(self.marks)?,
            data: moved(self.data)?,
        })
    }

    /// Returns true if the distance between the bounds is a number.
    pub(super) fn are_possible(&self) -> bool {
        let fits = |range: Option<Range>| range.is_none_or(|(a, b)| b.checked_sub(a).is_some());
        fits(self.marks) && fits(self.data)
    }

    fn joined(self, other: Self) -> Self {
        let hull = |a: Option<Range>, b: Option<Range>| match (a, b) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (one, None) | (None, one) => one,
        };
        Self {
            marks: hull(self.marks, other.marks),
            data: hull(self.data, other.data),
        }
    }
}

/// How a datatype was built.
#[derive(Debug)]
pub(super) enum Shape {
    /// `count` blocks, `stride` bytes from start to start, each of `blocklength` items.
    Strided {
        count: u64,
        stride: i64,
        blocklength: u64,
        item: Datatype,
    },
    /// Blocks in the order of the type map.
    Listed(List),
}

/// Blocks, and where the data of each ends.
#[derive(Debug)]
pub(super) struct List {
    blocks: Vec<Block>,
    /// Bytes of data up to the end of each block.
    ends: Vec<u64>,
}

impl List {
    pub(super) fn new(blocks: Vec<Block>) -> Self {
        let ends = blocks.iter().scan(0u64, |end, block| {
            *end = end.saturating_add(block.count.saturating_mul(block.datatype.size()));
            Some(*end)
        });
        let ends = ends.collect();
        Self { blocks, ends }
    }

    /// The blocks from that one on which has data byte `skip`, and where in it that is.
    fn from(&self, skip: u64) -> (&[Block], u64) {
        let first = self.ends.partition_point(|&end| end <= skip);
        let before = first.checked_sub(1).map_or(0, |last| self.ends[last]);
        (&self.blocks[first..], skip - before)
    }
}

impl Shape {
    /// The datatypes it is made of.
    pub(super) fn items(&self) -> impl Iterator<Item = &Datatype> {
        let (one, many) = match self {
            Self::Strided { item, .. } => (Some(item), [].as_slice()),
            Self::Listed(list) => (None, list.blocks.as_slice()),
        };
        one.into_iter()
            .chain(many.iter().map(|block| &block.datatype))
    }

    /// Bytes of data; `None` if they are too many.
    pub(super) fn size(&self) -> Option<u64> {
        let size = match self {
            Self::Strided {
                count,
                blocklength,
                item,
                ..
            } => count.checked_mul(*blocklength)?.checked_mul(item.size())?,
            Self::Listed(list) => list.ends.last().copied().unwrap_or(0),
        };
        (size <= isize::MAX as u64).then_some(size)
    }

    /// Its bounds; `None` if they leave the address space.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        match self {
            Self::Strided {
                count,
                stride,
                blocklength,
                item,
            } => {
                let block = item.bounds().repeated(0, *blocklength, item.extent())?;
                block.repeated(0, *count, *stride)
            }
            Self::Listed(list) => list
                .blocks
                .iter()
                .try_fold(Bounds::default(), |all, block| {
                    let item = &block.datatype;
                    let one = item.bounds();
                    let one = one.repeated(block.displacement, block.count, item.extent())?;
                    Some(all.joined(one))
                }),
        }
    }

    /// Returns true if the data is one run of bytes, in order and without gaps.
    pub(super) fn is_dense(&self) -> bool {
        match self {
            Self::Strided {
                count,
                stride,
                blocklength,
                item,
            } => {
                let block = blocklength.wrapping_mul(item.size());
                is_run(item, *blocklength) && (*count <= 1 || *stride as u64 == block)
            }
            Self::Listed(list) => {
                let mut end = None;
                list.blocks
                    .iter()
                    .filter(|block| block.count > 0 && block.datatype.size() > 0)
                    .all(|block| {
                        let item = &block.datatype;
                        let start = block.displacement.wrapping_add(item.true_lower_bound());
                        let follows = end.is_none_or(|end| end == start);
                        end = Some(start.wrapping_add((block.count * item.size()) as i64));
                        follows && is_run(item, block.count)
                    })
            }
        }
    }

    /// The one basic datatype of all its data.
    pub(super) fn base(&self) -> Option<Basic> {
        let mut bases = self.items().map(Datatype::reduction_base);
        let first = bases.next()??;
        bases.all(|base| base == Some(first)).then_some(first)
    }

    /// The basic elements in the first `bytes` bytes; `None` if they end within one.
    pub(super) fn elements(&self, bytes: u64) -> Option<u64> {
        match self {
            Self::Strided { item, .. } => item.elements(bytes),
            Self::Listed(list) => {
                let mut left = bytes;
                let mut sum = 0u64;
                for block in &list.blocks {
                    let here = left.min(block.count * block.datatype.size());
                    sum = sum.checked_add(block.datatype.elements(here)?)?;
                    left -= here;
                }
                Some(sum)
            }
        }
    }
}

/// Returns true if `count` elements are one run of bytes.
pub(super) fn is_run(item: &Datatype, count: u64) -> bool {
    item.is_dense() && (count <= 1 || item.is_contiguous())
}

/// Gives the runs of bytes of `count` elements to `sink`, in the order of the type map and from
/// data byte `skip` on, until it returns `false`. Returns true if it never did.
pub(super) fn stripes(
    item: &Datatype,
    count: u64,
    skip: u64,
    mut sink: impl FnMut(Stripe) -> bool,
) -> bool {
    walk(item, (0, count), skip, &mut sink)
}

/// The walk behind [`stripes`]: elements `at` a displacement, and how many.
fn walk<F: FnMut(Stripe) -> bool>(
    item: &Datatype,
    (at, count): (i64, u64),
    skip: u64,
    sink: &mut F,
) -> bool {
    let size = item.size();
    if size == 0 || skip >= count * size {
        return true;
    }
    let extent = item.extent();
    if item.is_dense() {
        let len = if item.is_contiguous() {
            count * size
        } else {
            size
        };
        let all = Stripe {
            at: at + item.true_lower_bound(),
            len,
            step: extent,
            count: count * size / len,
        };
        return all.skip(skip, sink);
    }
    let (first, mut skip) = (skip / size, skip % size);
    (first..count).all(|index| {
        let skip = core::mem::take(&mut skip);
        walk_one(item, at + index as i64 * extent, skip, sink)
    })
}

fn walk_one<F: FnMut(Stripe) -> bool>(
    item: &Datatype,
    at: i64,
    mut skip: u64,
    sink: &mut F,
) -> bool {
    let derived = match item {
        Datatype::Basic(basic) => return walk_basic(*basic, at, skip, sink),
        Datatype::Derived(derived) => derived,
    };
    match &derived.shape {
        Shape::Strided {
            count,
            stride,
            blocklength,
            item,
        } => {
            let len = blocklength * item.size();
            if len == 0 {
                return true;
            }
            if is_run(item, *blocklength) {
                let all = Stripe {
                    at: at + item.true_lower_bound(),
                    len,
                    step: *stride,
                    count: *count,
                };
                return all.skip(skip, sink);
            }
            let first = skip / len;
            skip %= len;
            (first..*count).all(|index| {
                let skip = core::mem::take(&mut skip);
                walk(item, (at + index as i64 * stride, *blocklength), skip, sink)
            })
        }
        Shape::Listed(list) => {
            let (blocks, mut skip) = list.from(skip);
            blocks.iter().all(|block| {
                let skip = core::mem::take(&mut skip);
                let elements = (at + block.displacement, block.count);
                walk(&block.datatype, elements, skip, sink)
            })
        }
    }
}

fn walk_basic<F: FnMut(Stripe) -> bool>(basic: Basic, at: i64, skip: u64, sink: &mut F) -> bool {
    match basic.machine().pair() {
        None => Stripe::run(at, basic.size()).skip(skip, sink),
        Some((first, second, gap)) => {
            let rest = skip.saturating_sub(first.size());
            Stripe::run(at, first.size()).skip(skip, sink)
                && Stripe::run(at + gap as i64, second.size()).skip(rest, sink)
        }
    }
}

impl Stripe {
    fn run(at: i64, len: u64) -> Self {
        Self {
            at,
            len,
            step: 0,
            count: 1,
        }
    }

    /// Gives what is left without the first `skip` bytes to `sink`, in one or two parts.
    fn skip<F: FnMut(Self) -> bool>(mut self, skip: u64, sink: &mut F) -> bool {
        let (first, skip) = (skip / self.len, skip % self.len);
        if first >= self.count {
            return true;
        }
        self.at += first as i64 * self.step;
        self.count -= first;
        if skip > 0 {
            let run = Self::run(self.at + skip as i64, self.len - skip);
            self.at += self.step;
            self.count -= 1;
            return sink(run) && (self.count == 0 || sink(self));
        }
        sink(self)
    }
}
