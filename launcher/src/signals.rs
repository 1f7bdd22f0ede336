//! Signals as things to read, and what became of child processes.
//!
//! Actions and the mask of signals are inherited from whoever starts us. So we set all that we
//! depend on, and keep how it was for the ranks.
#![expect(unsafe_code, reason = "sets actions of signals, never a handler")]

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, pthread_sigmask, signal};
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

/// What whoever starts us may ignore with good reason: nohup(1) wants the job to outlive its
/// terminal, and a shell without job control nobody to be stopped.
const RESPECTED: [Signal; 2] = [Signal::SIGHUP, Signal::SIGTSTP];

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

/// How signals were when this process was started.
#[derive(Debug, Clone, Copy)]
pub struct Inherited {
    /// Those that were blocked.
    pub blocked: SigSet,
    /// Those that were ignored, as far as we have changed that.
    pub ignored: SigSet,
}

impl Default for Inherited {
    /// Nothing is blocked or ignored.
    fn default() -> Inherited {
        Inherited {
            blocked: SigSet::empty(),
            ignored: SigSet::empty(),
        }
    }
}

impl Inherited {
    /// Runs in a child: gives it what we were started with. It hears interrupts even so: a shell
    /// starts what it does not wait for with SIGINT ignored, but we take it and pass it on. How
    /// SIGPIPE was, we cannot know: our runtime ignores it before we run. Makes system calls alone.
    /// Returns the system's reason.
    pub(crate) fn give_back(&self) -> nix::Result<()> {
        for number in [Signal::SIGINT, Signal::SIGPIPE, Signal::SIGXFSZ] {
            set_action(number, SigHandler::SigDfl)?;
        }
        for number in self.ignored.iter().filter(|it| *it != Signal::SIGINT) {
            set_action(number, SigHandler::SigIgn)?;
        }
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.blocked), None)
    }
}

/// Sets an action that is no handler. Returns true if the signal was ignored before.
fn set_action(number: Signal, action: SigHandler) -> nix::Result<bool> {
    // SAFETY: nothing of ours runs when the signal comes.
    let before = unsafe { signal(number, action) }?;
    Ok(before == SigHandler::SigIgn)
}

/// The signals of this process, readable in turn.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    inherited: Inherited,
}

impl Signals {
    /// Blocks the watched signals and makes them readable. The system would forget how children
    /// ended if SIGCHLD were ignored, and a limit for files would end us by SIGXFSZ. Fails with the
    /// system's reason (no descriptors are left).
    pub fn watch() -> nix::Result<Signals> {
        let mut watched = SigSet::from_iter(WATCHED);
        let mut inherited = Inherited::default();
        for number in WATCHED {
            if set_action(number, SigHandler::SigDfl)? {
                inherited.ignored.add(number);
            }
        }
        for number in RESPECTED {
            if inherited.ignored.contains(number) {
                set_action(number, SigHandler::SigIgn)?;
                watched.remove(number);
            }
        }
        if set_action(Signal::SIGXFSZ, SigHandler::SigIgn)? {
            inherited.ignored.add(Signal::SIGXFSZ);
        }
        let block = SigmaskHow::SIG_BLOCK;
        pthread_sigmask(block, Some(&watched), Some(&mut inherited.blocked))?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Signals {
            descriptor: SignalFd::with_flags(&watched, flags)?,
            inherited,
        })
    }

    /// How signals were before.
    pub fn inherited(&self) -> Inherited {
        self.inherited
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

/// The signals to an agent that it reports to `mpirun`.
#[derive(Debug, Default)]
pub(crate) struct Reported {
    ending: BTreeSet<i32>,
    questions: u32,
}

impl Reported {
    /// How often SIGQUIT is reported at most.
    const QUESTIONS_MAX: u32 = 100;

    /// Enters a signal. Returns true if it is reported: one that ends programs once, as another
    /// says nothing new, and SIGQUIT more often, as each asks what the ranks do.
    pub(crate) fn enter(&mut self, signal: i32) -> bool {
        match Signal::try_from(signal) {
            Ok(Signal::SIGHUP | Signal::SIGINT | Signal::SIGTERM) => self.ending.insert(signal),
            Ok(Signal::SIGQUIT) => {
                self.questions = self.questions.saturating_add(1);
                self.questions <= Self::QUESTIONS_MAX
            }
            _ => false,
        }
    }
}

/// The child processes of this process.
#[derive(Debug)]
pub struct Children {
    /// Those of whoever became us: a shell may start something and then execute us. What these
    /// leave behind we adopt, and cannot tell from what ranks leave behind.
    strangers: Vec<Pid>,
}

impl Children {
    /// Nothing has been started yet: all there are belong to others.
    pub fn before_the_first() -> Children {
        Children {
            strangers: children(),
        }
    }

    /// Passes on which of them have ended, stopped or gone on, until nothing has changed. Returns
    /// false if there are none.
    pub fn changes(&mut self, mut take: impl FnMut(Pid, WaitStatus)) -> bool {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
        loop {
            match waitpid(None, Some(flags)) {
                Ok(status) => {
                    let Some(pid) = status.pid() else { return true };
                    if matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)) {
                        self.strangers.retain(|stranger| *stranger != pid);
                    }
                    take(pid, status);
                }
                Err(Errno::EINTR) => {}
                Err(error) => return error != Errno::ECHILD,
            }
        }
    }

    /// Kills all child processes of ours that are left, among them the orphans of ranks that we
    /// adopted, and the orphans that these leave in turn.
    pub fn kill_all(&self) {
        /// Generations of orphans: each one appears when the one above it is gone.
        const GENERATIONS: usize = 100;
        for _ in 0..GENERATIONS {
            let mut ours = children();
            ours.retain(|child| !self.strangers.contains(child));
            if ours.is_empty() {
                return;
            }
            for child in ours {
                kill(child, Signal::SIGKILL).ok();
                waitpid(child, None).ok();
            }
        }
    }
}

/// The child processes of this process; none where the kernel does not list them.
pub(crate) fn children() -> Vec<Pid> {
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
