//! The last line of defence: a small process that outlives a killed launcher for a moment.
//!
//! A launcher that is killed by SIGKILL cannot end anything. Its ranks die with it (PDEATHSIG),
//! but what they started does not. So before the first rank a guard is forked: it reads the
//! process groups of the ranks from a pipe, and when that pipe ends without a word of farewell it
//! kills them.
#![expect(unsafe_code, reason = "forks a process that shares our code")]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::fcntl::OFlag;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, pthread_sigmask};
use nix::unistd::{ForkResult, Pid, fork, pipe2, setsid};

/// Our end of the pipe to the guard.
#[derive(Debug)]
pub struct Guard {
    pipe: File,
    pid: Pid,
}

/// The record that says farewell: no group has this number.
const FAREWELL: i32 = 0;

impl Guard {
    /// Forks the guard. The process must have one thread.
    ///
    /// # Errors
    ///
    /// The system's reason.
    pub fn new() -> nix::Result<Guard> {
        let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
        // SAFETY: the launcher has one thread, so the child may do whatever the parent may.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Guard {
                pipe: File::from(ours),
                pid: child,
            }),
            ForkResult::Child => {
                drop(ours);
                watch(theirs);
                std::process::exit(0);
            }
        }
    }

    /// The guard's process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Puts a process group under guard.
    pub fn add(&mut self, group: Pid) {
        self.write(group.as_raw());
    }

    /// Takes a group out: no process of it is left, and others may get its number.
    pub fn remove(&mut self, group: Pid) {
        self.write(-group.as_raw());
    }

    /// Ends the guard: the launcher has done its work.
    pub fn dismiss(&mut self) {
        self.write(FAREWELL);
    }

    fn write(&mut self, record: i32) {
        // Without its guard a job still runs.
        self.pipe.write_all(&record.to_ne_bytes()).ok();
    }
}

/// Closes what the launcher had open, so that the ends of its pipes are noticed by others.
fn close_all_but(kept: RawFd) {
    let kept = kept.unsigned_abs();
    for (first, last) in [(3, kept - 1), (kept + 1, u32::MAX)] {
        if first <= last {
            // SAFETY: the owners of these descriptors belong to the parent's part of the program;
            // the child never runs it and ends without dropping them.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    }
}

/// The guard's whole life.
fn watch(pipe: OwnedFd) {
    // Signals of the terminal or of a batch system are not for us: our end is that of the pipe.
    let all = SigSet::all();
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&all), None).ok();
    setsid().ok();
    close_all_but(pipe.as_raw_fd());
    let mut pipe = File::from(pipe);
    let mut groups = BTreeSet::new();
    let mut record = [0; size_of::<i32>()];
    while pipe.read_exact(&mut record).is_ok() {
        match i32::from_ne_bytes(record) {
            FAREWELL => return,
            group if group > 0 => drop(groups.insert(group)),
            group => drop(groups.remove(&-group)),
        }
    }
    for group in groups {
        killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
    }
}
