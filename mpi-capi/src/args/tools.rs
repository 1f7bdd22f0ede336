//! Arguments of the tool information interface: handles, and results that the caller may not want.
#![expect(unsafe_code, reason = "arguments are read as C passed them")]

use core::ffi::c_int;

use crate::abi::Handle;
use crate::args::numbers::{InOut, Int, Out, Slot, Stored, show_address};
use crate::args::text::TextOut;
use crate::declaration::Declarator;
use crate::entry::{Arg, Read};
use crate::error::Result;
use crate::raise::Call;

macro_rules! tool_types {
    ($($(#[$doc:meta])* $name:ident: $c:ty = $spelling:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(pub $c);

        impl<W> Arg<W> for $name {
            type C = $c;
            const DECLARATION: Declarator = Declarator::value($spelling);
            const IS_KEPT: bool = false;

            fn show(c: $c, name: &str, line: &mut String) {
                show_address(c.address(), name, line);
            }
        }

        impl<W> Read<W> for $name {
            unsafe fn read(c: $c, _name: &'static str, _call: &Call) -> Result<Self> {
                Ok(Self(c))
            }
        }

        impl Stored for $name {
            type Value = $c;
        }

        impl<W> Slot<W> for $name {
            type Raw = $c;
            const NAME: &'static str = $spelling;

            fn raw(value: $c) -> Result<$c> {
                Ok(value)
            }
        }
    )*};
}

tool_types! {
    /// An enumeration of a variable's values.
    ToolEnum: Handle = "MPI_T_enum";
    /// A control variable bound to an object; the body looks it up.
    CvarHandle: Handle = "MPI_T_cvar_handle";
    /// A performance variable bound to an object; the body looks it up.
    PvarHandle: Handle = "MPI_T_pvar_handle";
    /// A session in which performance variables run; the body looks it up.
    PvarSession: Handle = "MPI_T_pvar_session";
    /// An event registered with a callback.
    EventRegistration: Handle = "MPI_T_event_registration";
    /// An event that happened.
    EventInstance: Handle = "MPI_T_event_instance";
    /// What a callback promises; an enumeration in C.
    CallbackSafety: c_int = "MPI_T_cb_safety";
    /// Order of a source's events; an enumeration in C.
    SourceOrder: c_int = "MPI_T_source_order";
}

trait Shown {
    fn address(self) -> usize;
}

impl Shown for Handle {
    fn address(self) -> usize {
        self.0
    }
}

impl Shown for c_int {
    fn address(self) -> usize {
        self.cast_unsigned() as usize
    }
}

/// A place for a result that the caller may leave out with a null pointer. Source: MPI 5.0, 15.3.
pub struct Wanted<T: Stored>(Option<Out<T>>);

impl<T: Stored> Wanted<T> {
    /// The place, if it is wanted.
    pub fn of(place: Option<Out<T>>) -> Self {
        Self(place)
    }

    /// Lays down the result where it is wanted.
    ///
    /// # Errors
    /// `Cause::TooLarge` if it does not fit the caller's type.
    pub fn set(&self, value: impl Into<T::Value>) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |out| out.set(value))
    }
}

impl<T: Stored> Wanted<T> {
    /// Lays down the result of `make`, which is called only where it is wanted.
    ///
    /// # Errors
    /// As [`Wanted::set`].
    pub fn set_with(&self, make: impl FnOnce() -> T::Value) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |out| out.set(make()))
    }
}

impl<W, T: Slot<W>> Arg<W> for Wanted<T> {
    type C = *mut T::Raw;
    const DECLARATION: Declarator = Declarator::pointer(T::NAME);
    const IS_KEPT: bool = false;

    fn show(c: *mut T::Raw, name: &str, line: &mut String) {
        show_address(c.addr(), name, line);
    }
}

impl<W, T: Slot<W>> Read<W> for Wanted<T> {
    unsafe fn read(c: *mut T::Raw, name: &'static str, call: &Call) -> Result<Self> {
        if c.is_null() {
            return Ok(Self(None));
        }
        // SAFETY: passed on.
        let out = unsafe { <Out<T> as Read<W>>::read(c, name, call)? };
        Ok(Self(Some(out)))
    }
}

/// The length of the caller's room for a string, which takes the length of the string; null if
/// the string is not wanted.
pub struct Room(Option<InOut<Int>>);

impl Room {
    /// Gives `text` to the caller as far as there is room, and returns how much it needs. Source:
    /// MPI 5.0, 15.3.3.
    ///
    /// # Errors
    /// None.
    pub fn give(&self, text: &str, place: TextOut) -> Result<()> {
        let Some(length) = &self.0 else {
            return Ok(());
        };
        let room = usize::try_from(length.value.0).unwrap_or(0);
        if room > 0 && place.is_some() {
            place.set(text.as_bytes(), room)?;
        }
        let needed = c_int::try_from(text.len() + 1).expect("our texts are short");
        length.set(needed)
    }
}

impl Room {
    /// Returns how many of `count` things there is room for, and tells the caller how many there
    /// are.
    ///
    /// # Errors
    /// None.
    pub fn settle(&self, count: usize) -> Result<usize> {
        let Some(length) = &self.0 else {
            return Ok(0);
        };
        let room = usize::try_from(length.value.0).unwrap_or(0);
        length.set(c_int::try_from(count).expect("there are a few elements"))?;
        Ok(room.min(count))
    }
}

impl<W> Arg<W> for Room {
    type C = *mut c_int;
    const DECLARATION: Declarator = Declarator::pointer("int");
    const IS_KEPT: bool = false;

    fn show(c: *mut c_int, name: &str, line: &mut String) {
        show_address(c.addr(), name, line);
    }
}

impl<W> Read<W> for Room
where
    InOut<Int>: Read<W, C = *mut c_int>,
{
    unsafe fn read(c: *mut c_int, name: &'static str, call: &Call) -> Result<Self> {
        if c.is_null() {
            return Ok(Self(None));
        }
        // SAFETY: passed on.
        let length = unsafe { <InOut<Int> as Read<W>>::read(c, name, call)? };
        Ok(Self(Some(length)))
    }
}
