//! The macro that turns one entry of a chapter into its C symbols, and what the macro stands on.
//!
//! An entry names a C function, its large-count twin if it has one, and its arguments as types of
//! [`crate::args`]. From one body the
//! macro makes `MPI_X`, `PMPI_X`, `MPI_X_c` and `PMPI_X_c`, and a row of the table from which the
//! prototypes in `include/mpi.h` and `docs/coverage.md` are written. An entry that ends with `;`
//! instead of a body is declared but not implemented: it links and raises
//! `MPI_ERR_UNSUPPORTED_OPERATION`.

use core::mem::MaybeUninit;

use crate::declaration::Declarator;
use crate::error::Result;
use crate::raise::Call;

/// The width of a function without suffix: counts are `int`.
pub struct Small;

/// The width of a `_c` function: counts are `MPI_Count`.
pub struct Large;

/// An argument as C passes it.
#[expect(
    unsafe_code,
    reason = "a result is written through the pointer of the caller"
)]
pub trait Arg<Width> {
    /// What C passes.
    type C: Copy;

    /// How the header declares it.
    const DECLARATION: Declarator;

    /// A call that waits keeps it, so that the report of a job that hangs can show it. Addresses,
    /// which differ from rank to rank, are not kept, nor what the engine knows as well.
    const IS_KEPT: bool = true;

    /// Appends the argument to the line of an error message; called only when there is one.
    fn show(c: Self::C, name: &str, line: &mut String);

    /// Notes for the call which object's error handler is responsible. Never fails: garbage notes
    /// nothing.
    fn note(_c: Self::C, _call: &Call) {}

    /// Lays down the null handle where the call was to lay down the handle of an object: it has
    /// failed. Programs that get errors back compare such results with the null handle.
    ///
    /// # Safety
    /// As of [`Read::read`].
    unsafe fn void(_c: Self::C) {}
}

/// An argument in a record. What the engine knows as well is left out, and addresses.
pub type Kept<C> = MaybeUninit<C>;

/// Keeps an argument in a record.
#[inline(always)]
pub fn keep<T: Arg<W>, W>(argument: T::C) -> Kept<T::C> {
    if T::IS_KEPT {
        MaybeUninit::new(argument)
    } else {
        MaybeUninit::uninit()
    }
}

/// An argument that can be turned into a value a body may rely on.
#[expect(
    unsafe_code,
    reason = "reading an argument follows the pointers of the caller"
)]
pub trait Read<Width>: Arg<Width> + Sized {
    /// Checks what C passed.
    ///
    /// # Errors
    /// An error of the class that MPI gives to this kind of argument.
    ///
    /// # Safety
    /// A pointer that is neither null nor one of the standard's address constants points to
    /// memory of the declared type, as MPI demands of the caller.
    unsafe fn read(c: Self::C, name: &'static str, call: &Call) -> Result<Self>;
}

/// What a function of `values!` returns instead of an error code.
pub trait Value {
    /// What C receives.
    type C;

    /// The name of the type in the header.
    const NAME: &'static str;
}

/// Makes the C symbols of functions that return an error code, and the chapter's `TABLE`.
macro_rules! mpi {
    // A body is compiled once for both widths, unless its entry has `#[inline(always)]`.
    ($(
        $(#[$doc:meta])*
        fn $name:ident $(| $large:ident)? ($($arg:ident: $ty:ty),* $(,)?) $body:tt
    )*) => {
        $(
            $crate::entry::mpi!(@body [$(#[$doc])*] $name ($($arg: $ty),*) $body);
            $crate::entry::mpi!(
                @export $name $crate::entry::Small [$name] ($($arg: $ty),*) $body);
            $crate::entry::mpi!(
                @export $name $crate::entry::Large [$($large)?] ($($arg: $ty),*) $body);
        )*

        /// The functions of this file: the plain name, then its large-count twin.
        pub const TABLE: &[&[$crate::declaration::Entry]] = &[$(
            $crate::entry::mpi!(@entry $crate::entry::Small [$name] ($($arg: $ty),*) $body),
            $crate::entry::mpi!(@entry $crate::entry::Large [$($large)?] ($($arg: $ty),*) $body),
        )*];
    };

    (@body $docs:tt $name:ident $args:tt ;) => {};
    (@body [$($doc:tt)*] $name:ident ($($arg:ident: $ty:ty),*) $body:block) => {
        $($doc)*
        #[expect(non_snake_case, reason = "C's names")]
        #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
        fn $name($($arg: $ty),*) -> $crate::error::Result<()> $body
    };

    (@export $name:ident $width:ty [] $args:tt $body:tt) => {};
    (@export $name:ident $width:ty [$symbol:ident] ($($arg:ident: $ty:ty),*) $body:tt) => {
        #[expect(unsafe_code, reason = "an exported symbol is called by C with raw arguments")]
        const _: () = {
            static SYMBOL: $crate::symbol::Symbol =
                $crate::symbol::Symbol::new(stringify!($symbol));

            #[unsafe(export_name = concat!("P", stringify!($symbol)))]
            #[inline(never)]
            #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
            unsafe extern "C" fn profiled(
                $($arg: <$ty as $crate::entry::Arg<$width>>::C),*
            ) -> core::ffi::c_int {
                let record;
                let call = if const { $crate::symbol::is_recorded(stringify!($symbol)) } {
                    record = ($($crate::entry::keep::<$ty, $width>($arg),)*);
                    if const { $crate::symbol::is_reduction(stringify!($symbol)) } {
                        $crate::global::LIBRARY.note_reduction(&SYMBOL);
                    }
                    $crate::raise::Call::enter_recorded(&SYMBOL, &record)
                } else {
                    $crate::raise::Call::enter(&SYMBOL)
                };
                if let Err(error) = call.check_running() {
                    return call.refuse(error, &move |first| match first {
                        Some(_call) => {
                            $( <$ty as $crate::entry::Arg<$width>>::note($arg, _call); )*
                            $crate::abi::MPI_SUCCESS
                        }
                        // SAFETY: the caller's promises are passed on as they are.
                        None => unsafe { profiled($($arg),*) },
                    });
                }
                match $crate::entry::mpi!(@run $name $width, (call) ($($arg: $ty),*) $body) {
                    Ok(()) => $crate::abi::MPI_SUCCESS,
                    Err(error) => {
                        $(
                            // SAFETY: the caller of the C function keeps MPI's rules.
                            unsafe { <$ty as $crate::entry::Arg<$width>>::void($arg) };
                        )*
                        call.raise(error, &move |_line| {
                            $(
                                <$ty as $crate::entry::Arg<$width>>::show(
                                    $arg, stringify!($arg), _line);
                            )*
                        })
                    }
                }
            }

            #[unsafe(export_name = stringify!($symbol))]
            #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
            unsafe extern "C" fn plain(
                $($arg: <$ty as $crate::entry::Arg<$width>>::C),*
            ) -> core::ffi::c_int {
                // SAFETY: the caller's promises are passed on as they are.
                unsafe { profiled($($arg),*) }
            }

            $crate::mpich::export! {
                profiled $name $width, [$symbol] ($($arg: $ty),*) $body
            }
        };
    };

    (@run $name:ident $width:ty, ($call:ident) ($($arg:ident: $ty:ty),*) ;) => {{
        $( <$ty as $crate::entry::Arg<$width>>::note($arg, &$call); )*
        $call.unsupported($crate::missing::code_of)
    }};
    (@run $name:ident $width:ty, ($call:ident) ($($arg:ident: $ty:ty),*) $body:block) => {{
        let run = || {
            $( <$ty as $crate::entry::Arg<$width>>::note($arg, &$call); )*
            $(
                // SAFETY: the caller of the C function keeps MPI's rules for this argument.
                let $arg = unsafe {
                    <$ty as $crate::entry::Read<$width>>::read(
                        $arg, stringify!($arg), &$call)?
                };
            )*
            $name($($arg),*)
        };
        run()
    }};

    (@entry $width:ty [] $args:tt $body:tt) => { &[] };
    (@entry $width:ty [$symbol:ident] ($($arg:ident: $ty:ty),*) $body:tt) => {
        &[$crate::declaration::Entry {
            name: stringify!($symbol),
            returns: "int",
            parameters: $crate::declaration::parameters!($((
                <$ty as $crate::entry::Arg<$width>>::DECLARATION,
                stringify!($arg),
            )),*),
            implemented: $crate::entry::mpi!(@implemented $body),
            show: {
                #[expect(unsafe_code, reason = "a record is on the stack of a call of C")]
                unsafe fn show(_record: *const u8, _line: &mut String) {
                    // SAFETY: the caller has a record of this symbol, which `profiled` has made.
                    let ($($arg,)*) = unsafe {
                        *_record.cast::<($(
                            $crate::entry::Kept<<$ty as $crate::entry::Arg<$width>>::C>,
                        )*)>()
                    };
                    $(
                        if <$ty as $crate::entry::Arg<$width>>::IS_KEPT {
                            // SAFETY: `profiled` keeps such arguments.
                            let argument = unsafe { $arg.assume_init() };
                            <$ty as $crate::entry::Arg<$width>>::show(
                                argument, stringify!($arg), _line);
                        }
                    )*
                }
                // Of functions that keep no record nothing is built.
                if $crate::symbol::is_recorded(stringify!($symbol)) {
                    show
                } else {
                    |_, _| ()
                }
            },
        }]
    };

    (@implemented ;) => { false };
    (@implemented $body:block) => { true };
}

/// Makes the C symbols of functions that return a value: clocks, addresses, handle conversions.
/// They take what C passes and cannot raise an error.
///
/// With `conversions` before them they are those between handles and integers, which another binary
/// interface has in its own way.
macro_rules! values {
    (conversions $($functions:tt)*) => {
        $crate::entry::values! { @standard $($functions)* }
    };
    (@standard $(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $ty:ty),*) -> $value:ty $body:block
    )*) => {
        $(
            #[expect(unsafe_code, reason = "a symbol is exported by its name")]
            const _: () = {
                #[unsafe(export_name = concat!("P", stringify!($name)))]
                $(#[$doc])*
                extern "C" fn profiled(
                    $($arg: <$ty as $crate::entry::Arg<$crate::entry::Small>>::C),*
                ) -> <$value as $crate::entry::Value>::C $body

                #[unsafe(export_name = stringify!($name))]
                extern "C" fn plain(
                    $($arg: <$ty as $crate::entry::Arg<$crate::entry::Small>>::C),*
                ) -> <$value as $crate::entry::Value>::C {
                    profiled($($arg),*)
                }
            };
        )*

        /// The functions of this file that return a value.
        pub const VALUES: &[&[$crate::declaration::Entry]] = &[$(&[$crate::declaration::Entry {
            name: stringify!($name),
            returns: <$value as $crate::entry::Value>::NAME,
            parameters: $crate::declaration::parameters!($((
                <$ty as $crate::entry::Arg<$crate::entry::Small>>::DECLARATION,
                stringify!($arg),
            )),*),
            implemented: true,
            show: |_, _| (),
        }]),*];
    };
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $ty:ty),*) -> $value:ty $body:block
    )*) => {
        $crate::entry::values! { @standard $(
            $(#[$doc])*
            fn $name($($arg: $ty),*) -> $value $body
        )* }
        $(
            #[expect(unsafe_code, reason = "a symbol is exported by its name")]
            const _: () = {
                #[unsafe(export_name = concat!("mpilite_mpich_", stringify!($name)))]
                extern "C" fn foreign(
                    $($arg: <$ty as $crate::entry::Arg<$crate::entry::Small>>::C),*
                ) -> <$value as $crate::entry::Value>::C $body
            };
        )*
    };
}

/// Makes the C symbols of collective operations: of each the blocking, the nonblocking and the
/// persistent function. An entry has one body, which reads the arguments and returns the operation
/// as a value, in three forms that C names differently.
///
/// Source: MPI 5.0, 6.12 and 6.13: the nonblocking function has an `MPI_Request *` behind the
/// arguments of the blocking one, the persistent one an `MPI_Info` before that.
macro_rules! collectives {
    ($(
        $(#[$doc:meta])*
        $blocking:ident $(| $blocking_c:ident)?,
        $nonblocking:ident $(| $nonblocking_c:ident)?,
        $persistent:ident $(| $persistent_c:ident)?
        => fn $read:ident($($arg:ident: $ty:ty,)* ..., $comm:ident)
        -> $value:ty $body:block
    )*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
            fn $read($($arg: $ty,)* $comm: &Comm) -> $crate::error::Result<$value> $body
        )*

        /// The readers for functions that start or prepare an operation: calls of one copy.
        mod apart {
            use super::*;

            $(
                #[inline(never)]
                #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
                pub(super) fn $read($($arg: $ty,)* $comm: &Comm) -> $crate::error::Result<$value> {
                    super::$read($($arg,)* $comm)
                }
            )*
        }

        /// Functions that return when the operation is over.
        pub mod blocking {
            use super::*;

            $crate::entry::mpi! {$(
                $(#[$doc])*
                #[inline(always)]
                fn $blocking $(| $blocking_c)? ($($arg: $ty,)* $comm: Comm) {
                    Ok($comm.lite.run(&$read($($arg,)* &$comm)?)?)
                }
            )*}
        }

        /// Functions that start an operation.
        pub mod nonblocking {
            use super::*;

            $crate::entry::mpi! {$(
                $(#[$doc])*
                fn $nonblocking $(| $nonblocking_c)? (
                    $($arg: $ty,)* $comm: Comm, request: Out<Request>
                ) {
                    let started = $comm.lite.start(apart::$read($($arg,)* &$comm)?)?;
                    request.set($crate::objects::request::handle_of(started))
                }
            )*}
        }

        /// Functions that prepare an operation, to be started any number of times.
        pub mod persistent {
            use super::*;

            $crate::entry::mpi! {$(
                $(#[$doc])*
                fn $persistent $(| $persistent_c)? (
                    $($arg: $ty,)* $comm: Comm, info: Info, request: Out<Request>
                ) {
                    // No hint is known.
                    let _ = info;
                    let planned = $comm.lite.plan(apart::$read($($arg,)* &$comm)?)?;
                    request.set($crate::objects::request::handle_of(planned))
                }
            )*}
        }
    };
}

pub(crate) use {collectives, mpi, values};
