//! Errors of windows.

use crate::error::{Cause, Class, Error};

#[cold]
pub(super) fn wrong(class: Class, why: impl Into<Box<str>>) -> Error {
    Cause::Window(class, why.into()).into()
}

/// A call that does not fit the epochs that are open.
#[cold]
pub(super) fn out_of_turn(why: impl Into<Box<str>>) -> Error {
    wrong(Class::RmaSync, why)
}
