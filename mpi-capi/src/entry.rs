//! The macro that turns one entry of a chapter into its C symbols, and what the macro stands on.
//!
//! An entry names a C function, its large-count twin if it has one, and its arguments as types of
//! [`crate::args`], [`crate::objects`], [`crate::buffers`] and [`crate::arrays`]. From one body the
//! macro makes `MPI_X`, `PMPI_X`, `MPI_X_c` and `PMPI_X_c`, and a row of the table from which the
//! prototypes in `include/mpi.h` and `docs/coverage.md` are written. An entry that ends with `;`
//! instead of a body is declared but not implemented: it links and raises
//! `MPI_ERR_UNSUPPORTED_OPERATION`.

use crate::error::Result;
use crate::raise::Call;
use crate::record::ShowRecord;

/// The width of a function without suffix: counts are `int`.
pub struct Small;

/// The width of a `_c` function: counts are `MPI_Count`.
pub struct Large;

/// How C declares one argument: `base`, `before`, the name, `after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declarator {
    /// The type's name, with `const` where it has one.
    pub base: &'static str,
    /// What stands between the type and the argument's name.
    pub before: &'static str,
    /// What follows the argument's name.
    pub after: &'static str,
}

impl Declarator {
    /// `base name`.
    pub const fn value(base: &'static str) -> Self {
        Self {
            base,
            before: " ",
            after: "",
        }
    }

    /// `base *name`.
    pub const fn pointer(base: &'static str) -> Self {
        Self {
            base,
            before: " *",
            after: "",
        }
    }

    /// `base name[]`.
    pub const fn array(base: &'static str) -> Self {
        Self {
            base,
            before: " ",
            after: "[]",
        }
    }
}

/// The length of [`join`]'s text.
pub const fn length(args: &[(Declarator, &str)]) -> usize {
    let mut length = 0;
    let mut at = 0;
    while at < args.len() {
        let (declarator, name) = args[at];
        let Declarator {
            base,
            before,
            after,
        } = declarator;
        let separator = if at == 0 { 0 } else { 2 };
        length += separator + base.len() + before.len() + name.len() + after.len();
        at += 1;
    }
    length
}

/// The declarations of arguments as one text, separated by `, `.
pub const fn join<const LENGTH: usize>(args: &[(Declarator, &str)]) -> [u8; LENGTH] {
    let mut text = [0; LENGTH];
    let mut end = 0;
    let mut at = 0;
    while at < args.len() {
        let (declarator, name) = args[at];
        let separator = if at == 0 { "" } else { ", " };
        let Declarator {
            base,
            before,
            after,
        } = declarator;
        end = append(&mut text, end, separator);
        end = append(&mut text, end, base);
        end = append(&mut text, end, before);
        end = append(&mut text, end, name);
        end = append(&mut text, end, after);
        at += 1;
    }
    text
}

const fn append(text: &mut [u8], end: usize, part: &str) -> usize {
    let (_, room) = text.split_at_mut(end);
    let (room, _) = room.split_at_mut(part.len());
    room.copy_from_slice(part.as_bytes());
    end + part.len()
}

/// The text of the declarations of arguments.
macro_rules! parameters {
    ($($arg:expr),*) => {{
        const ARGS: &[($crate::entry::Declarator, &str)] = &[$($arg),*];
        const TEXT: &[u8] = &$crate::entry::join::<{ $crate::entry::length(ARGS) }>(ARGS);
        match core::str::from_utf8(TEXT) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        }
    }};
}

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

/// One row of the table: a C function.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name, `MPI_X` or `MPI_X_c`.
    pub name: &'static str,
    /// The C type of the result.
    pub returns: &'static str,
    /// The declarations of the arguments, separated by `, `. They are text, not parts: a library
    /// holds 664 of them.
    pub parameters: &'static str,
    /// True if there is a body.
    pub implemented: bool,
    /// Shows the arguments that a record of this function holds.
    pub show: ShowRecord,
}

/// What is known about a symbol while it runs. One static per symbol.
#[derive(Debug)]
pub struct Symbol {
    /// The name in the program.
    pub name: &'static str,
    /// True if MPI allows the call before `MPI_Init` and after `MPI_Finalize`.
    pub any_time: bool,
}

impl Symbol {
    /// The symbol called `name`.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            any_time: is_in(CALLABLE_AT_ANY_TIME, name) || is_of_tools(name),
        }
    }
}

/// Functions that may be called before initialization and after finalization. Source: MPI 5.0,
/// 11.4.1, table 11.1, and the standard ABI's conversions of handles to integers. `MPI_Init` and
/// its like are here because they check themselves when they may be called.
const CALLABLE_AT_ANY_TIME: &[&str] = &[
    "MPI_Initialized",
    "MPI_Finalized",
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Finalize",
    "MPI_Session_init",
    "MPI_Get_version",
    "MPI_Get_library_version",
    "MPI_Abi_get_version",
    "MPI_Abi_get_info",
    "MPI_Abi_get_fortran_info",
    "MPI_Abi_get_fortran_booleans",
    "MPI_Abi_set_fortran_info",
    "MPI_Abi_set_fortran_booleans",
    "MPI_Info_create",
    "MPI_Info_create_env",
    "MPI_Info_set",
    "MPI_Info_delete",
    "MPI_Info_get",
    "MPI_Info_get_valuelen",
    "MPI_Info_get_string",
    "MPI_Info_get_nkeys",
    "MPI_Info_get_nthkey",
    "MPI_Info_dup",
    "MPI_Info_free",
    "MPI_Session_create_errhandler",
    "MPI_Session_call_errhandler",
    "MPI_Errhandler_free",
    "MPI_Error_string",
    "MPI_Error_class",
    "MPI_Add_error_class",
    "MPI_Add_error_code",
    "MPI_Add_error_string",
    "MPI_Remove_error_class",
    "MPI_Remove_error_code",
    "MPI_Remove_error_string",
    "MPI_Pcontrol",
    // Getters and setters of a status touch only the caller's memory.
    "MPI_Status_get_error",
    "MPI_Status_get_source",
    "MPI_Status_get_tag",
    "MPI_Status_set_error",
    "MPI_Status_set_source",
    "MPI_Status_set_tag",
];

pub(crate) const fn is_in(list: &[&str], name: &str) -> bool {
    let name = name.as_bytes();
    let mut row = 0;
    while row < list.len() {
        let listed = list[row].as_bytes();
        if listed.len() == name.len() && starts_with(name, listed) {
            return true;
        }
        row += 1;
    }
    false
}

const fn is_of_tools(name: &str) -> bool {
    starts_with(name.as_bytes(), b"MPI_T_")
}

const fn starts_with(name: &[u8], start: &[u8]) -> bool {
    if name.len() < start.len() {
        return false;
    }
    let mut at = 0;
    while at < start.len() {
        if name[at] != start[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Makes the C symbols of functions that return an error code, and the chapter's `TABLE`.
macro_rules! mpi {
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
        pub const TABLE: &[&[$crate::entry::Entry]] = &[$(
            $crate::entry::mpi!(@entry $crate::entry::Small [$name] ($($arg: $ty),*) $body),
            $crate::entry::mpi!(@entry $crate::entry::Large [$($large)?] ($($arg: $ty),*) $body),
        )*];
    };

    (@body $docs:tt $name:ident $args:tt ;) => {};
    (@body [$($doc:tt)*] $name:ident ($($arg:ident: $ty:ty),*) $body:block) => {
        $($doc)*
        #[inline(always)]
        #[expect(non_snake_case, reason = "C's names")]
        #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
        fn $name($($arg: $ty),*) -> $crate::error::Result<()> $body
    };

    (@export $name:ident $width:ty [] $args:tt $body:tt) => {};
    (@export $name:ident $width:ty [$symbol:ident] ($($arg:ident: $ty:ty),*) $body:tt) => {
        #[expect(unsafe_code, reason = "an exported symbol is called by C with raw arguments")]
        const _: () = {
            static SYMBOL: $crate::entry::Symbol =
                $crate::entry::Symbol::new(stringify!($symbol));

            #[unsafe(export_name = concat!("P", stringify!($symbol)))]
            #[allow(clippy::too_many_arguments, reason = "C's argument lists")]
            unsafe extern "C" fn profiled(
                $($arg: <$ty as $crate::entry::Arg<$width>>::C),*
            ) -> core::ffi::c_int {
                let record;
                let call = if const { $crate::record::is_recorded(stringify!($symbol)) } {
                    record = ($($crate::record::keep::<$ty, $width>($arg),)*);
                    if const { $crate::record::is_reduction(stringify!($symbol)) } {
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
        };
    };

    (@run $name:ident $width:ty, ($call:ident) ($($arg:ident: $ty:ty),*) ;) => {{
        $( <$ty as $crate::entry::Arg<$width>>::note($arg, &$call); )*
        $call.unsupported()
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
        &[$crate::entry::Entry {
            name: stringify!($symbol),
            returns: "int",
            parameters: $crate::entry::parameters!($((
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
                            $crate::record::Kept<<$ty as $crate::entry::Arg<$width>>::C>,
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
                if $crate::record::is_recorded(stringify!($symbol)) {
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
macro_rules! values {
    ($(
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
        pub const VALUES: &[&[$crate::entry::Entry]] = &[$(&[$crate::entry::Entry {
            name: stringify!($name),
            returns: <$value as $crate::entry::Value>::NAME,
            parameters: $crate::entry::parameters!($((
                <$ty as $crate::entry::Arg<$crate::entry::Small>>::DECLARATION,
                stringify!($arg),
            )),*),
            implemented: true,
            show: |_, _| (),
        }]),*];
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
                    request.set($crate::request::handle_of(started))
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
                    request.set($crate::request::handle_of(planned))
                }
            )*}
        }
    };
}

pub(crate) use {collectives, mpi, parameters, values};

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &'static str) -> Symbol {
        Symbol::new(name)
    }

    #[test]
    fn only_the_listed_functions_run_without_init() {
        assert!(symbol("MPI_Initialized").any_time);
        assert!(symbol("MPI_T_init_thread").any_time);
        assert!(!symbol("MPI_Send").any_time);
        assert!(!symbol("MPI_Info_get_foo").any_time);
        assert!(!symbol("MPI_Type_size").any_time);
    }
}
