//! Arguments of the second interface that are one value, or a place for one.
#![expect(
    unsafe_code,
    reason = "results are written through the caller's pointers"
)]

use core::ffi::{c_char, c_int, c_void};

use super::constants::{
    code_of, rank_of, source_of, standard_address, standard_code, standard_rank, standard_source,
    standard_tag, tag_of, text_limit,
};
use super::handles::{number_of, standard_handle};
use super::{Extent, Foreign};
use crate::abi::Handle;
use crate::args::{
    Code, Comm, CommErrhandlerFn, Count, Datatype, Errhandler, InOut, Int, Length, MessageType,
    Out, Rank, RecvPtr, Request, SendPtr, Slot, Source, Stored, Tag, TextOut,
};
use crate::callback::ErrorFn;
use crate::entry::{Arg, Read};
use crate::error::{Cause, Result};
use crate::handle::Kind;
use crate::raise::Call;

/// How a result is laid down for a program of the second interface.
pub trait ForeignSlot<W>: Slot<W> {
    /// The C type.
    type Place: Copy;

    /// The null handle, if the result is a handle of an object.
    const VOID: Option<fn() -> Self::Place> = None;

    /// The value as C holds it.
    ///
    /// # Errors
    /// `Cause::TooLarge` if the C type cannot hold it.
    fn place(value: Self::Value) -> Result<Self::Place>;
}

/// What both interfaces pass alike.
macro_rules! same {
    ($($name:ty;)*) => {$(
        impl<W> Foreign<W> for $name
        where
            $name: Read<W>,
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

        impl<W> ForeignSlot<W> for $name
        where
            $name: Slot<W>,
        {
            type Place = <Self as Slot<W>>::Raw;

            fn place(value: Self::Value) -> Result<Self::Place> {
                <Self as Slot<W>>::raw(value)
            }
        }
    )*};
}

same! {
    Count;
    Int;
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
    Code(c_int) standard_code;
    Rank(c_int) standard_rank;
    RecvPtr(*mut c_void) |address: *mut c_void| address.map_addr(standard_address);
    SendPtr(*const c_void) |address: *const c_void| address.map_addr(standard_address);
    Source(c_int) standard_source;
    Tag(c_int) standard_tag;
}

macro_rules! placed {
    ($($name:ident $of:expr;)*) => {$(
        impl<W> ForeignSlot<W> for $name
        where
            $name: Slot<W> + Stored<Value = c_int>,
        {
            type Place = c_int;

            fn place(value: c_int) -> Result<c_int> {
                Ok($of(value))
            }
        }
    )*};
}

placed! {
    Code code_of;
    Rank rank_of;
    Source source_of;
    Tag tag_of;
}

macro_rules! handles {
    ($($name:ident $kind:ident;)*) => {$(
        impl<W> Foreign<W> for $name {
            type Raw = c_int;
            type Held = Handle;

            #[inline(always)]
            unsafe fn hold(raw: c_int, _extent: Extent) -> Handle {
                standard_handle(Kind::$kind, raw)
            }

            #[inline(always)]
            fn standard(held: &mut Handle) -> Handle {
                *held
            }
        }
    )*};
}

handles! {
    Comm Comm;
    Datatype Datatype;
    Errhandler Errhandler;
    MessageType Datatype;
    Request Request;
}

macro_rules! handle_places {
    ($($name:ident $null:ident;)*) => {$(
        impl<W> ForeignSlot<W> for $name {
            type Place = c_int;

            const VOID: Option<fn() -> c_int> =
                Some(|| number_of(Kind::$name, crate::abi::$null));

            fn place(value: Handle) -> Result<c_int> {
                Ok(number_of(Kind::$name, value))
            }
        }
    )*};
}

handle_places! {
    Comm MPI_COMM_NULL;
    Errhandler MPI_ERRHANDLER_NULL;
    Request MPI_REQUEST_NULL;
}

/// # Safety
/// `place` is a writable `T::Place`.
unsafe fn store<W, T: ForeignSlot<W>>(place: *mut c_void, value: T::Value) -> Result<()> {
    let raw = T::place(value)?;
    // SAFETY: the place is a writable `T::Place`; alignment is not relied on.
    unsafe { place.cast::<T::Place>().write_unaligned(raw) };
    Ok(())
}

/// # Errors
/// The place is null.
fn out<W, T: ForeignSlot<W>>(place: *mut T::Place, name: &'static str) -> Result<Out<T>> {
    if place.is_null() {
        return Err(Cause::NullPointer { name }.into());
    }
    // SAFETY: not null, and the caller passed a place of that type.
    Ok(unsafe { Out::at(place.cast(), store::<W, T>) })
}

impl<W, T: ForeignSlot<W>> Foreign<W> for Out<T> {
    type Raw = *mut T::Place;
    type Held = *mut T::Place;

    #[inline(always)]
    unsafe fn hold(raw: Self::Raw, _extent: Extent) -> Self::Held {
        raw
    }

    /// The address: it is shown, and not followed.
    fn standard(held: &mut Self::Held) -> *mut <T as Slot<W>>::Raw {
        held.cast()
    }

    unsafe fn read(held: &mut Self::Held, name: &'static str, _call: &Call) -> Result<Self> {
        out::<W, T>(*held, name)
    }

    unsafe fn void(held: &mut Self::Held) {
        if let Some(null) = T::VOID
            && !held.is_null()
        {
            // SAFETY: not null, and the caller passed a place of that type.
            unsafe { held.write_unaligned(null()) };
        }
    }
}

impl<W, T> Foreign<W> for InOut<T>
where
    T: ForeignSlot<W>
        + Arg<W, C = <T as Slot<W>>::Raw>
        + Foreign<W, Raw = <T as ForeignSlot<W>>::Place>,
{
    type Raw = *mut <T as Foreign<W>>::Raw;
    type Held = *mut <T as Foreign<W>>::Raw;

    #[inline(always)]
    unsafe fn hold(raw: Self::Raw, _extent: Extent) -> Self::Held {
        raw
    }

    /// The address: it is shown, and not followed.
    fn standard(held: &mut Self::Held) -> *mut <T as Slot<W>>::Raw {
        held.cast()
    }

    unsafe fn read(held: &mut Self::Held, name: &'static str, call: &Call) -> Result<Self> {
        let out = out::<W, T>(*held, name)?;
        // SAFETY: not null, and the caller passed a place that holds the argument.
        let value = unsafe {
            let mut value = T::hold(held.read_unaligned(), Extent::default());
            T::note(T::standard(&mut value), call);
            <T as Foreign<W>>::read(&mut value, name, call)?
        };
        Ok(Self::of(value, out))
    }

    /// Nothing: the place keeps its argument.
    unsafe fn void(_held: &mut Self::Held) {}
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

impl<W> Foreign<W> for CommErrhandlerFn
where
    CommErrhandlerFn: Arg<W, C = *const c_void> + Read<W>,
{
    type Raw = *const c_void;
    type Held = *const c_void;

    #[inline(always)]
    unsafe fn hold(raw: *const c_void, _extent: Extent) -> *const c_void {
        raw
    }

    fn standard(held: &mut *const c_void) -> *const c_void {
        *held
    }

    unsafe fn read(held: &mut *const c_void, _name: &'static str, _call: &Call) -> Result<Self> {
        let (address, call) = (*held, call_comm_errhandler as _);
        Ok(Self(ErrorFn { address, call }))
    }
}

/// # Safety
/// `function` is a handler for communicators of the second interface.
unsafe fn call_comm_errhandler(function: *const c_void, object: Handle, code: c_int) {
    type Function = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int, ...);
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    let (mut comm, mut code) = (number_of(Kind::Comm, object), code_of(code));
    // SAFETY: the arguments are those MPI gives to a handler; both outlive the call.
    unsafe { function(&raw mut comm, &raw mut code) };
}
