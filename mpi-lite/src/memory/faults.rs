//! Memory of the program that the system does not read or write for us (`EFAULT`).
//!
//! It tells nothing of a peer. The program may have taken away the rights to pages that it gives
//! back in its handler of SIGSEGV, as garbage collectors and trackers of changed pages do. A call
//! of the system raises no signal. So the carriers then copy these bytes themselves: that calls the
//! handler, or ends the process if there is none, as a loop of the program over its buffer would.
#![expect(unsafe_code, reason = "sigaction takes raw pointers")]

use std::io;

/// Returns true if `error` is that the system cannot use memory of this process.
pub(crate) fn is_fault(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EFAULT)
}

/// What the system was to do with the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read what is sent to this rank.
    SendTo(u32),
    /// Write what has come from this rank; `None`: not known which one.
    ReceiveFrom(Option<u32>),
}

/// Prints why this process will end as soon as it touches the memory itself, unless the program has
/// a handler of SIGSEGV. `name`: this rank.
#[cold]
pub(crate) fn explain(access: Access, name: &str) {
    if has_handler() {
        return;
    }
    match access {
        Access::SendTo(peer) => eprintln!(
            "{name}: the system cannot read the data of a message to rank {peer}: is its buffer \
             shorter than its count and datatype say, or was it freed before the send was \
             complete?"
        ),
        Access::ReceiveFrom(peer) => {
            let peer = peer.map_or_else(String::new, |peer| format!(" from rank {peer}"));
            eprintln!(
                "{name}: the system cannot write the data of a message{peer} into its receive \
                 buffer: is it shorter than its count and datatype say, can it only be read, or \
                 was it freed before the receive was complete?"
            );
        }
    }
}

/// Returns true if the program does something itself when it touches memory without the right to.
fn has_handler() -> bool {
    // SAFETY: all-zero bytes are a valid sigaction.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: nothing is changed; the call writes one sigaction.
    let asked = unsafe { libc::sigaction(libc::SIGSEGV, core::ptr::null(), &raw mut action) };
    // A fault ends a process that ignores the signal, too.
    asked == 0 && ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)
}
