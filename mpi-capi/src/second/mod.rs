//! A second binary interface over the same entries, as a test: handles are C `int`s, statuses have
//! another layout, constants and error classes have other values.
//!
//! The macro of the entries offers each function to [`offer!`], which makes a second symbol of
//! those that it lists. The symbol has the body of the entry and arguments of [`Foreign`]. What the
//! interface is made of lies in `constants.rs` and `handles.rs`; `arguments.rs` has each type of
//! argument. See docs/decisions/0077-a-second-binary-interface.md.

pub mod arguments;
pub mod arrays;
pub mod constants;
pub mod handles;
pub mod statuses;
mod tests;

use crate::entry::{Arg, Read};
use crate::error::Result;
use crate::raise::Call;
pub use constants::{code_of, standard_code};

/// An argument as the second interface passes it. While the call runs it is held in the form that
/// the standard's interface has for it; so checks, messages and bodies are the same.
#[expect(
    unsafe_code,
    reason = "reading an argument follows the pointers of the caller"
)]
pub trait Foreign<W>: Read<W> {
    /// What C passes.
    type Raw: Copy;

    /// What is kept of it while the call runs: on the stack, but for long arrays.
    type Held;

    /// Notes how long the arrays of the call are. All arguments are measured before one is held.
    fn measure(_raw: Self::Raw, _extent: &mut Extent) {}

    /// Takes the argument.
    ///
    /// # Safety
    /// As of [`Read::read`].
    unsafe fn hold(raw: Self::Raw, extent: Extent) -> Self::Held;

    /// The argument as the standard's interface passes it.
    fn standard(held: &mut Self::Held) -> <Self as Arg<W>>::C;

    /// Checks the argument.
    ///
    /// # Errors
    /// As [`Read::read`].
    ///
    /// # Safety
    /// As of [`Read::read`].
    #[inline(always)]
    unsafe fn read(held: &mut Self::Held, name: &'static str, call: &Call) -> Result<Self> {
        // SAFETY: the caller's promises are passed on.
        unsafe { <Self as Read<W>>::read(Self::standard(held), name, call) }
    }

    /// Lays down the null handle, as [`Arg::void`] does.
    ///
    /// # Safety
    /// As of [`Read::read`].
    #[inline(always)]
    unsafe fn void(held: &mut Self::Held) {
        // SAFETY: the caller's promises are passed on.
        unsafe { <Self as Arg<W>>::void(Self::standard(held)) }
    }

    /// Copies what the body laid down to the places of the program.
    ///
    /// # Safety
    /// As of [`Read::read`].
    #[inline(always)]
    unsafe fn release(_held: &mut Self::Held) {}
}

/// How long the arrays of a call are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extent {
    /// The length that the call names.
    pub length: usize,
}

/// Makes a second symbol of a function that the second interface has.
macro_rules! offer {
    (MPI_Comm_create_errhandler $($entry:tt)*) => {
        $crate::second::export! { MPI_Comm_create_errhandler $($entry)* }
    };
    (MPI_Comm_dup $($entry:tt)*) => {
        $crate::second::export! { MPI_Comm_dup $($entry)* }
    };
    (MPI_Comm_free $($entry:tt)*) => {
        $crate::second::export! { MPI_Comm_free $($entry)* }
    };
    (MPI_Comm_set_errhandler $($entry:tt)*) => {
        $crate::second::export! { MPI_Comm_set_errhandler $($entry)* }
    };
    (MPI_Error_string $($entry:tt)*) => {
        $crate::second::export! { MPI_Error_string $($entry)* }
    };
    (MPI_Get_count $($entry:tt)*) => {
        $crate::second::export! { MPI_Get_count $($entry)* }
    };
    (MPI_Irecv $($entry:tt)*) => {
        $crate::second::export! { MPI_Irecv $($entry)* }
    };
    (MPI_Isend $($entry:tt)*) => {
        $crate::second::export! { MPI_Isend $($entry)* }
    };
    (MPI_Recv $($entry:tt)*) => {
        $crate::second::export! { MPI_Recv $($entry)* }
    };
    (MPI_Send $($entry:tt)*) => {
        $crate::second::export! { MPI_Send $($entry)* }
    };
    (MPI_Waitall $($entry:tt)*) => {
        $crate::second::export! { MPI_Waitall $($entry)* }
    };
    ($other:ident $($entry:tt)*) => {};
}

/// Makes the symbol of one width: the entry's body behind arguments of the second interface.
macro_rules! export {
    ($name:ident $width:ty, [] $args:tt $body:tt) => {};
    ($name:ident $width:ty, [$symbol:ident] ($($arg:ident: $ty:ty),*) $body:block) => {
        #[expect(unsafe_code, reason = "an exported symbol is called by C with raw arguments")]
        const _: () = {
            use $crate::second::Foreign;

            static SYMBOL: $crate::symbol::Symbol =
                $crate::symbol::Symbol::new(stringify!($symbol));

            #[unsafe(export_name = concat!("SECOND_", stringify!($symbol)))]
            #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
            unsafe extern "C" fn foreign(
                $($arg: <$ty as Foreign<$width>>::Raw),*
            ) -> core::ffi::c_int {
                // SAFETY: the caller's promises are passed on as they are.
                let again = move || unsafe { foreign($($arg),*) };
                let mut extent = $crate::second::Extent::default();
                $( <$ty as Foreign<$width>>::measure($arg, &mut extent); )*
                $(
                    // SAFETY: the caller of the C function keeps MPI's rules for this argument.
                    let mut $arg = unsafe { <$ty as Foreign<$width>>::hold($arg, extent) };
                )*
                let record;
                let call = if const { $crate::symbol::is_recorded(stringify!($symbol)) } {
                    record = ($($crate::entry::keep::<$ty, $width>(
                        <$ty as Foreign<$width>>::standard(&mut $arg)),)*);
                    $crate::raise::Call::enter_recorded(&SYMBOL, &record)
                } else {
                    $crate::raise::Call::enter(&SYMBOL)
                };
                if let Err(error) = call.check_running() {
                    $( let $arg = <$ty as Foreign<$width>>::standard(&mut $arg); )*
                    let code = call.refuse(error, &move |first| match first {
                        Some(_call) => {
                            $( <$ty as $crate::entry::Arg<$width>>::note($arg, _call); )*
                            $crate::abi::MPI_SUCCESS
                        }
                        None => $crate::second::standard_code(again()),
                    });
                    return $crate::second::code_of(code);
                }
                let mut run = || {
                    $(
                        let standard = <$ty as Foreign<$width>>::standard(&mut $arg);
                        <$ty as $crate::entry::Arg<$width>>::note(standard, &call);
                    )*
                    $(
                        // SAFETY: the caller of the C function keeps MPI's rules for this argument.
                        let $arg = unsafe {
                            <$ty as Foreign<$width>>::read(&mut $arg, stringify!($arg), &call)?
                        };
                    )*
                    $name($($arg),*)
                };
                let result = run();
                $(
                    // SAFETY: as above.
                    unsafe {
                        if result.is_err() {
                            <$ty as Foreign<$width>>::void(&mut $arg);
                        }
                        <$ty as Foreign<$width>>::release(&mut $arg);
                    }
                )*
                let Err(error) = result else {
                    return 0;
                };
                $( let $arg = <$ty as Foreign<$width>>::standard(&mut $arg); )*
                $crate::second::code_of(call.raise(error, &move |_line| {
                    $( <$ty as $crate::entry::Arg<$width>>::show($arg, stringify!($arg), _line); )*
                }))
            }
        };
    };
}

pub(crate) use {export, offer};
