//! Places for results of MPICH's interface.
#![expect(
    unsafe_code,
    reason = "results are written through the caller's pointers"
)]

use core::ffi::{c_int, c_void};

use super::arguments::file_of;
use super::constants::{
    ACCESS_MODES, BINDINGS, COMBINERS, COMPARED, KEYS, PVAR_CLASSES, SCOPES, SOURCE_ORDERS,
    THREAD_LEVELS, TOPOLOGIES, VERBOSITIES, code_of, number_of as number, rank_of, set_of,
    source_of, tag_of,
};
use super::handles::{null_number, number_of};
use super::{Extent, Foreign};
use crate::abi::Handle;
use crate::args::*;
use crate::entry::{Large, Read, Small};
use crate::error::{Cause, Result};
use crate::handle::Kind;
use crate::raise::Call;

/// How a result is laid down for a program of MPICH.
pub trait ForeignSlot<W>: Slot<W> {
    /// The C type.
    type Place: Copy;

    /// What stands in the standard's place until a body writes it, and no body writes; `None` if
    /// the interfaces lay the result down alike.
    const BLANK: Option<<Self as Slot<W>>::Raw>;

    /// The null handle, if the result is a handle of an object.
    const VOID: Option<Self::Place> = None;

    /// Returns true if both are the same.
    fn is(raw: <Self as Slot<W>>::Raw, other: <Self as Slot<W>>::Raw) -> bool;

    /// The value of the standard's place as MPICH holds it.
    fn place(raw: <Self as Slot<W>>::Raw) -> Self::Place;
}

/// A place of the program, and the standard's form of it.
pub struct HeldPlace<P, R> {
    place: *mut P,
    before: R,
    standard: R,
}

impl<P: Copy, R: Copy> HeldPlace<P, R> {
    fn new(place: *mut P, before: R) -> Self {
        Self {
            place,
            before,
            standard: before,
        }
    }

    #[inline(always)]
    fn address(&mut self, is_alike: bool) -> *mut R {
        if is_alike || self.place.is_null() {
            return self.place.cast();
        }
        &raw mut self.standard
    }
}

/// What a place of the program holds until a body writes there.
#[inline(always)]
fn blank<W, T: ForeignSlot<W>>() -> T::Raw {
    match T::BLANK {
        Some(blank) => blank,
        // SAFETY: all types of results are integers, and nobody looks at it.
        None => unsafe { core::mem::zeroed() },
    }
}

/// Lays down the null handle, if the place is for one.
///
/// # Safety
/// The place is null or one of the program.
#[inline(always)]
unsafe fn void<W, T: ForeignSlot<W>>(held: &HeldPlace<T::Place, T::Raw>) {
    if let Some(null) = T::VOID
        && !held.place.is_null()
    {
        // SAFETY: not null, and the caller passed a place of that type.
        unsafe { held.place.write_unaligned(null) };
    }
}

/// Writes what a body has written.
///
/// # Safety
/// The place is null or one of the program.
#[inline(always)]
unsafe fn write_back<W, T: ForeignSlot<W>>(held: &HeldPlace<T::Place, T::Raw>) {
    if T::BLANK.is_none() || held.place.is_null() || T::is(held.standard, held.before) {
        return;
    }
    // SAFETY: not null, and the caller passed a place of that type.
    unsafe { held.place.write_unaligned(T::place(held.standard)) };
}

/// Results that both interfaces lay down alike.
macro_rules! same_places {
    ($($name:ty;)*) => {$(
        impl<W> ForeignSlot<W> for $name
        where
            $name: Slot<W>,
        {
            type Place = <Self as Slot<W>>::Raw;

            const BLANK: Option<<Self as Slot<W>>::Raw> = None;

            fn is(_raw: Self::Place, _other: Self::Place) -> bool {
                true
            }

            fn place(raw: Self::Place) -> Self::Place {
                raw
            }
        }
    )*};
}

same_places! {
    Aint;
    Count;
    CvarHandle;
    Displacement;
    EventRegistration;
    Flag;
    Int;
    LargeCount;
    Offset;
    PvarHandle;
    PvarSession;
    ToolEnum;
    Unit;
}

macro_rules! placed {
    ($($name:ident $of:expr;)*) => {$(
        impl<W> ForeignSlot<W> for $name
        where
            $name: Slot<W, Raw = c_int>,
        {
            type Place = c_int;

            const BLANK: Option<c_int> = Some(c_int::MIN);

            fn is(raw: c_int, other: c_int) -> bool {
                raw == other
            }

            fn place(raw: c_int) -> c_int {
                let of: fn(c_int) -> c_int = $of;
                of(raw)
            }
        }
    )*};
}

placed! {
    AccessMode |set| set_of(ACCESS_MODES, set);
    Binding |value| number(BINDINGS, value);
    Code code_of;
    Combiner |value| number(COMBINERS, value);
    Compared |value| number(COMPARED, value);
    KeyNumber |value| number(KEYS, value);
    PvarClass |value| number(PVAR_CLASSES, value);
    Rank rank_of;
    Scope |value| number(SCOPES, value);
    Source source_of;
    SourceOrder |value| number(SOURCE_ORDERS, value);
    Tag tag_of;
    ThreadLevel |value| number(THREAD_LEVELS, value);
    TopologyKind |value| number(TOPOLOGIES, value);
    Verbosity |value| number(VERBOSITIES, value);
}

/// No handle has this value.
const NO_HANDLE: Handle = Handle(usize::MAX);

impl<W> ForeignSlot<W> for File {
    type Place = Handle;

    const BLANK: Option<Handle> = Some(NO_HANDLE);

    const VOID: Option<Handle> = Some(Handle(0));

    fn is(raw: Handle, other: Handle) -> bool {
        raw == other
    }

    fn place(raw: Handle) -> Handle {
        file_of(raw)
    }
}

macro_rules! handle_places {
    ($($name:ident;)*) => {$(
        impl<W> ForeignSlot<W> for $name {
            type Place = c_int;

            const BLANK: Option<Handle> = Some(NO_HANDLE);

            const VOID: Option<c_int> = Some(null_number(Kind::$name));

            fn is(raw: Handle, other: Handle) -> bool {
                raw == other
            }

            fn place(raw: Handle) -> c_int {
                number_of(Kind::$name, raw)
            }
        }
    )*};
}

handle_places! {
    Comm;
    Datatype;
    Errhandler;
    Group;
    Info;
    Message;
    Op;
    Request;
    Session;
    Win;
}

/// # Safety
/// `place` is a writable `T::Place`.
unsafe fn store<W, T: ForeignSlot<W>>(place: *mut c_void, value: T::Value) -> Result<()> {
    let raw = T::place(<T as Slot<W>>::raw(value)?);
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
    type Held = HeldPlace<T::Place, <T as Slot<W>>::Raw>;

    #[inline(always)]
    unsafe fn hold(raw: Self::Raw, _extent: Extent) -> Self::Held {
        HeldPlace::new(raw, blank::<W, T>())
    }

    #[inline(always)]
    fn standard(held: &mut Self::Held) -> *mut <T as Slot<W>>::Raw {
        held.address(T::BLANK.is_none())
    }

    /// The place itself: the result may come after the call.
    unsafe fn read(held: &mut Self::Held, name: &'static str, _call: &Call) -> Result<Self> {
        out::<W, T>(held.place, name)
    }

    #[inline(always)]
    unsafe fn prepare(held: &mut Self::Held) {
        // SAFETY: the place is null or one of the program.
        unsafe { void::<W, T>(held) };
    }

    #[inline(always)]
    unsafe fn release(held: &mut Self::Held) {
        // SAFETY: passed on.
        unsafe { write_back::<W, T>(held) };
    }
}

impl<W, T> Foreign<W> for InOut<T>
where
    T: ForeignSlot<W>
        + Read<W, C = <T as Slot<W>>::Raw>
        + Foreign<W, Raw = <T as ForeignSlot<W>>::Place>,
{
    type Raw = *mut <T as Foreign<W>>::Raw;
    type Held = HeldPlace<<T as ForeignSlot<W>>::Place, <T as Slot<W>>::Raw>;

    #[inline(always)]
    unsafe fn hold(raw: Self::Raw, extent: Extent) -> Self::Held {
        if T::BLANK.is_none() || raw.is_null() {
            return HeldPlace::new(raw, blank::<W, T>());
        }
        // SAFETY: not null, and the caller passed a place that holds the argument.
        let mut value = unsafe { T::hold(raw.read_unaligned(), extent) };
        HeldPlace::new(raw, T::standard(&mut value))
    }

    #[inline(always)]
    fn standard(held: &mut Self::Held) -> *mut <T as Slot<W>>::Raw {
        held.address(T::BLANK.is_none())
    }

    /// Nothing: the place keeps its argument.
    unsafe fn void(_held: &mut Self::Held) {}

    #[inline(always)]
    unsafe fn release(held: &mut Self::Held) {
        // SAFETY: passed on.
        unsafe { write_back::<W, T>(held) };
    }
}

impl<W, T: ForeignSlot<W>> Foreign<W> for Wanted<T> {
    type Raw = *mut T::Place;
    type Held = HeldPlace<T::Place, <T as Slot<W>>::Raw>;

    #[inline(always)]
    unsafe fn hold(raw: Self::Raw, extent: Extent) -> Self::Held {
        // SAFETY: passed on.
        unsafe { <Out<T> as Foreign<W>>::hold(raw, extent) }
    }

    fn standard(held: &mut Self::Held) -> *mut <T as Slot<W>>::Raw {
        <Out<T> as Foreign<W>>::standard(held)
    }

    unsafe fn prepare(held: &mut Self::Held) {
        // SAFETY: passed on.
        unsafe { <Out<T> as Foreign<W>>::prepare(held) };
    }

    unsafe fn release(held: &mut Self::Held) {
        // SAFETY: passed on.
        unsafe { <Out<T> as Foreign<W>>::release(held) };
    }
}

macro_rules! new_datatypes {
    ($($width:ident)*) => {$(
        impl Foreign<$width> for NewDatatype {
            type Raw = *mut c_int;
            type Held = HeldPlace<c_int, Handle>;

            #[inline(always)]
            unsafe fn hold(raw: *mut c_int, extent: Extent) -> Self::Held {
                // SAFETY: passed on.
                unsafe { <Out<Datatype> as Foreign<$width>>::hold(raw, extent) }
            }

            fn standard(held: &mut Self::Held) -> *mut Handle {
                <Out<Datatype> as Foreign<$width>>::standard(held)
            }

            unsafe fn prepare(held: &mut Self::Held) {
                // SAFETY: passed on.
                unsafe { <Out<Datatype> as Foreign<$width>>::prepare(held) };
            }

            unsafe fn release(held: &mut Self::Held) {
                // SAFETY: passed on.
                unsafe { <Out<Datatype> as Foreign<$width>>::release(held) };
            }
        }
    )*};
}

new_datatypes! { Small Large }
