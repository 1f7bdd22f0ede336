//! Arguments of MPICH's interface that are one value, or a place for one.
#![expect(
    unsafe_code,
    reason = "results are written through the caller's pointers"
)]

use core::ffi::{c_char, c_int, c_void};

use super::constants::{
    ACCESS_MODES, ASSERTIONS, LOCK_TYPES, ORDERS, PVAR_CLASSES, SAFETIES, SPLIT_TYPES,
    THREAD_LEVELS, TYPE_CLASSES, WHENCES, standard_address, standard_code, standard_key,
    standard_number, standard_rank, standard_room, standard_root, standard_set, standard_source,
    standard_tag, text_limit,
};
use super::handles::{
    built_in_datatype, is_built_in_datatype, is_world, request, standard_handle, world,
};
use super::{Extent, Foreign};
use crate::abi::{self, Handle};
use crate::args::*;
use crate::entry::{Arg, Read};
use crate::error::Result;
use crate::handle::Kind;
use crate::raise::Call;

/// What both interfaces pass alike.
macro_rules! same {
    ($($name:ident $(<$life:lifetime>)?;)*) => {$(
        impl<$($life,)? W> Foreign<W> for $name $(<$life>)?
        where
            $name $(<$life>)?: Read<W>,
        {
            type Raw = <Self as Arg<W>>::C;
            type Held = <Self as Arg<W>>::C;

            #[inline(always)]
            unsafe fn hold(raw: Self::Raw, _extent: Extent) -> Self::Held {
                raw
            }

            #[inline(always)]
            fn standard(held: &mut Self::Held) -> <Self as Arg<W>>::C {
                *held
            }
        }
    )*};
}

same! {
    Address;
    Aint;
    Aints;
    Argc;
    Argv;
    BlockLength;
    BufferSize;
    ConstAddress;
    Count;
    Counts;
    CvarHandle;
    Displacement;
    Displacements;
    Displs;
    EventDroppedFn;
    EventFn;
    EventFreeFn;
    EventInstance;
    EventRegistration;
    FileName<'a>;
    Flag;
    Int;
    Ints;
    LargeCount;
    LateCount;
    Level;
    Offset;
    OutAddress;
    OutAints;
    OutInts;
    OutLargeCounts;
    PvarHandle;
    PvarSession;
    Ranges;
    Room;
    Stride;
    Text<'a>;
    TextLists;
    Texts;
    ToolEnum;
    Unit;
}

/// The number of elements of the arrays of the call.
impl<W> Foreign<W> for Length
where
    Length: Arg<W, C = c_int> + Read<W>,
{
    type Raw = c_int;
    type Held = c_int;

    fn measure(raw: c_int, extent: &mut Extent) {
        extent.length = usize::try_from(raw).unwrap_or(0);
    }

    #[inline(always)]
    unsafe fn hold(raw: c_int, _extent: Extent) -> c_int {
        raw
    }

    #[inline(always)]
    fn standard(held: &mut c_int) -> c_int {
        *held
    }
}

/// What both interfaces pass in one word, with other values.
macro_rules! mapped {
    ($($name:ident($c:ty) $to:expr;)*) => {$(
        impl<W> Foreign<W> for $name
        where
            $name: Arg<W> + Read<W>,
            <$name as Arg<W>>::C: Into<$c> + From<$c>,
        {
            type Raw = $c;
            type Held = $c;

            #[inline(always)]
            unsafe fn hold(raw: $c, _extent: Extent) -> $c {
                $to(raw)
            }

            #[inline(always)]
            fn standard(held: &mut $c) -> <Self as Arg<W>>::C {
                (*held).into()
            }
        }
    )*};
}

mapped! {
    AccessMode(c_int) |set| standard_set(ACCESS_MODES, set);
    Assertion(c_int) |set| standard_set(ASSERTIONS, set);
    BufferAddress(*mut c_void) |address: *mut c_void| address.map_addr(standard_room);
    CallbackSafety(c_int) |number| standard_number(SAFETIES, number);
    Code(c_int) standard_code;
    KeyNumber(c_int) standard_key;
    LockType(c_int) |number| standard_number(LOCK_TYPES, number);
    Order(c_int) |number| standard_number(ORDERS, number);
    PvarClass(c_int) |number| standard_number(PVAR_CLASSES, number);
    Root(c_int) standard_root;
    Source(c_int) standard_source;
    SplitType(c_int) |number| standard_number(SPLIT_TYPES, number);
    Tag(c_int) standard_tag;
    ThreadLevel(c_int) |number| standard_number(THREAD_LEVELS, number);
    TypeClass(c_int) |number| standard_number(TYPE_CLASSES, number);
    ViewStart(i64) standard_displacement;
    Whence(c_int) |number| standard_number(WHENCES, number);
}

macro_rules! handles {
    ($($name:ident $kind:ident $find:ident;)*) => {$(
        impl<W> Foreign<W> for $name {
            type Raw = c_int;
            type Held = Handle;

            #[inline(always)]
            unsafe fn hold(raw: c_int, _extent: Extent) -> Handle {
                $find(Kind::$kind, raw)
            }

            #[inline(always)]
            fn standard(held: &mut Handle) -> Handle {
                *held
            }
        }
    )*};
}

handles! {
    Datatype Datatype standard_handle;
    Errhandler Errhandler standard_handle;
    FirstErrhandler Errhandler standard_handle;
    Group Group standard_handle;
    Info Info standard_handle;
    LateComm Comm standard_handle;
    LateDatatype Datatype standard_handle;
    LateGroup Group standard_handle;
    Message Message standard_handle;
    Op Op standard_handle;
    PeerComm Comm standard_handle;
    Request Request request;
    Session Session standard_handle;
    Win Win standard_handle;
    QuickWin Win standard_handle;
}

/// A rank; one that is negative is rare.
impl<W> Foreign<W> for Rank
where
    Rank: Read<W, C = c_int>,
{
    type Raw = c_int;
    type Held = c_int;

    #[inline(always)]
    unsafe fn hold(raw: c_int, _extent: Extent) -> c_int {
        standard_rank(raw)
    }

    #[inline(always)]
    fn is_quick(raw: c_int) -> bool {
        raw >= 0
    }

    #[inline(always)]
    unsafe fn hold_quick(raw: c_int) -> c_int {
        raw
    }

    #[inline(always)]
    fn standard(held: &mut c_int) -> c_int {
        *held
    }
}

/// Handles of which built-in ones are quick.
macro_rules! quick_handles {
    ($($name:ident $kind:ident $is_quick:ident $quick:expr;)*) => {$(
        impl<W> Foreign<W> for $name {
            type Raw = c_int;
            type Held = Handle;

            #[inline(always)]
            unsafe fn hold(raw: c_int, _extent: Extent) -> Handle {
                if $is_quick(raw) {
                    // SAFETY: it is quick.
                    return unsafe { <Self as Foreign<W>>::hold_quick(raw) };
                }
                standard_handle(Kind::$kind, raw)
            }

            #[inline(always)]
            fn is_quick(raw: c_int) -> bool {
                $is_quick(raw)
            }

            #[inline(always)]
            unsafe fn hold_quick(raw: c_int) -> Handle {
                let quick = $quick;
                quick(raw)
            }

            #[inline(always)]
            fn standard(held: &mut Handle) -> Handle {
                *held
            }
        }
    )*};
}

quick_handles! {
    Comm Comm is_world |number| world(number);
    MessageType Datatype is_built_in_datatype |number| {
        // SAFETY: `is_quick` has returned true.
        unsafe { built_in_datatype(number) }
    };
}

/// Addresses of buffers; all but `MPI_IN_PLACE` are quick.
macro_rules! buffers {
    ($($name:ident $raw:ty;)*) => {$(
        impl<W> Foreign<W> for $name {
            type Raw = $raw;
            type Held = $raw;

            #[inline(always)]
            unsafe fn hold(raw: $raw, _extent: Extent) -> $raw {
                raw.map_addr(standard_address)
            }

            #[inline(always)]
            fn is_quick(raw: $raw) -> bool {
                // Not -1, 0 or 1.
                raw.addr().wrapping_add(1) > 2
            }

            #[inline(always)]
            unsafe fn hold_quick(raw: $raw) -> $raw {
                raw
            }

            #[inline(always)]
            fn standard(held: &mut $raw) -> $raw {
                *held
            }
        }
    )*};
}

buffers! {
    RecvPtr *mut c_void;
    SendPtr *const c_void;
}

/// MPICH's number for a view that begins where the shared file pointer is.
const DISPLACEMENT_CURRENT: i64 = -54_278_278;

/// The standard's displacement of a view.
fn standard_displacement(at: i64) -> i64 {
    match at {
        DISPLACEMENT_CURRENT => abi::MPI_DISPLACEMENT_CURRENT,
        at => at,
    }
}

/// Files are pointers; the null one is 0.
impl<W> Foreign<W> for File {
    type Raw = Handle;
    type Held = Handle;

    unsafe fn hold(raw: Handle, _extent: Extent) -> Handle {
        standard_file(raw)
    }

    fn standard(held: &mut Handle) -> Handle {
        *held
    }
}

/// The standard's handle of a file.
pub fn standard_file(file: Handle) -> Handle {
    match file.0 {
        0 => abi::MPI_FILE_NULL,
        _ => file,
    }
}

/// The handle of a file for the program.
pub fn file_of(file: Handle) -> Handle {
    match file {
        abi::MPI_FILE_NULL => Handle(0),
        _ => file,
    }
}

impl<W> Foreign<W> for TextOut {
    type Raw = *mut c_char;
    type Held = *mut c_char;

    #[inline(always)]
    unsafe fn hold(raw: *mut c_char, _extent: Extent) -> *mut c_char {
        raw
    }

    fn standard(held: &mut *mut c_char) -> *mut c_char {
        *held
    }

    unsafe fn read(held: &mut *mut c_char, name: &'static str, call: &Call) -> Result<Self> {
        Ok(Self::at(*held, name, text_limit(call.name())))
    }
}
