//! A filter that the system applies to what comes for a socket.
//!
//! What it drops never comes into the queue: the sender frees it, with the descriptors in it.
#![expect(unsafe_code, reason = "hands a program to the system")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_LEN, BPF_RET, BPF_W, sock_filter};

/// Bytes of a word of the system's filters.
const WORD: usize = 4;

/// A program of the classic Berkeley packet filter.
#[derive(Debug)]
pub(crate) struct Filter(Vec<sock_filter>);

impl Filter {
    /// Lets nothing through.
    pub(crate) fn nothing() -> Self {
        Self(vec![step(BPF_RET | BPF_K, 0, 0)])
    }

    /// Lets datagrams of `length` bytes through that begin with `start`, whole words.
    pub(crate) fn only(length: usize, start: &[u8]) -> Self {
        let mut steps = Vec::new();
        let mut demand = |load: sock_filter, value: u32| {
            steps.push(load);
            // If it is equal, the next step is left out.
            steps.push(step(BPF_JMP | BPF_JEQ | BPF_K, 1, value));
            steps.push(step(BPF_RET | BPF_K, 0, 0));
        };
        demand(step(BPF_LD | BPF_W | BPF_LEN, 0, 0), number(length));
        for (place, word) in start.chunks_exact(WORD).enumerate() {
            let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
            let load = step(BPF_LD | BPF_W | BPF_ABS, 0, number(place * WORD));
            demand(load, word);
        }
        steps.push(step(BPF_RET | BPF_K, 0, u32::MAX));
        Self(steps)
    }

    /// From now on the system applies it to `socket`.
    pub(crate) fn attach(mut self, socket: impl AsFd) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: u16::try_from(self.0.len()).map_err(io::Error::other)?,
            filter: self.0.as_mut_ptr(),
        };
        let bytes = u32::try_from(size_of_val(&program)).map_err(io::Error::other)?;
        // SAFETY: the program and its steps, of which there are `len`, live until the call is over;
        // the system copies them.
        let answer = unsafe {
            libc::setsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                bytes,
            )
        };
        match answer {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn step(code: u32, jump_if_equal: u8, value: u32) -> sock_filter {
    sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt: jump_if_equal,
        jf: 0,
        k: value,
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
