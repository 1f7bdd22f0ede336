//! How a derived datatype lies in memory: its tree, and the walk over its runs of bytes.

use super::basic::Basic;
use super::datatype::{Block, Datatype};

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

    /// Whether the distance between the bounds is a number.
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
    Listed(Vec<Block>),
}

impl Shape {
    /// The datatypes it is made of.
    pub(super) fn items(&self) -> impl Iterator<Item = &Datatype> {
        let (one, many) = match self {
            Self::Strided { item, .. } => (Some(item), [].as_slice()),
            Self::Listed(blocks) => (None, blocks.as_slice()),
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
            Self::Listed(blocks) => blocks.iter().try_fold(0u64, |sum, block| {
                sum.checked_add(block.count.checked_mul(block.datatype.size())?)
            })?,
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
            Self::Listed(blocks) => blocks.iter().try_fold(Bounds::default(), |all, block| {
                let item = &block.datatype;
                let one = item.bounds();
                let one = one.repeated(block.displacement, block.count, item.extent())?;
                Some(all.joined(one))
            }),
        }
    }

    /// Whether the data is one run of bytes, in order and without gaps.
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
            Self::Listed(blocks) => {
                let mut end = None;
                blocks
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
            Self::Listed(blocks) => {
                let mut left = bytes;
                let mut sum = 0u64;
                for block in blocks {
                    let here = left.min(block.count * block.datatype.size());
                    sum = sum.checked_add(block.datatype.elements(here)?)?;
                    left -= here;
                }
                Some(sum)
            }
        }
    }
}

/// Whether `count` elements are one run of bytes.
pub(super) fn is_run(item: &Datatype, count: u64) -> bool {
    item.is_dense() && (count <= 1 || item.is_contiguous())
}

/// Gives each run `(displacement, length)` of `count` elements to `sink`, in the order of the
/// type map, neighbours joined, until it answers `false`.
pub(super) fn runs(item: &Datatype, count: u64, mut sink: impl FnMut(i64, u64) -> bool) {
    let mut run = (0, 0);
    let mut join = |at: i64, len: u64| {
        let (start, so_far) = run;
        if start + so_far as i64 == at {
            run.1 += len;
            return true;
        }
        run = (at, len);
        so_far == 0 || sink(start, so_far)
    };
    if walk(item, 0, count, &mut join) && run.1 > 0 {
        sink(run.0, run.1);
    }
}

/// The walk behind [`runs`]; answers whether to go on.
fn walk<F: FnMut(i64, u64) -> bool>(item: &Datatype, at: i64, count: u64, sink: &mut F) -> bool {
    if count == 0 || item.size() == 0 {
        return true;
    }
    if is_run(item, count) {
        return sink(at + item.true_lower_bound(), count * item.size());
    }
    let extent = item.extent();
    (0..count as i64).all(|index| walk_one(item, at + index * extent, sink))
}

fn walk_one<F: FnMut(i64, u64) -> bool>(item: &Datatype, at: i64, sink: &mut F) -> bool {
    let derived = match item {
        Datatype::Basic(basic) => return walk_basic(*basic, at, sink),
        Datatype::Derived(derived) => derived,
    };
    match &derived.shape {
        Shape::Strided {
            count,
            stride,
            blocklength,
            item,
        } => (0..*count as i64)
            .all(|index| walk(item, at + index * stride, *blocklength, &mut *sink)),
        Shape::Listed(blocks) => blocks.iter().all(|block| {
            walk(
                &block.datatype,
                at + block.displacement,
                block.count,
                &mut *sink,
            )
        }),
    }
}

fn walk_basic<F: FnMut(i64, u64) -> bool>(basic: Basic, at: i64, sink: &mut F) -> bool {
    match basic.machine().pair() {
        None => sink(at, basic.size()),
        Some((first, second, gap)) => {
            sink(at, first.size()) && sink(at + gap as i64, second.size())
        }
    }
}
