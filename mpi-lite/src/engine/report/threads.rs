//! What other threads of this process do, as the system sees it.

use std::fs;

/// Bits of a futex operation that name the operation itself.
const OPERATION: u64 = 0x7f;

/// `FUTEX_WAIT` and `FUTEX_WAIT_BITSET`.
const WAITS: [u64; 2] = [0, 9];

/// Returns true if a thread of this process, other than `waiting` and the calling one, may go on by
/// itself: it computes, or is in a system call that ends by itself or from outside. A thread that
/// waits for another thread of this process, without a limit of time, may not.
pub(crate) fn may_go_on(waiting: &[i32]) -> bool {
    let me = rustix::thread::gettid().as_raw_nonzero().get();
    let (Ok(threads), Ok(_)) = (fs::read_dir("/proc/self/task"), call_of(me)) else {
        // The system does not show what they do.
        return true;
    };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    threads
        .flatten()
        .filter_map(number)
        .filter(|thread| *thread != me && !waiting.contains(thread))
        // One that cannot be read any more has ended.
        .filter_map(|thread| call_of(thread).ok())
        .any(|call| !waits_for_a_thread(&call))
}

/// The system call in which a thread is, with its arguments.
fn call_of(thread: i32) -> std::io::Result<String> {
    fs::read_to_string(format!("/proc/self/task/{thread}/syscall"))
}

/// Returns true if a line of `/proc/.../syscall` is that of a thread that waits for a lock or a
/// condition without a limit of time.
fn waits_for_a_thread(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let is_futex = words.next().and_then(|number| number.parse().ok()) == Some(libc::SYS_futex);
    let mut argument = || {
        let word = words.next()?.strip_prefix("0x")?;
        u64::from_str_radix(word, 16).ok()
    };
    let (_, operation, _) = (argument(), argument(), argument());
    let timeout = argument();
    is_futex && timeout == Some(0) && operation.is_some_and(|it| WAITS.contains(&(it & OPERATION)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wait_without_a_limit_is_for_another_thread() {
        let futex = libc::SYS_futex;
        let line = |operation: u32, timeout: u32| {
            format!("{futex} 0x7f1 {operation:#x} 0x2 {timeout:#x} 0x0 0xffffffff 0x7f 0x7f\n")
        };
        assert!(waits_for_a_thread(&line(0x80, 0)));
        assert!(waits_for_a_thread(&line(0x189, 0)));
        assert!(!waits_for_a_thread(&line(0x189, 0x7ffe)));
        assert!(!waits_for_a_thread(&line(0x81, 0)), "it wakes others");
        for other in ["running\n", "", "230 0x0 0x0 0x7f 0x0\n", "-1 0x7f 0x7f\n"] {
            assert!(!waits_for_a_thread(other), "{other}");
        }
    }
}
