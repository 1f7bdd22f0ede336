//! The last line of defence: a small process that outlives a killed launcher for a moment.
//!
//! A launcher that is killed by SIGKILL cannot end anything. Its ranks die with it (PDEATHSIG),
//! but what they started does not. So before the first rank a guard is forked: it reads the
//! process groups of the ranks from a pipe, and when that pipe ends without a word of farewell it
//! kills them. It holds on to each group by a descriptor, since the launcher tells only at a rank's
//! end whether its group is gone, and a number that came free may be somebody else's later.
//!
//! It also removes the folder in which the ranks record their packets, if there is one.
//!
//! On another host it also kills them when the launcher's part there gives no sign of life: it may
//! have been stopped, and then it would never notice that `mpirun` has given it up.
#![expect(unsafe_code, reason = "forks a process that shares our code")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, pthread_sigmask, signal};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid, pipe2, setsid};

use crate::node::group::Group;
use crate::poll::{Interests, Token};
use crate::remote::silence::Silence;

/// Our end of the pipe to the guard.
#[derive(Debug)]
pub struct Guard {
    pipe: File,
    pid: Pid,
}

/// The record that says farewell: no group has this number.
const FAREWELL: i32 = 0;

/// The record that is a sign of life.
const SIGN: i32 = i32::MIN;

impl Guard {
    /// Forks the guard. The process must have one thread. After `limit` without a
    /// [`Guard::give_sign`] the guard kills the groups and this process. Without a farewell it
    /// removes `folder` with all that is in it.
    ///
    /// # Errors
    ///
    /// The system's reason.
    pub fn new(limit: Option<Duration>, folder: Option<&Path>) -> nix::Result<Guard> {
        let launcher = getpid();
        let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
        // SAFETY: the launcher has one thread, so the child may do whatever the parent may.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Guard {
                pipe: File::from(ours),
                pid: child,
            }),
            ForkResult::Child => {
                drop(ours);
                if !watch(theirs, launcher, limit)
                    && let Some(folder) = folder
                {
                    remove(folder);
                }
                std::process::exit(0);
            }
        }
    }

    /// The guard's process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Where a child announces itself: see [`announce`].
    pub fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Takes a group out: no process of it is left, and others may get its number.
    pub fn remove(&mut self, group: Pid) {
        self.write(-group.as_raw());
    }

    /// Gives a sign of life.
    pub fn give_sign(&mut self) {
        self.write(SIGN);
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

/// Puts the process group that this process leads under the guard at the other end of `pipe`. A
/// child calls it between fork and exec: the launcher could be killed before it knows the child,
/// when that has children already. It makes system calls alone.
///
/// # Errors
///
/// The system's reason. That the guard is gone is none: without it a job still runs.
pub fn announce(pipe: BorrowedFd<'_>) -> nix::Result<()> {
    // SAFETY: no handler is set. The end of a guard must not be that of the child.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) }?;
    let written = nix::unistd::write(pipe, &getpid().as_raw().to_ne_bytes());
    // SAFETY: no handler is set, only the default, which the child had before.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }?;
    match written {
        Ok(_) | Err(Errno::EPIPE) => Ok(()),
        Err(error) => Err(error),
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

/// Removes a folder. Processes that are just being killed may still write to it.
fn remove(folder: &Path) {
    const ATTEMPTS: u32 = 100;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 0..ATTEMPTS {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Ok(()) | Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// The guard's life with its launcher. Returns true if that has said farewell.
fn watch(pipe: OwnedFd, launcher: Pid, limit: Option<Duration>) -> bool {
    // Signals of the terminal or of a batch system are not for us: our end is that of the pipe.
    let all = SigSet::all();
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&all), None).ok();
    setsid().ok();
    close_all_but(pipe.as_raw_fd());
    let mut pipe = File::from(pipe);
    let mut groups = BTreeMap::new();
    let mut record = [0; size_of::<i32>()];
    let mut silence = Silence::new(limit, Instant::now());
    let has_launcher = loop {
        if !waits_for_record(&pipe, &mut silence) {
            break true;
        }
        if pipe.read_exact(&mut record).is_err() {
            break false;
        }
        match i32::from_ne_bytes(record) {
            FAREWELL => return true,
            SIGN => {}
            group if group > 0 => drop(groups.insert(group, Group::of(Pid::from_raw(group)))),
            group => drop(groups.remove(&-group)),
        }
    };
    for group in groups.values() {
        group.signal(Some(Signal::SIGKILL)).ok();
    }
    // As long as it is our parent nobody else has its number.
    if has_launcher && getppid() == launcher {
        kill(launcher, Signal::SIGKILL).ok();
    }
    false
}

/// Waits until there is a record, or the pipe ends; returns true if either came before the launcher
/// was silent for too long.
fn waits_for_record(pipe: &File, silence: &mut Silence) -> bool {
    while !silence.is_too_long(Instant::now()) {
        let mut interests = Interests::default();
        interests.readable(pipe.as_fd(), Token::Server);
        let until = silence.limit().map(|_| silence.look_at());
        if !interests.wait(until).is_empty() {
            silence.heard(Instant::now());
            return true;
        }
    }
    false
}
