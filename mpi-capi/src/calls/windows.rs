//! The arguments of calls on windows, in mpi-lite's terms and back.

use core::ffi::c_int;

use mpi_lite::data::{self, Buffer};
use mpi_lite::error::Cause;
use mpi_lite::ids::{Dest, Mode};
use mpi_lite::memory::Span;
use mpi_lite::rma::{
    self, Assertions, Extent, Flavor, Hints, LockKind, RunAt, Target, WindowAction,
};

use crate::abi::{self, Handle};
use crate::args::{Aint, Assertion, Count, Datatype, Info, LockType, Op, Rank, SendPtr, Unit, Win};
use crate::error::{Error, Result};
use crate::objects::request;
use crate::objects::win::WinObject;

/// A bit of `assert`, and the field that it is.
type AssertionBit = (c_int, fn(&mut Assertions) -> &mut bool);

const NO_CHECK: AssertionBit = (abi::MPI_MODE_NOCHECK, |it| &mut it.no_check);
const NO_STORE: AssertionBit = (abi::MPI_MODE_NOSTORE, |it| &mut it.no_store);
const NO_PUT: AssertionBit = (abi::MPI_MODE_NOPUT, |it| &mut it.no_put);
const NO_PRECEDE: AssertionBit = (abi::MPI_MODE_NOPRECEDE, |it| &mut it.no_precede);
const NO_SUCCEED: AssertionBit = (abi::MPI_MODE_NOSUCCEED, |it| &mut it.no_succeed);

/// What may be asserted of a fence, and in the other calls. Source: MPI 5.0, 12.5.5.
pub const OF_FENCE: &[AssertionBit] = &[NO_STORE, NO_PUT, NO_PRECEDE, NO_SUCCEED];
/// In `MPI_Win_post`.
pub const OF_POST: &[AssertionBit] = &[NO_CHECK, NO_STORE, NO_PUT];
/// In `MPI_Win_start`, `MPI_Win_lock` and `MPI_Win_lock_all`.
pub const OF_ACCESS: &[AssertionBit] = &[NO_CHECK];

/// The assertions of a call in which `allowed` ones have a meaning.
///
/// # Errors
/// `MPI_ERR_ASSERT`: another bit is set.
#[inline]
pub fn assertions(assert: Assertion, allowed: &[AssertionBit]) -> Result<Assertions> {
    let mut assertions = Assertions::default();
    if assert.0 == 0 {
        return Ok(assertions);
    }
    let known = allowed.iter().fold(0, |known, (bit, _)| known | bit);
    if assert.0 & !known != 0 {
        return Err(Error::new(
            abi::MPI_ERR_ASSERT,
            "assert has a bit that has no meaning in this call",
        ));
    }
    for (bit, field) in allowed {
        *field(&mut assertions) = assert.0 & bit != 0;
    }
    Ok(assertions)
}

/// A kind of lock.
///
/// # Errors
/// `MPI_ERR_LOCKTYPE`: it is none of the two.
#[inline]
pub fn lock_kind(lock_type: LockType) -> Result<LockKind> {
    match lock_type.0 {
        abi::MPI_LOCK_EXCLUSIVE => Ok(LockKind::Exclusive),
        abi::MPI_LOCK_SHARED => Ok(LockKind::Shared),
        _ => Err(Error::new(
            abi::MPI_ERR_LOCKTYPE,
            "lock_type is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED",
        )),
    }
}

/// The bytes that a process gives to a window.
///
/// # Errors
/// `MPI_ERR_SIZE`: it is negative.
pub fn bytes(size: Aint) -> Result<u64> {
    let refuse = |_| Error::new(abi::MPI_ERR_SIZE, "size is negative");
    u64::try_from(size.0).map_err(refuse)
}

/// The bytes that a displacement counts.
///
/// # Errors
/// `MPI_ERR_DISP`: it is not positive, or no `int`, in which the program would ask for it.
pub fn unit(disp_unit: Unit) -> Result<u32> {
    let unit = c_int::try_from(disp_unit.0).ok().filter(|unit| *unit > 0);
    unit.map(c_int::cast_unsigned).ok_or_else(|| {
        let why = "disp_unit is not positive, or more than an int can be";
        Error::new(abi::MPI_ERR_DISP, why)
    })
}

/// Memory that the library is to find for a window.
///
/// # Errors
/// As [`bytes`] and [`unit()`].
pub fn extent(size: Aint, disp_unit: Unit) -> Result<Extent> {
    let (size, unit) = (bytes(size)?, unit(disp_unit)?);
    Ok(Extent { size, unit })
}

/// A process of the window; none for `MPI_PROC_NULL`. Whether there is one of this rank, the
/// window checks.
///
/// # Errors
/// `MPI_ERR_RANK`: it is negative.
#[inline]
pub fn process(window: &rma::Window, what: &'static str, rank: Rank) -> Result<Option<u32>> {
    match rank.0 {
        abi::MPI_PROC_NULL => Ok(None),
        rank if rank < 0 => Err(no_rank(window, what, rank)),
        rank => Ok(Some(rank.cast_unsigned())),
    }
}

#[cold]
fn no_rank(window: &rma::Window, what: &'static str, rank: c_int) -> Error {
    let size = window.communicator().size();
    Cause::Rank { what, rank, size }.into()
}

/// Does what is to be done with a process of the window: nothing if it is `MPI_PROC_NULL`.
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RANK`, and those of `act`.
#[inline(always)]
pub fn with(
    win: &Win,
    rank: Rank,
    act: impl FnOnce(&rma::Window, u32) -> mpi_lite::error::Result<()>,
) -> Result<()> {
    let window = win.lite()?;
    match process(window, "rank", rank)? {
        Some(rank) => Ok(act(window, rank)?),
        None => Ok(()),
    }
}

/// Where an operation works, in the words of its arguments.
pub struct TargetPlace<'a> {
    /// `target_rank`.
    pub rank: Rank,
    /// `target_disp`.
    pub displacement: Aint,
    /// `target_count`.
    pub count: Count,
    /// `target_datatype`.
    pub datatype: &'a Datatype,
}

impl TargetPlace<'_> {
    /// In mpi-lite's terms; none for `MPI_PROC_NULL`.
    #[inline(always)]
    fn target(&self, window: &rma::Window) -> Result<Option<Target>> {
        let Some(rank) = process(window, "target_rank", self.rank)? else {
            return Ok(None);
        };
        let displacement = self.displacement.0;
        // In a dynamic window it is an address, of which one in the upper half is negative.
        if displacement < 0 && window.flavor() != Flavor::Dynamic {
            return Err(Error::new(abi::MPI_ERR_DISP, "target_disp is negative"));
        }
        Ok(Some(Target {
            rank,
            displacement,
            count: self.count.get(),
            datatype: self.datatype.committed()?.clone(),
        }))
    }
}

impl TargetPlace<'_> {
    /// Where it works, if that is one run of as many bytes as the origin has, of a predefined
    /// datatype.
    #[inline(always)]
    fn run(&self, len: usize) -> Option<(data::Basic, RunAt)> {
        let (basic, bytes) = self.datatype.run_of(self.count.get())?;
        let at = (self.rank.0.cast_unsigned(), self.displacement.0);
        (bytes == len).then_some((basic, at))
    }
}

/// Performs an operation at once that moves a run of bytes, if it can be. Returns false if nothing
/// was done.
#[inline(always)]
pub fn move_run(
    win: &Win,
    place: &TargetPlace<'_>,
    run: Option<(data::Basic, Span)>,
    act: impl FnOnce(&rma::Window, Span, RunAt) -> bool,
) -> bool {
    let Some((_, span)) = run else { return false };
    let Some((_, at)) = place.run(span.len()) else {
        return false;
    };
    win.lite().is_ok_and(|window| act(window, span, at))
}

/// The same with an operation on elements of one predefined datatype.
#[inline(always)]
pub fn change_run(
    win: &Win,
    place: &TargetPlace<'_>,
    runs: [Option<(data::Basic, Span)>; 2],
    act: impl FnOnce(&rma::Window, data::Basic, [Span; 2], RunAt) -> bool,
) -> bool {
    let [Some((of_origin, origin)), Some((of_result, result))] = runs else {
        return false;
    };
    let Some((basic, at)) = place.run(origin.len()) else {
        return false;
    };
    let is_one = of_origin == basic && of_result == basic && result.len() == origin.len();
    is_one
        && win
            .lite()
            .is_ok_and(|window| act(window, basic, [origin, result], at))
}

/// Performs an operation. `action` is asked for only if there is a target.
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RANK`, `MPI_ERR_DISP`, `MPI_ERR_TYPE`; those of `action`, and of the
/// window.
#[cold]
#[inline(never)]
pub fn perform(
    win: &Win,
    place: &TargetPlace<'_>,
    action: impl FnOnce() -> Result<WindowAction>,
) -> Result<()> {
    let window = win.lite()?;
    let Some(target) = place.target(window)? else {
        return Ok(());
    };
    Ok(window.perform(&action()?, &target)?)
}

/// Starts an operation. That to `MPI_PROC_NULL` is complete at once.
///
/// # Errors
/// As [`perform`].
#[inline(never)]
pub fn start(
    win: &Win,
    place: &TargetPlace<'_>,
    action: impl FnOnce() -> Result<WindowAction>,
) -> Result<Handle> {
    let window = win.lite()?;
    let request = match place.target(window)? {
        Some(target) => window.start_operation(&action()?, &target)?,
        None => {
            let (nothing, nobody) = (Buffer::nothing().area()?, Dest::Null);
            let communicator = window.communicator();
            communicator.isend(nothing, nobody, 0, Mode::Standard)?
        }
    };
    Ok(request::handle_of(request))
}

/// Checks that an element is of a predefined datatype.
///
/// # Errors
/// `MPI_ERR_TYPE`.
pub fn check_predefined(datatype: &Datatype) -> Result<()> {
    match datatype.lite()? {
        data::Datatype::Basic(_) => Ok(()),
        data::Datatype::Derived(_) => {
            let why = "the datatype must be a predefined one";
            Err(Error::new(abi::MPI_ERR_TYPE, why))
        }
    }
}

/// What an operation that returns the old value gives: nothing with `MPI_NO_OP`, of which the
/// origin's address, count and datatype are not looked at. Source: MPI 5.0, 12.3.4.
///
/// # Errors
/// `MPI_ERR_BUFFER`, `MPI_ERR_TYPE`.
#[inline(always)]
pub fn given(origin: SendPtr, count: Count, datatype: &Datatype, op: &Op) -> Result<Buffer> {
    match op.lite {
        data::Op::NoOp => Ok(Buffer::nothing()),
        _ => origin.all(count, datatype),
    }
}

/// Gives a handle to a window; returns it and the base of this process.
pub fn register(window: rma::Window) -> (Handle, *mut u8) {
    let base = window.base();
    (WinObject::register(window), base)
}

/// The hints of `info` beside those known.
pub fn hints(mut known: Hints, info: Info) -> Hints {
    info.each(|key, value| known.set(key, value));
    known
}
