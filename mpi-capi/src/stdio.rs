//! The C library's buffers of standard output and standard error.
#![expect(
    unsafe_code,
    reason = "the streams belong to the C library and are reached through its pointers"
)]

use core::ffi::c_int;

use libc::FILE;

unsafe extern "C" {
    #[link_name = "stdout"]
    static STDOUT: *mut FILE;
    #[link_name = "stderr"]
    static STDERR: *mut FILE;

    fn ftrylockfile(stream: *mut FILE) -> c_int;
    fn funlockfile(stream: *mut FILE);
}

/// Writes out what the program has printed so far.
///
/// A stream that another thread is using at this moment is left to `exit`: the caller ends the
/// process, and must not wait for a thread that may never go on.
pub fn flush() {
    // SAFETY: the C library sets both pointers before `main`.
    for stream in unsafe { [STDOUT, STDERR] } {
        // SAFETY: the stream is open or closed, and the C library checks which; it is flushed only
        // under its lock, which is given back.
        unsafe {
            if ftrylockfile(stream) == 0 {
                libc::fflush(stream);
                funlockfile(stream);
            }
        }
    }
}
