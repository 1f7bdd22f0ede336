//! Arguments of MPICH's interface that are one value, or a place for one.
#![expect(
    unsafe_code,
    reason = "results are written through the caller's pointers"
)]

use core::ffi::{c_char, c_int, c_void};

use super::constants::{
    ACCESS_MODES, ASSERTIONS, BINDINGS, COMBINERS, COMPARED, IN_PLACE, KEYS, LOCK_TYPES, ORDERS,
    PVAR_CLASSES, SAFETIES, SCOPES, SOURCE_ORDERS, SPLIT_TYPES, THREAD_LEVELS, TOPOLOGIES,
    TYPE_CLASSES, VERBOSITIES, WHENCES, code_of, number_of as number, rank_of, set_of, source_of,
    standard_address, standard_code, standard_key, standard_number, standard_rank, standard_room,
    standard_root, standard_set, standard_source, standard_tag, tag_of, text_limit,
};
use super::handles::{
    built_in_datatype, is_built_in_datatype, is_world, null_number, number_of, request,
    standard_handle, world,
};
use super::{Extent, Foreign};
use crate::abi::{self, Handle};
use crate::args::*;
use crate::entry::{Arg, Large, Read, Small};
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

same! {
    Address;
    Aint;
    Aints;
    Argc;
    Argv;
    BlockLength;
    BufferSize;
    ConstAddress;
    ConversionFn;
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
    ExtentFn;
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
    Whence(c_int) |number| standard_number(WHENCES, number);
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
                raw.addr() != IN_PLACE
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
        // A handler of the program may look at it before the call is over.
        if let Some(null) = T::VOID
            && !raw.is_null()
        {
            // SAFETY: not null, and the caller passed a place of that type.
            unsafe { raw.write_unaligned(null) };
        }
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

    /// Nothing: it holds the null handle since before.
    unsafe fn void(_held: &mut Self::Held) {}

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

            unsafe fn release(held: &mut Self::Held) {
                // SAFETY: passed on.
                unsafe { <Out<Datatype> as Foreign<$width>>::release(held) };
            }
        }
    )*};
}

new_datatypes! { Small Large }
