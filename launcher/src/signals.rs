//! Signals as things to read, and what became of child processes.

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// What the launcher wants to know about; the rest keeps its usual effect.
const WATCHED: [Signal; 9] = [
    Signal::SIGCHLD,
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];

/// The kernel itself sent it: for SIGINT, SIGQUIT and SIGTSTP that is the terminal.
const FROM_KERNEL: i32 = 0x80;

/// One signal that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Which.
    pub signal: Signal,
    /// True if the terminal sent it, to all of its foreground group.
    pub is_from_terminal: bool,
}

/// The signals of this process, readable in turn.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    before: SigSet,
}

impl Signals {
    /// Blocks the watched signals and makes them readable.
    ///
    /// # Errors
    ///
    /// The system's reason (no descriptors are left).
    pub fn watch() -> nix::Result<Signals> {
        let mut watched = SigSet::from_iter(WATCHED);
        if is_ignored(Signal::SIGHUP) {
            // By nohup(1): the job outlives its terminal.
            watched.remove(Signal::SIGHUP);
        }
        let mut before = SigSet::empty();
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&watched), Some(&mut before))?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Signals {
            descriptor: SignalFd::with_flags(&watched, flags)?,
            before,
        })
    }

    /// The signals that were blocked before.
    pub fn before(&self) -> SigSet {
        self.before
    }

    /// What to wait for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The next signal that has come.
    pub fn pop(&mut self) -> Option<Arrived> {
        let info = self.descriptor.read_signal().ok()??;
        let signal = Signal::try_from(i32::try_from(info.ssi_signo).ok()?).ok()?;
        Some(Arrived {
            signal,
            is_from_terminal: info.ssi_code == FROM_KERNEL,
        })
    }
}

/// Returns true if the parent of this process has told it to ignore `signal`.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as u32 - 1) & 1 == 1)
}

/// The next child process that ended, stopped or went on; `None` if there is none now.
pub fn changed_child() -> Option<(Pid, WaitStatus)> {
    let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
    loop {
        match waitpid(None, Some(flags)) {
            Ok(status) => return status.pid().map(|pid| (pid, status)),
            Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}

/// Kills all child processes that are left, among them the orphans of ranks that we adopted, and
/// the orphans that these leave in turn.
pub fn kill_remaining_children() {
    /// Generations of orphans: each one appears when the one above it is gone.
    const GENERATIONS: usize = 100;
    for _ in 0..GENERATIONS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            kill(child, Signal::SIGKILL).ok();
            waitpid(child, None).ok();
        }
    }
}

/// The child processes of this process; none where the kernel does not list them.
fn children() -> Vec<Pid> {
    let path = format!("/proc/self/task/{}/children", nix::unistd::gettid());
    let list = std::fs::read_to_string(path).unwrap_or_default();
    list.split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

/// What a shell calls a signal, e.g. "Killed".
pub fn words(signal: i32) -> &'static str {
    match Signal::try_from(signal) {
        Ok(Signal::SIGHUP) => "Hangup",
        Ok(Signal::SIGINT) => "Interrupt",
        Ok(Signal::SIGQUIT) => "Quit",
        Ok(Signal::SIGILL) => "Illegal instruction",
        Ok(Signal::SIGTRAP) => "Trace/breakpoint trap",
        Ok(Signal::SIGABRT) => "Aborted",
        Ok(Signal::SIGBUS) => "Bus error",
        Ok(Signal::SIGFPE) => "Floating point exception",
        Ok(Signal::SIGKILL) => "Killed",
        Ok(Signal::SIGUSR1) => "User defined signal 1",
        Ok(Signal::SIGSEGV) => "Segmentation fault",
        Ok(Signal::SIGUSR2) => "User defined signal 2",
        Ok(Signal::SIGPIPE) => "Broken pipe",
        Ok(Signal::SIGALRM) => "Alarm clock",
        Ok(Signal::SIGTERM) => "Terminated",
        Ok(Signal::SIGXCPU) => "CPU time limit exceeded",
        Ok(Signal::SIGXFSZ) => "File size limit exceeded",
        Ok(Signal::SIGSYS) => "Bad system call",
        Ok(other) => other.as_str(),
        Err(_) => "real-time signal",
    }
}
