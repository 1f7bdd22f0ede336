//! The line of the Python program that a thread waits in.
//!
//! The thread calls from C, and has given away Python's global lock. Another thread may hold the
//! lock and wait for this one, so it must not be taken. Python has a function for broken programs
//! that writes out the calls of a thread without the lock. Python 3.8, 3.11 and 3.12 export it, and
//! 3.15 does so under a new name; with others there is no line.
#![expect(
    unsafe_code,
    reason = "functions of Python are found by their names and called through pointers"
)]

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Longer than a line of Python's: names are cut at 500 characters, of at most 10 bytes each.
const LINE_MAX: u64 = 16 << 10;

/// Returns `file.py:12 in function`, the innermost call of this thread in Python; `None` if it
/// called no Python, or Python has not started, ends, or does not report calls.
///
/// The thread must be in code that was called without Python's global lock.
#[cold]
pub fn line_of_this_thread() -> Option<String> {
    first_line(&Python::find()?.calls()?)
}

type ReadFlag = unsafe extern "C" fn() -> c_int;
type ThisThread = unsafe extern "C" fn() -> *mut c_void;
type WriteCalls = unsafe extern "C" fn(c_int, *mut c_void);

/// What is needed of a Python in this process.
struct Python {
    is_initialized: ReadFlag,
    is_finalizing: ReadFlag,
    this_thread: ThisThread,
    write_calls: WriteCalls,
}

impl Python {
    fn find() -> Option<Self> {
        let is_initialized = symbol(&[c"Py_IsInitialized"])?;
        let is_finalizing = symbol(&[c"Py_IsFinalizing", c"_Py_IsFinalizing"])?;
        let this_thread = symbol(&[c"PyGILState_GetThisThreadState"])?;
        let write_calls = symbol(&[c"PyUnstable_DumpTraceback", c"_Py_DumpTraceback"])?;
        // SAFETY: functions of these names are Python's and have these types. The newer of those
        // that write calls returns a pointer, which nobody takes.
        unsafe {
            Some(Self {
                is_initialized: transmute::<*mut c_void, ReadFlag>(is_initialized),
                is_finalizing: transmute::<*mut c_void, ReadFlag>(is_finalizing),
                this_thread: transmute::<*mut c_void, ThisThread>(this_thread),
                write_calls: transmute::<*mut c_void, WriteCalls>(write_calls),
            })
        }
    }

    /// The calls of this thread as Python writes them, as far as the first one needs.
    fn calls(&self) -> Option<String> {
        // SAFETY: both only read a flag, before Python starts and after its end as well.
        if unsafe { (self.is_initialized)() == 0 || (self.is_finalizing)() != 0 } {
            // A Python that ends frees what it has for its threads.
            return None;
        }
        // SAFETY: it reads a variable of this thread, and needs no lock.
        let thread = unsafe { (self.this_thread)() };
        if thread.is_null() {
            return None;
        }
        let mut file = memory()?;
        // SAFETY: the thread is this one, so its calls do not change meanwhile. The function only
        // reads them and writes to the descriptor: it is made for signal handlers.
        unsafe { (self.write_calls)(file.as_raw_fd(), thread) };
        file.rewind().ok()?;
        let mut text = Vec::new();
        file.take(LINE_MAX).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

/// The first of these names that the process has.
fn symbol(names: &[&CStr]) -> Option<*mut c_void> {
    names
        .iter()
        // SAFETY: the names end with a zero; whatever has such a name is not called here.
        .map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
        .find(|found| !found.is_null())
}

/// A file in memory: writing to it never waits.
fn memory() -> Option<File> {
    // SAFETY: the name ends with a zero.
    let descriptor = unsafe { libc::memfd_create(c"python".as_ptr(), libc::MFD_CLOEXEC) };
    // SAFETY: the descriptor is new, and belongs to nobody else.
    (descriptor >= 0).then(|| File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// The first call among those that Python wrote, `  File "/a/b.py", line 12 in f`, in our form.
fn first_line(calls: &str) -> Option<String> {
    let call = calls
        .lines()
        .find_map(|line| line.strip_prefix("  File \""))?;
    let (path, rest) = call.rsplit_once("\", line ")?;
    let (number, function) = rest.split_once(" in ")?;
    let number: u32 = number.parse().ok()?;
    let file = path.rsplit('/').next()?;
    Some(format!("{file}:{number} in {function}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_is_the_innermost_one() {
        let calls = "Stack (most recent call first):\n  \
                     File \"/a/solver.py\", line 12 in exchange\n  \
                     File \"/a/solver.py\", line 40 in <module>\n";
        assert_eq!(
            first_line(calls).as_deref(),
            Some("solver.py:12 in exchange")
        );
    }

    #[test]
    fn a_file_may_have_any_name() {
        for (file, line) in [
            ("a.py", "a.py:7 in f"),
            ("/a b/c \", line 3 in d/e.py", "e.py:7 in f"),
            ("<stdin>", "<stdin>:7 in f"),
            (
                "<frozen importlib._bootstrap>",
                "<frozen importlib._bootstrap>:7 in f",
            ),
            ("", ":7 in f"),
        ] {
            let calls = format!("  File \"{file}\", line 7 in f\n");
            assert_eq!(first_line(&calls).as_deref(), Some(line));
        }
    }

    #[test]
    fn what_is_no_call_is_no_line() {
        for calls in [
            "",
            "Stack (most recent call first):\n",
            "  <no Python frame>\n",
            "  <tstate is freed>\n",
            "  File \"a.py\"",
            "  File \"a.py\", line ??? in f\n",
            "  File \"a.py\", line 7\n",
        ] {
            assert_eq!(first_line(calls), None, "{calls}");
        }
    }

    #[test]
    fn a_program_without_python_has_no_line() {
        assert_eq!(line_of_this_thread(), None);
    }
}
