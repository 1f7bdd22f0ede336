//! How a derived datatype lies in memory: its tree, and the walk over its runs of bytes.

use super::basic::Basic;
use super::datatype::{Block, Datatype};
use crate::memory::{Lengths, Stripe};

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

    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
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
        self.counted().map(|(item, _)| item)
    }

    /// The datatypes that add entries to its type map: a block of length 0 adds none, so that
    /// neither its alignment nor its bounds count. Source: MPI 5.0, 5.1.2 and 5.1.6.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Datatype> {
        let present = self.counted().filter(|(_, count)| *count > 0);
        present.map(|(item, _)| item)
    }

    /// The datatypes it is made of, with the number of elements of each.
    fn counted(&self) -> impl Iterator<Item = (&Datatype, u64)> {
        let (one, many) = match self {
            Self::Strided {
                count,
                blocklength,
                item,
                ..
            } => (
                Some((item, count.saturating_mul(*blocklength))),
                [].as_slice(),
            ),
            Self::Listed(list) => (None, list.blocks.as_slice()),
        };
        let blocks = many.iter().map(|block| (&block.datatype, block.count));
        one.into_iter().chain(blocks)
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
        let mut bases = self.entries().map(Datatype::reduction_base);
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

/// The runs of bytes of one element, in the order of the type map: its tree without branches.
#[derive(Debug)]
pub(super) struct Runs {
    places: Vec<i64>,
    /// Bytes of data up to the end of each run.
    ends: Vec<u64>,
    /// The bytes of each if all are equally long. They have no `ends` then.
    even: Option<u64>,
    /// Where a run would continue the last one.
    next: Option<i64>,
}

impl Runs {
    /// The runs of an element of this shape; `None` if they are more than a few, for what the
    /// shape holds itself, or if it is one run. Stripes of many elements are as good there.
    pub(super) fn of(shape: &Shape) -> Option<Self> {
        const FEW: usize = 64;
        let mut runs = Self {
            places: Vec::new(),
            ends: Vec::new(),
            even: None,
            next: None,
        };
        match shape {
            Shape::Strided {
                count,
                stride,
                blocklength,
                item,
            } => {
                let count = (*count <= FEW as u64).then_some(*count as i64)?;
                (0..count).try_for_each(|index| {
                    let place = index * stride;
                    runs.add_elements(item, (place, *blocklength), FEW)
                })?;
            }
            Shape::Listed(list) => {
                let most = FEW + 4 * list.blocks.len();
                list.blocks.iter().try_for_each(|block| {
                    let elements = (block.displacement, block.count);
                    runs.add_elements(&block.datatype, elements, most)
                })?;
            }
        }
        (runs.places.len() > 1).then(|| runs.finished())
    }

    /// Adds the runs of elements; `None` if they would be more than `most`.
    fn add_elements(
        &mut self,
        item: &Datatype,
        (at, count): (i64, u64),
        most: usize,
    ) -> Option<()> {
        stripes(item, count, 0, |stripe| {
            stripe.runs().all(|(place, len)| {
                self.add(at + place, len);
                self.places.len() <= most
            })
        })
        .then_some(())
    }

    /// Adds a run, or makes the last one longer if the new one continues it.
    fn add(&mut self, place: i64, len: u64) {
        let end = self.ends.last().copied().unwrap_or(0);
        if self.next == Some(place) {
            self.ends.pop();
        } else {
            self.places.push(place);
        }
        self.ends.push(end + len);
        self.next = Some(place + len as i64);
    }

    fn finished(mut self) -> Self {
        let (first, runs) = (self.ends[0], self.ends.len() as u64);
        let mut multiples = (1..=runs).map(|number| number * first);
        if multiples.by_ref().eq(self.ends.iter().copied()) {
            self.even = Some(first);
            self.ends.clear();
        }
        self.places.shrink_to_fit();
        self.ends.shrink_to_fit();
        self
    }

    /// `count` such elements.
    fn repeated(&self, at: i64, step: i64, count: u64) -> Stripe<'_> {
        let lengths = match self.even {
            Some(len) => Lengths::Even(len),
            None => Lengths::Ends {
                before: 0,
                ends: &self.ends,
            },
        };
        Stripe {
            at,
            places: &self.places,
            lengths,
            step,
            count,
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
    mut sink: impl FnMut(Stripe<'_>) -> bool,
) -> bool {
    walk(item, (0, count), skip, &mut sink)
}

/// Calls `sink` with the displacement and the bytes of each run of an element, in the order of the
/// type map, until it returns false. Returns true if it never did.
pub(crate) fn each_run(item: &Datatype, sink: impl FnMut(i64, u64) -> bool) -> bool {
    each_run_of(item, 1, sink)
}

/// The same for `count` elements.
pub(crate) fn each_run_of(
    item: &Datatype,
    count: u64,
    mut sink: impl FnMut(i64, u64) -> bool,
) -> bool {
    stripes(item, count, 0, |stripe| {
        stripe.runs().all(|(place, len)| sink(place, len))
    })
}

/// Calls `sink` with the predefined elements of which `count` elements consist, in the order of the
/// type map: what they are, the displacement of the first one, and how many follow one another.
pub(crate) fn each_piece(item: &Datatype, count: u64, mut sink: impl FnMut(Basic, (i64, u64))) {
    basics(item, (0, count), &mut |basic, elements| {
        sink(basic, elements);
        true
    });
}

/// The walk behind [`stripes`]: elements `at` a displacement, and how many.
fn walk<F: FnMut(Stripe<'_>) -> bool>(
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
            step: extent,
            count: count * size / len,
            ..Stripe::run(at + item.true_lower_bound(), len)
        };
        return all.skip(skip, sink);
    }
    if let Some(runs) = item.runs() {
        return runs.repeated(at, extent, count).skip(skip, sink);
    }
    let (first, mut skip) = (skip / size, skip % size);
    (first..count).all(|index| {
        let skip = core::mem::take(&mut skip);
        walk_one(item, at + index as i64 * extent, skip, sink)
    })
}

fn walk_one<F: FnMut(Stripe<'_>) -> bool>(
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
                    step: *stride,
                    count: *count,
                    ..Stripe::run(at + item.true_lower_bound(), len)
                };
                return all.skip(skip, sink);
            }
            if let (1, Some(runs)) = (*blocklength, item.runs()) {
                return runs.repeated(at, *stride, *count).skip(skip, sink);
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

/// Gives the predefined datatypes of which `count` elements at a displacement consist, in the order
/// of the type map, to `sink` until it returns `false`: each with a displacement and a count.
/// Returns true if it never did.
pub(super) fn basics<F: FnMut(Basic, (i64, u64)) -> bool>(
    item: &Datatype,
    (at, count): (i64, u64),
    sink: &mut F,
) -> bool {
    let derived = match item {
        Datatype::Basic(basic) => return count == 0 || sink(*basic, (at, count)),
        Datatype::Derived(_) if item.size() == 0 => return true,
        Datatype::Derived(derived) => derived,
    };
    let extent = item.extent();
    (0..count).all(|index| {
        let at = at + index as i64 * extent;
        match &derived.shape {
            Shape::Strided {
                count,
                stride,
                blocklength,
                item,
            } => (0..*count)
                .all(|index| basics(item, (at + index as i64 * stride, *blocklength), sink)),
            Shape::Listed(list) => list.blocks.iter().all(|block| {
                let elements = (at + block.displacement, block.count);
                basics(&block.datatype, elements, sink)
            }),
        }
    })
}

fn walk_basic<F: FnMut(Stripe<'_>) -> bool>(
    basic: Basic,
    at: i64,
    skip: u64,
    sink: &mut F,
) -> bool {
    match basic.machine().pair() {
        None => Stripe::run(at, basic.size()).skip(skip, sink),
        Some((first, second, gap)) => {
            let rest = skip.saturating_sub(first.size());
            Stripe::run(at, first.size()).skip(skip, sink)
                && Stripe::run(at + gap as i64, second.size()).skip(rest, sink)
        }
    }
}

impl Stripe<'_> {
    fn run(at: i64, len: u64) -> Self {
        Self {
            at,
            places: &[0],
            lengths: Lengths::Even(len),
            step: 0,
            count: 1,
        }
    }

    /// Gives what is left without the first `skip` bytes to `sink`, in up to four parts.
    fn skip<F: FnMut(Stripe<'_>) -> bool>(mut self, skip: u64, sink: &mut F) -> bool {
        let size = self.size();
        let (first, skip) = (skip / size, skip % size);
        if first >= self.count {
            return true;
        }
        self.at += first as i64 * self.step;
        self.count -= first;
        if skip > 0 {
            let goes_on = self.first_without(skip, sink);
            self.at += self.step;
            self.count -= 1;
            return goes_on && (self.count == 0 || sink(self));
        }
        sink(self)
    }

    /// Gives what is left of the first element without `skip` bytes of it to `sink`.
    fn first_without<F: FnMut(Stripe<'_>) -> bool>(&self, skip: u64, sink: &mut F) -> bool {
        let (mut runs, before) = self.runs_within(skip);
        let cut = skip - before;
        if cut > 0 {
            let place = self.at + self.places[runs] + cut as i64;
            if !sink(Stripe::run(place, self.run_len(runs) - cut)) {
                return false;
            }
            runs += 1;
        }
        runs == self.places.len() || sink(self.runs_of(0, runs..self.places.len()))
    }
}
