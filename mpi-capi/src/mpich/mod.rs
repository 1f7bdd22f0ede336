//! MPICH's binary interface over the same entries: handles are C `int`s, statuses have another
//! layout, constants and error classes have other values.
//!
//! The macro of the entries makes a second symbol of each function by `export!`. It has the body
//! of the entry and arguments of [`Foreign`], and a name of its own: `libmpi.so.12` has the names
//! of C and jumps there. What the interface is made of lies in `constants.rs` and `handles.rs`;
//! `arguments.rs` has most types of arguments, `data.rs` what the standard does not have. See
//! docs/decisions/0077-a-second-binary-interface.md and 0081.

pub mod arguments;
pub mod arrays;
pub mod callbacks;
pub mod constants;
pub mod data;
pub mod fortran;
pub mod handles;
pub mod header;
pub mod jumps;
pub mod markers;
pub mod places;
pub mod statuses;
#[cfg(test)]
mod tests;

use crate::entry::{Arg, Read};
use crate::error::Result;
use crate::raise::Call;
pub use constants::{code_of, standard_code};

/// An argument as MPICH's interface passes it. While the call runs it is held in the form that
/// the standard's interface has for it; so checks, messages and bodies are the same.
#[expect(
    unsafe_code,
    reason = "reading an argument follows the pointers of the caller"
)]
pub trait Foreign<W>: Read<W> {
    /// What C passes.
    type Raw: Copy;

    /// True if the standard's form of it is all that the body needs to know.
    const IS_PLAIN: bool = true;

    /// What is kept of it while the call runs: on the stack, but for long arrays.
    type Held;

    /// Notes how long the arrays of the call are. All arguments are measured before one is held.
    fn measure(_raw: Self::Raw, _extent: &mut Extent) {}

    /// Takes the argument.
    ///
    /// # Safety
    /// As of [`Read::read`].
    unsafe fn hold(raw: Self::Raw, extent: Extent) -> Self::Held;

    /// Returns true if [`Foreign::hold_quick`] may take the argument, of a call that counts.
    #[inline(always)]
    fn is_quick(_raw: Self::Raw) -> bool {
        true
    }

    /// As [`Foreign::hold`], of an argument that is quick.
    ///
    /// # Safety
    /// As of [`Read::read`], and `is_quick` has returned true.
    #[inline(always)]
    unsafe fn hold_quick(raw: Self::Raw) -> Self::Held {
        // SAFETY: passed on.
        unsafe { Self::hold(raw, Extent::default()) }
    }

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

    /// Lays down the null handle before the call: a handler of the program may look at it before
    /// the call is over.
    ///
    /// # Safety
    /// As of [`Read::read`].
    #[inline(always)]
    unsafe fn prepare(_held: &mut Self::Held) {}

    /// Copies what the body laid down to the places of the program.
    ///
    /// # Safety
    /// As of [`Read::read`].
    #[inline(always)]
    unsafe fn release(_held: &mut Self::Held) {}

    /// As [`Foreign::release`], of an argument that [`Foreign::hold_quick`] has taken; `is_done`
    /// says that there was no error.
    ///
    /// # Safety
    /// As of [`Read::read`].
    #[inline(always)]
    unsafe fn release_quick(held: &mut Self::Held, _is_done: bool) {
        // SAFETY: passed on.
        unsafe { Self::release(held) }
    }
}

/// How long the arrays of a call are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extent {
    /// The length that the call names.
    pub length: usize,
}

/// Functions whose results come after the call, or whose texts have less room than the standard's.
const OF_ITS_OWN: &[&str] = &[
    "MPI_Comm_idup",
    "MPI_Comm_idup_with_info",
    "MPI_Get_processor_name",
    "MPI_Info_get_nthkey",
    "MPI_Lookup_name",
    "MPI_Open_port",
];

/// Functions that have the body in themselves, since each call counts. None has an array.
const QUICK: &[&str] = &["MPI_Irecv", "MPI_Isend", "MPI_Recv", "MPI_Send"];

/// Returns true if each call of this function counts.
pub const fn is_quick(name: &str) -> bool {
    crate::symbol::is_in(QUICK, name)
}

/// Returns true if the body of this function is to get arguments of MPICH's interface, whatever
/// their types.
pub const fn is_of_its_own(name: &str) -> bool {
    crate::symbol::is_in(OF_ITS_OWN, name)
}

/// Makes the symbol of one width: it calls the entry of the standard's interface with translated
/// arguments. If one of the arguments has to know the interface, as a function of the program does,
/// the symbol has the body of the entry and all around it.
macro_rules! export {
    (
        $standard:ident $name:ident $width:ty, [$symbol:ident] ($($arg:ident: $ty:ty),*) $body:tt
    ) => {
        #[unsafe(export_name = concat!("mpilite_mpich_", stringify!($symbol)))]
        #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
        #[allow(unused_mut, reason = "some functions have no arguments")]
        unsafe extern "C" fn foreign(
            $($arg: <$ty as $crate::mpich::Foreign<$width>>::Raw),*
        ) -> core::ffi::c_int {
            if const { $crate::mpich::is_quick(stringify!($symbol)) }
                $(&& <$ty as $crate::mpich::Foreign<$width>>::is_quick($arg))*
                && $crate::raise::Call::may_run(&SYMBOL)
            {
                $(
                    // SAFETY: the caller of the C function keeps MPI's rules for this argument.
                    let mut $arg = unsafe {
                        <$ty as $crate::mpich::Foreign<$width>>::hold_quick($arg)
                    };
                )*
                let record;
                let call = if const { $crate::symbol::is_recorded(stringify!($symbol)) } {
                    record = ($($crate::entry::keep::<$ty, $width>(
                        <$ty as $crate::mpich::Foreign<$width>>::standard(&mut $arg)),)*);
                    $crate::raise::Call::enter_recorded(&SYMBOL, &record)
                } else {
                    $crate::raise::Call::enter(&SYMBOL)
                };
                $crate::mpich::export! {
                    @finish $name $width, (call true) ($($arg: $ty),*) $body
                }
            }
            // SAFETY: the caller's promises are passed on as they are.
            unsafe {
                if const { $crate::mpich::is_quick(stringify!($symbol)) } {
                    return slow($($arg),*);
                }
                translated($($arg),*)
            }
        }

        /// The rare calls of a function that is quick.
        #[cold]
        #[inline(never)]
        #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
        unsafe extern "C" fn slow(
            $($arg: <$ty as $crate::mpich::Foreign<$width>>::Raw),*
        ) -> core::ffi::c_int {
            // SAFETY: the caller's promises are passed on as they are.
            unsafe { translated($($arg),*) }
        }

        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
        #[allow(unused_mut, reason = "some functions have no arguments")]
        unsafe extern "C" fn translated(
            $($arg: <$ty as $crate::mpich::Foreign<$width>>::Raw),*
        ) -> core::ffi::c_int {
            // SAFETY: the caller's promises are passed on as they are.
            let again = move || unsafe { foreign($($arg),*) };
            let mut _extent = $crate::mpich::Extent::default();
            $( <$ty as $crate::mpich::Foreign<$width>>::measure($arg, &mut _extent); )*
            $(
                // SAFETY: the caller of the C function keeps MPI's rules for this argument.
                let mut $arg = unsafe {
                    <$ty as $crate::mpich::Foreign<$width>>::hold($arg, _extent)
                };
            )*
            const IS_PLAIN: bool = !$crate::mpich::is_of_its_own(stringify!($symbol))
                $(&& <$ty as $crate::mpich::Foreign<$width>>::IS_PLAIN)*;
            if const { IS_PLAIN } {
                // SAFETY: as above; what is held lasts as long as the call.
                unsafe {
                    $( <$ty as $crate::mpich::Foreign<$width>>::prepare(&mut $arg); )*
                    let code = $standard($(
                        <$ty as $crate::mpich::Foreign<$width>>::standard(&mut $arg)
                    ),*);
                    $( <$ty as $crate::mpich::Foreign<$width>>::release(&mut $arg); )*
                    return $crate::mpich::code_of(code);
                }
            }
            let call = $crate::raise::Call::enter(&SYMBOL);
            if let Err(error) = call.check_running() {
                $( let $arg = <$ty as $crate::mpich::Foreign<$width>>::standard(&mut $arg); )*
                let code = call.refuse(error, &move |first| match first {
                    Some(_call) => {
                        $( <$ty as $crate::entry::Arg<$width>>::note($arg, _call); )*
                        $crate::abi::MPI_SUCCESS
                    }
                    None => $crate::mpich::standard_code(again()),
                });
                return $crate::mpich::code_of(code);
            }
            $crate::mpich::export! { @finish $name $width, (call false) ($($arg: $ty),*) $body }
        }
    };

    (
        @finish $name:ident $width:ty,
        ($call:ident $is_quick:literal) ($($arg:ident: $ty:ty),*) $body:tt
    ) => {
            let mut run = || {
                $(
                    let standard = <$ty as $crate::mpich::Foreign<$width>>::standard(&mut $arg);
                    <$ty as $crate::entry::Arg<$width>>::note(standard, &$call);
                )*
                $crate::mpich::export!(@run $name $width, ($call) ($($arg: $ty),*) $body)
            };
            let result = run();
            $(
                // SAFETY: as above.
                unsafe {
                    if result.is_err() {
                        <$ty as $crate::mpich::Foreign<$width>>::void(&mut $arg);
                    }
                    if $is_quick {
                        <$ty as $crate::mpich::Foreign<$width>>::release_quick(
                            &mut $arg, result.is_ok());
                    } else {
                        <$ty as $crate::mpich::Foreign<$width>>::release(&mut $arg);
                    }
                }
            )*
            let Err(error) = result else {
                return 0;
            };
            $( let $arg = <$ty as $crate::mpich::Foreign<$width>>::standard(&mut $arg); )*
            return $crate::mpich::code_of($call.raise(error, &move |_line| {
                $( <$ty as $crate::entry::Arg<$width>>::show($arg, stringify!($arg), _line); )*
            }));
    };

    (@run $name:ident $width:ty, ($call:ident) ($($arg:ident: $ty:ty),*) ;) => {
        $call.unsupported($crate::missing::code_of)
    };
    (@run $name:ident $width:ty, ($call:ident) ($($arg:ident: $ty:ty),*) $body:block) => {{
        $(
            // SAFETY: the caller of the C function keeps MPI's rules for this argument.
            let $arg = unsafe {
                <$ty as $crate::mpich::Foreign<$width>>::read(
                    &mut $arg, stringify!($arg), &$call)?
            };
        )*
        $name($($arg),*)
    }};
}

pub(crate) use export;
