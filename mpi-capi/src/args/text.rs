//! Arguments that are strings.
#![expect(
    unsafe_code,
    reason = "C strings are read and written through the caller's pointers"
)]

use core::ffi::{CStr, c_char, c_int};

use crate::abi;
use crate::args::numbers::{append, show_address};
use crate::declaration::Declarator;
use crate::entry::{Arg, Read};
use crate::error::{Cause, Result};
use crate::raise::Call;

/// A C string that is read.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a>(&'a CStr);

impl<'a> Text<'a> {
    /// The bytes without the terminating zero.
    pub fn bytes(self) -> &'a [u8] {
        self.0.to_bytes()
    }
}

impl<W> Arg<W> for Text<'_> {
    type C = *const c_char;
    const DECLARATION: Declarator = Declarator::pointer("const char");
    const IS_KEPT: bool = false;

    #[expect(
        clippy::not_unsafe_ptr_arg_deref,
        reason = "the macro passes what C passed"
    )]
    fn show(c: *const c_char, name: &str, line: &mut String) {
        if c.is_null() {
            return show_address(0, name, line);
        }
        // SAFETY: a pointer that is not null is a C string, as MPI demands of the caller.
        let text = unsafe { CStr::from_ptr(c) }.to_string_lossy();
        let shown: String = text.chars().take(40).collect();
        append(line, format_args!("{name}={shown:?}"));
    }
}

impl<W> Read<W> for Text<'_> {
    unsafe fn read(c: *const c_char, name: &'static str, _call: &Call) -> Result<Self> {
        if c.is_null() {
            return Err(Cause::NullPointer { name }.into());
        }
        // SAFETY: not null, and the caller passed a C string that outlives the call.
        Ok(Self(unsafe { CStr::from_ptr(c) }))
    }
}

/// The name of a file: the call belongs to files, but to none that exists.
#[derive(Debug, Clone, Copy)]
pub struct FileName<'a>(pub Text<'a>);

impl<W> Arg<W> for FileName<'_> {
    type C = *const c_char;
    const DECLARATION: Declarator = <Text<'_> as Arg<W>>::DECLARATION;
    const IS_KEPT: bool = false;

    fn show(c: *const c_char, name: &str, line: &mut String) {
        <Text<'_> as Arg<W>>::show(c, name, line);
    }

    fn note(_c: *const c_char, call: &Call) {
        call.note_file(abi::MPI_FILE_NULL);
    }
}

impl<W> Read<W> for FileName<'_> {
    unsafe fn read(c: *const c_char, name: &'static str, call: &Call) -> Result<Self> {
        // SAFETY: passed on.
        unsafe { <Text<'_> as Read<W>>::read(c, name, call) }.map(Self)
    }
}

/// Room for a C string. It may be null if the caller gives no room.
#[derive(Debug, Clone, Copy)]
pub struct TextOut {
    place: *mut c_char,
    name: &'static str,
    /// Bytes that the program's binary interface gives such a string, with the zero.
    most: usize,
}

impl TextOut {
    /// Room at `place` for at most `most` bytes, with the zero.
    pub fn at(place: *mut c_char, name: &'static str, most: usize) -> Self {
        Self { place, name, most }
    }

    /// Returns true if there is a place.
    pub fn is_some(self) -> bool {
        !self.place.is_null()
    }

    /// Writes at most `room - 1` bytes of `text` and a terminating zero; returns the bytes written
    /// without the zero. `room` is what MPI makes the caller provide.
    ///
    /// # Errors
    /// `Cause::NullPointer` if there is no place.
    pub fn set(self, text: &[u8], room: usize) -> Result<c_int> {
        if self.place.is_null() {
            return Err(Cause::NullPointer { name: self.name }.into());
        }
        assert!(room > 0, "there is room for the zero");
        let len = text.len().min(room.min(self.most) - 1);
        // SAFETY: not null, and the caller provides `room` bytes.
        unsafe {
            self.place
                .cast::<u8>()
                .copy_from_nonoverlapping(text.as_ptr(), len);
            self.place.add(len).write(0);
        }
        Ok(c_int::try_from(len).expect("the standard's strings are short"))
    }
}

impl<W> Arg<W> for TextOut {
    type C = *mut c_char;
    const DECLARATION: Declarator = Declarator::pointer("char");
    const IS_KEPT: bool = false;

    fn show(c: *mut c_char, name: &str, line: &mut String) {
        show_address(c.addr(), name, line);
    }
}

impl<W> Read<W> for TextOut {
    unsafe fn read(c: *mut c_char, name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self::at(c, name, usize::MAX))
    }
}

macro_rules! text_pointers {
    ($($(#[$doc:meta])* $name:ident: $c:ty, $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(pub $c);

        impl<W> Arg<W> for $name {
            type C = $c;
            const DECLARATION: Declarator = $declaration;
            const IS_KEPT: bool = false;

            fn show(c: $c, name: &str, line: &mut String) {
                show_address(c.addr(), name, line);
            }
        }

        impl<W> Read<W> for $name {
            unsafe fn read(c: $c, _name: &'static str, _call: &Call) -> Result<Self> {
                Ok(Self(c))
            }
        }
    )*};
}

text_pointers! {
    /// A list of C strings that ends with a null pointer.
    Texts: *mut *mut c_char, Declarator { base: "char", before: " *", after: "[]" };
    /// A list of such lists.
    TextLists: *mut *mut *mut c_char, Declarator { base: "char", before: " **", after: "[]" };
    /// The address of `main`'s argument count, or null.
    Argc: *mut c_int, Declarator::pointer("int");
    /// The address of `main`'s arguments, or null.
    Argv: *mut *mut *mut c_char, Declarator { base: "char", before: " ***", after: "" };
}
