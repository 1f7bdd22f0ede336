//! A panic is a bug of ours: it names the call, and ends this process with a code of its own.
//!
//! The launcher sees the code and ends the job. Bad arguments never come here.
//!
//! An exception that leaves a function of the program inside a call of MPI is a bug of the program,
//! and ends the job with a line of its own: docs/decisions/0030-exceptions-stop.md.
#![expect(
    unsafe_code,
    reason = "the process ends without running the program's exit handlers"
)]

use std::panic::PanicHookInfo;

use crate::callback;
use crate::global::LIBRARY;

/// `EX_SOFTWARE` of sysexits.h: an internal error.
const EXIT_CODE: i32 = 70;

/// What the language's runtime prints when an exception reaches a frame of ours.
const CANNOT_UNWIND: &str = "panic in a function that cannot unwind";

/// Installs the hook. A program's own Rust code has its own copy of the standard library: the hook
/// sees only panics of this library.
pub fn install_hook() {
    std::panic::set_hook(Box::new(end));
}

fn end(info: &PanicHookInfo<'_>) {
    let message = message_of(info);
    if let Some(callback) = callback::running().filter(|_| message == CANNOT_UNWIND) {
        LIBRARY.tell_abort(
            1,
            &format!(
                "MPI error {} in {}: an exception (or the end of its thread) left the program's \
                 {}; MPI cannot be unwound: catch it inside the function",
                LIBRARY.whereabouts(),
                LIBRARY.running(),
                callback.name(),
            ),
        );
        // SAFETY: ending the process has no conditions.
        unsafe { libc::_exit(1) }
    }
    let place = info
        .location()
        .map(|place| format!(" at {}:{}", place.file(), place.line()));
    LIBRARY.print(&format!(
        "internal error {} in {} (please report): {message}{}",
        LIBRARY.whereabouts(),
        LIBRARY.running(),
        place.unwrap_or_default(),
    ));
    // SAFETY: ending the process has no conditions.
    unsafe { libc::_exit(EXIT_CODE) }
}

/// What `panic!` was given.
fn message_of<'a>(info: &'a PanicHookInfo<'_>) -> &'a str {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
