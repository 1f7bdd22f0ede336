//! What the system says, in MPI's classes and in words.
//!
//! Source: MPI 5.0, 14.7 and 14.8.

use std::io;

use nix::errno::Errno;

use crate::error::{Cause, Class, Error};

/// An error of a file.
#[cold]
pub(super) fn wrong(class: Class, why: impl Into<Box<str>>) -> Error {
    Cause::File(class, why.into()).into()
}

/// The number that the system gives to an error; `EIO` if it has none.
pub(super) fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::EIO as i32)
}

/// What to do about an error with this number, where that is not plain.
fn advice(errno: Errno) -> &'static str {
    match errno {
        Errno::ENOLCK | Errno::ENOSYS | Errno::EOPNOTSUPP => {
            " (the file system has no locks, which this access needs: use another one, or neither \
             atomic mode nor a view with gaps for writing)"
        }
        Errno::EFBIG => " (the file would be longer than the system or `ulimit -f` allows)",
        Errno::EMFILE | Errno::ENFILE => " (too many open files: raise `ulimit -n`)",
        _ => "",
    }
}

/// The error of an attempt, `doing` something to the file `name`.
#[cold]
pub(super) fn refused(doing: &str, name: &str, number: i32) -> Error {
    let errno = Errno::from_raw(number);
    let says = io::Error::from_raw_os_error(number).to_string();
    let says = says.split(" (os error").next().unwrap_or(&says);
    wrong(
        class_of(errno),
        format!("{doing} {name}: {says}{}", advice(errno)),
    )
}

/// The class that MPI gives to an error of the system.
fn class_of(errno: Errno) -> Class {
    match errno {
        Errno::ENOENT | Errno::ENOTDIR => Class::NoSuchFile,
        Errno::EEXIST => Class::FileExists,
        Errno::EACCES | Errno::EPERM => Class::Access,
        Errno::EROFS => Class::ReadOnly,
        Errno::EISDIR | Errno::ENAMETOOLONG | Errno::ELOOP | Errno::ENXIO | Errno::ESPIPE => {
            Class::BadFile
        }
        Errno::ENOSPC => Class::NoSpace,
        Errno::EDQUOT => Class::Quota,
        Errno::EBUSY | Errno::ETXTBSY => Class::FileInUse,
        Errno::ENOLCK | Errno::ENOSYS | Errno::EOPNOTSUPP => Class::UnsupportedOperation,
        _ => Class::Io,
    }
}
