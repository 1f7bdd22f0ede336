//! How the header declares a function: the table from which `include/mpi.h` is written.

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
        const ARGS: &[($crate::declaration::Declarator, &str)] = &[$($arg),*];
        const LENGTH: usize = $crate::declaration::length(ARGS);
        const TEXT: &[u8] = &$crate::declaration::join::<LENGTH>(ARGS);
        match core::str::from_utf8(TEXT) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        }
    }};
}

pub(crate) use parameters;

/// Appends the arguments of a record to a line.
///
/// # Safety
/// The record is one of the symbol that has this function, and its call runs.
pub type ShowRecord = unsafe fn(*const u8, &mut String);

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
