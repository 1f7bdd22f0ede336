//! Datatypes: predefined ones and those that the program builds.
//!
//! A derived datatype keeps the tree of its construction; what is asked often (size, bounds,
//! whether it is one run of bytes) is computed once, when it is built.
//!
//! Source: MPI 5.0, 5.1.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::basic::Basic;
use super::layout::{Bounds, List, Range, Runs, Shape};
use crate::error::{Cause, Result};

/// The deepest tree of datatypes: walking it is recursive, and the stack is finite.
const DEPTH_LIMIT: u32 = 512;

/// `count` elements of `datatype`, `displacement` bytes from the start: one entry of a type map.
#[derive(Clone, Debug)]
pub struct Block {
    /// Bytes from the start of the new datatype.
    pub displacement: i64,
    /// Elements, one extent apart.
    pub count: u64,
    /// What they are.
    pub datatype: Datatype,
}

/// A datatype. Cloning it is cheap and gives the same datatype.
#[derive(Clone, Debug)]
pub enum Datatype {
    /// A predefined one.
    Basic(Basic),
    /// One that the program built.
    Derived(Arc<Derived>),
}

/// The properties of a derived datatype.
#[derive(Debug)]
pub struct Derived {
    pub(super) shape: Shape,
    bounds: Bounds,
    size: u64,
    /// The basic elements in it.
    elements: u64,
    /// The data is one run of bytes without gap, in the order of the type map.
    dense: bool,
    /// The runs of an element, if they are several and yet few.
    runs: Option<Runs>,
    base: Option<Basic>,
    alignment: u64,
    pub(super) limits: Limits,
    /// The program gave its bounds or those of a member, so that no padding is added.
    bounded: bool,
    depth: u32,
    committed: AtomicBool,
}

/// Where the bounds of a derived datatype come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limits {
    /// From those of its members.
    Members,
    /// The same, rounded up to the alignment of the members, unless the program gave the bounds of
    /// one of them.
    Aligned,
    /// From the program.
    Given(Range),
}

impl From<Basic> for Datatype {
    fn from(basic: Basic) -> Self {
        Self::Basic(basic)
    }
}

/// Constructors. All fail with [`Cause::Datatype`] if the result would leave the address space.
impl Datatype {
    /// `count` elements one after the other. Source: MPI 5.0, 5.1.2.
    ///
    /// # Errors
    /// [`Cause::Datatype`] if it is too large.
    pub fn contiguous(&self, count: u64) -> Result<Self> {
        self.hvector(1, count, 0)
    }

    /// `count` blocks of `blocklength` elements, `stride` elements from start to start.
    ///
    /// # Errors
    /// [`Cause::Datatype`] if it is too large.
    pub fn vector(&self, count: u64, blocklength: u64, stride: i64) -> Result<Self> {
        let stride = stride.checked_mul(self.extent()).ok_or(TOO_LARGE)?;
        self.hvector(count, blocklength, stride)
    }

    /// `count` blocks of `blocklength` elements, `stride` bytes from start to start.
    ///
    /// # Errors
    /// [`Cause::Datatype`] if it is too large.
    pub fn hvector(&self, count: u64, blocklength: u64, stride: i64) -> Result<Self> {
        Self::build(Shape::Strided {
            count,
            stride,
            blocklength,
            item: self.clone(),
        })
    }

    /// Blocks `(length, displacement)`, both in elements.
    ///
    /// # Errors
    /// [`Cause::Datatype`] if it is too large.
    pub fn indexed(&self, blocks: &[(u64, i64)]) -> Result<Self> {
        let extent = self.extent();
        let in_bytes: Option<Vec<(u64, i64)>> = blocks
            .iter()
            .map(|&(count, at)| Some((count, at.checked_mul(extent)?)))
            .collect();
        self.hindexed(&in_bytes.ok_or(TOO_LARGE)?)
    }

    /// Blocks `(length in elements, displacement in bytes)`.
    ///
    /// # Errors
    /// [`Cause::Datatype`] if it is too large.
    pub fn hindexed(&self, blocks: &[(u64, i64)]) -> Result<Self> {
        let block = |&(count, displacement)| Block {
            displacement,
            count,
            datatype: self.clone(),
        };
        Self::build(Shape::Listed(List::new(blocks.iter().map(block).collect())))
    }

    /// Blocks of different datatypes. Its extent is rounded up to the alignment of the members,
    /// as a C compiler does, unless the program gave the bounds of one of them.
    ///
    /// # Errors
    /// [`Cause::Datatype`] if it is too large.
    pub fn structure(blocks: Vec<Block>) -> Result<Self> {
        Self::limited(Shape::Listed(List::new(blocks)), Limits::Aligned)
    }

    /// A datatype of the data of this one, with other bounds. Source: MPI 5.0, 5.1.7.
    ///
    /// # Errors
    /// [`Cause::Datatype`] if it leaves the address space.
    pub fn resized(&self, lower_bound: i64, extent: i64) -> Result<Self> {
        let upper = lower_bound.checked_add(extent).ok_or(TOO_LARGE)?;
        Self::limited(self.as_shape(), Limits::Given((lower_bound, upper)))
    }

    /// A new datatype that equals this one. Source: MPI 5.0, 5.1.10.
    ///
    /// # Errors
    /// None but that of too deep a nesting.
    pub fn duplicate(&self) -> Result<Self> {
        let mut derived = Self::derive(self.as_shape(), Limits::Members)?;
        derived.committed = AtomicBool::new(self.is_committed());
        Ok(Self::Derived(Arc::new(derived)))
    }

    fn as_shape(&self) -> Shape {
        Shape::Strided {
            count: 1,
            stride: 0,
            blocklength: 1,
            item: self.clone(),
        }
    }

    pub(super) fn build(shape: Shape) -> Result<Self> {
        Self::limited(shape, Limits::Members)
    }

    /// A datatype of this shape with these bounds.
    pub(super) fn limited(shape: Shape, limits: Limits) -> Result<Self> {
        Ok(Self::Derived(Arc::new(Self::derive(shape, limits)?)))
    }

    fn derive(shape: Shape, limits: Limits) -> Result<Derived> {
        let depth = 1 + shape.items().map(Self::depth).max().unwrap_or(0);
        if depth > DEPTH_LIMIT {
            return Err(Cause::Datatype("datatypes are nested more than 512 deep").into());
        }
        let bounds = shape.bounds().filter(Bounds::are_possible);
        let mut bounds = bounds.ok_or(TOO_LARGE)?;
        let alignment = shape.entries().map(Self::alignment).max().unwrap_or(1);
        let mut bounded = shape.entries().any(Self::is_bounded);
        match (limits, bounds.marks) {
            (Limits::Aligned, Some((lower, upper))) if !bounded => {
                let padding = (lower - upper).rem_euclid(alignment as i64);
                let upper = upper.checked_add(padding).ok_or(TOO_LARGE)?;
                bounds.marks = Some((lower, upper));
            }
            (Limits::Given(given), _) => {
                bounds.marks = Some(given);
                bounded = true;
            }
            _ => {}
        }
        let size = shape.size().ok_or(TOO_LARGE)?;
        let elements = shape.elements(size).ok_or(TOO_LARGE)?;
        let dense = shape.is_dense();
        Ok(Derived {
            bounds,
            size,
            elements,
            dense,
            runs: if dense || size == 0 {
                None
            } else {
                Runs::of(&shape)
            },
            base: shape.base(),
            alignment,
            limits,
            bounded,
            depth,
            committed: AtomicBool::new(false),
            shape,
        })
    }
}

pub(super) const TOO_LARGE: Cause =
    Cause::Datatype("the datatype would be larger than the address space");

/// Questions.
impl Datatype {
    /// Allows the datatype in communication. Source: MPI 5.0, 5.1.9.
    pub fn commit(&self) {
        if let Self::Derived(derived) = self {
            derived.committed.store(true, Ordering::Release);
        }
    }

    /// Returns true if it may be used in communication.
    #[inline]
    #[must_use]
    pub fn is_committed(&self) -> bool {
        match self {
            Self::Basic(_) => true,
            Self::Derived(derived) => derived.committed.load(Ordering::Acquire),
        }
    }

    /// Bytes of data in one element, without gaps.
    #[inline]
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::Basic(basic) => basic.size(),
            Self::Derived(derived) => derived.size,
        }
    }

    /// Bytes from the address of an element to the start of what it occupies.
    #[must_use]
    pub fn lower_bound(&self) -> i64 {
        self.marks().0
    }

    /// Bytes from one element to the next.
    #[must_use]
    pub fn extent(&self) -> i64 {
        let (lower, upper) = self.marks();
        upper - lower
    }

    /// Bytes from the address of an element to its first byte of data.
    #[must_use]
    pub fn true_lower_bound(&self) -> i64 {
        self.data().0
    }

    /// Bytes from the first byte of data to the end of the last one.
    #[must_use]
    pub fn true_extent(&self) -> i64 {
        let (first, end) = self.data();
        end - first
    }

    /// Returns true if any number of elements is one run of bytes, in order and without gaps.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.is_dense() && self.extent() as u64 == self.size()
    }

    /// Returns true if it is a predefined one without padding, as almost all are: what any number
    /// of elements occupies is what it holds.
    #[inline]
    pub(crate) fn has_no_gaps(&self) -> bool {
        matches!(self, Self::Basic(basic) if basic.has_no_gaps())
    }

    /// The one predefined datatype of which all its data consists; what an operator works on.
    #[must_use]
    pub fn reduction_base(&self) -> Option<Basic> {
        match self {
            Self::Basic(basic) => Some(*basic),
            Self::Derived(derived) => derived.base,
        }
    }

    /// MPI's name, or what it is.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Basic(basic) => basic.name(),
            Self::Derived(_) => "a derived datatype",
        }
    }

    /// Bytes of data in `count` elements.
    ///
    /// # Errors
    /// [`Cause::Count`] if they are more than memory can hold.
    #[inline]
    pub fn bytes(&self, count: u64) -> Result<u64> {
        let size = self.size();
        size.checked_mul(count)
            .filter(|&bytes| bytes <= isize::MAX as u64)
            .ok_or_else(|| Cause::Count { count, size }.into())
    }

    /// The bytes that `count` elements occupy, gaps included: where the first one stands,
    /// relative to the address of the buffer, and how many there are.
    ///
    /// # Errors
    /// [`Cause::Count`] if they are more than memory can hold.
    pub fn occupied(&self, count: u64) -> Result<(i64, usize)> {
        if count == 0 || self.size() == 0 {
            return Ok((0, 0));
        }
        let reach = || {
            let last = i64::try_from(count - 1).ok()?.checked_mul(self.extent())?;
            let (first, end) = self.data();
            let first = first.checked_add(last.min(0))?;
            let end = end.checked_add(last.max(0))?;
            Some((first, usize::try_from(end.checked_sub(first)?).ok()?))
        };
        let size = self.size();
        reach().ok_or_else(|| Cause::Count { count, size }.into())
    }

    /// The basic elements in the first `bytes` bytes of data; `None` if they end within one.
    /// The two members of a pair count one each. Source: MPI 5.0, 5.1.11 (`MPI_Get_elements`).
    #[must_use]
    pub fn elements(&self, bytes: u64) -> Option<u64> {
        match self {
            _ if self.size() == 0 => Some(0),
            Self::Basic(basic) => basic_elements(*basic, bytes),
            Self::Derived(derived) => {
                let whole = derived.elements.checked_mul(bytes / derived.size)?;
                let rest = match bytes % derived.size {
                    0 => 0,
                    rest => derived.shape.elements(rest)?,
                };
                whole.checked_add(rest)
            }
        }
    }

    /// Returns true if both are the same datatype: the same object, not only the same layout.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Basic(a), Self::Basic(b)) => a == b,
            (Self::Derived(a), Self::Derived(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    pub(super) fn bounds(&self) -> Bounds {
        match self {
            Self::Basic(basic) => Bounds {
                marks: Some((0, basic.extent())),
                data: Some((0, basic.data_end())),
            },
            Self::Derived(derived) => derived.bounds,
        }
    }

    fn marks(&self) -> Range {
        self.bounds().marks.unwrap_or_default()
    }

    fn data(&self) -> Range {
        self.bounds().data.unwrap_or_default()
    }

    /// Returns true if one element is one run of bytes, in order and without gaps.
    pub(super) fn is_dense(&self) -> bool {
        match self {
            Self::Basic(Basic::ShortInt) => false,
            Self::Basic(_) => true,
            Self::Derived(derived) => derived.dense,
        }
    }

    /// The runs of an element, if it was found that they are several and yet few.
    pub(super) fn runs(&self) -> Option<&Runs> {
        match self {
            Self::Basic(_) => None,
            Self::Derived(derived) => derived.runs.as_ref(),
        }
    }

    fn alignment(&self) -> u64 {
        match self {
            Self::Basic(basic) => basic.alignment(),
            Self::Derived(derived) => derived.alignment,
        }
    }

    fn is_bounded(&self) -> bool {
        matches!(self, Self::Derived(derived) if derived.bounded)
    }

    fn depth(&self) -> u32 {
        match self {
            Self::Basic(_) => 0,
            Self::Derived(derived) => derived.depth,
        }
    }
}

fn basic_elements(basic: Basic, bytes: u64) -> Option<u64> {
    let rest = bytes % basic.size();
    let whole = bytes / basic.size();
    match basic.machine().pair() {
        None => (rest == 0).then_some(whole),
        Some(_) if rest == 0 => Some(2 * whole),
        Some((first, ..)) => (rest == first.size()).then_some(2 * whole + 1),
    }
}
