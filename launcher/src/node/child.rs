//! A process between its making and its program.
//!
//! The child shares our memory, and we wait until it executes its program (clone(2), `CLONE_VM` and
//! `CLONE_VFORK`): no page is copied. At first it shares our descriptors too. Then it takes a copy
//! of those alone that it needs (close_range(2)): the launcher of 1,000 ranks has 4,000 others.
#![expect(unsafe_code, reason = "makes a process and sets it up")]

use std::ffi::{CStr, CString, c_char};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sched::{CloneFlags, CpuSet, clone, sched_setaffinity, unshare};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::stat::Mode;
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, chdir, getpid, setpgid};

use super::spawn::Inherited;
use crate::node::guard;

/// Bytes of the child's stack. It calls the system and nothing else.
const STACK: usize = 64 << 10;

/// The exit status of a child that does not get as far as its program. We learn its reason.
const NO_PROGRAM: isize = 127;

/// The interpreter of a file that names none, as execvp(3) has it.
const SHELL: &CStr = c"/bin/sh";

/// Where a child's input comes from.
#[derive(Debug)]
pub(super) enum Stdin<Descriptor> {
    /// From where ours comes.
    Inherited,
    /// It is empty.
    Null,
    /// From this pipe.
    Pipe(Descriptor),
}

/// What a child does until its program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    Descriptors,
    Null,
    Directory,
    Group,
    Processors,
    Inheritance,
    Program,
}

impl Step {
    const ALL: [Step; 7] = [
        Step::Descriptors,
        Step::Null,
        Step::Directory,
        Step::Group,
        Step::Processors,
        Step::Inheritance,
        Step::Program,
    ];

    /// What the child was to do.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Step::Descriptors => "give its process its open files",
            Step::Null => "open /dev/null as its input",
            Step::Directory => "enter its working directory",
            Step::Group => "give its process a group of its own",
            Step::Processors => "bind its process",
            Step::Inheritance => "set its signals and limits",
            Step::Program => "execute its program",
        }
    }
}

/// Why a process could not be made.
#[derive(Debug)]
pub(super) struct Stopped {
    /// How far it came; nothing if there is none.
    pub(super) step: Option<Step>,
    pub(super) error: io::Error,
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Stopped {
        Stopped { step: None, error }
    }
}

impl Stdin<OwnedFd> {
    pub(super) fn as_ref(&self) -> Stdin<BorrowedFd<'_>> {
        match self {
            Stdin::Inherited => Stdin::Inherited,
            Stdin::Null => Stdin::Null,
            Stdin::Pipe(pipe) => Stdin::Pipe(pipe.as_fd()),
        }
    }
}

/// A process to be made.
pub(super) struct Child<'a> {
    pub(super) file: &'a CStr,
    /// argv, the name first.
    pub(super) arguments: &'a [CString],
    /// Each `NAME=value`.
    pub(super) environment: Vec<&'a CStr>,
    pub(super) directory: &'a CStr,
    pub(super) input: Stdin<BorrowedFd<'a>>,
    pub(super) output: BorrowedFd<'a>,
    pub(super) error: BorrowedFd<'a>,
    /// Descriptors that the program has, too, under the numbers they have here.
    pub(super) kept: Vec<BorrowedFd<'a>>,
    /// The descriptor of `file`, if that is in memory.
    pub(super) memory: Option<BorrowedFd<'a>>,
    /// True if it leads its own process group. If not, it ignores SIGQUIT: one in our own group
    /// gets it from the terminal when the user asks us what the ranks do.
    pub(super) has_own_group: bool,
    /// The pipe to the guard of that group.
    pub(super) guard: Option<BorrowedFd<'a>>,
    /// The CPUs that it, and all that it starts, may use.
    pub(super) cpus: Option<CpuSet>,
    pub(super) inherited: Inherited,
}

impl Child<'_> {
    /// Makes the process. It dies with us, and has the signal mask and the limits that we were
    /// started with. Returns when it executes its program.
    ///
    /// # Errors
    ///
    /// The system's reason: of making the process, of setting it up, or of executing the file.
    pub(super) fn start(&self) -> Result<Pid, Stopped> {
        let launcher = getpid();
        let program = Exec::new(self.file, self.arguments, &self.environment);
        let failure = AtomicI32::new(0);
        let step = AtomicU8::new(0);
        let at = |now: Step| step.store(now as u8, Ordering::Relaxed);
        let run = || {
            let set_up = self.set_up(launcher, &at);
            let errno = set_up.err().unwrap_or_else(|| {
                at(Step::Program);
                program.execute()
            });
            failure.store(errno as i32, Ordering::Relaxed);
            NO_PROGRAM
        };
        let flags = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK | CloneFlags::CLONE_FILES;
        let mut stack = vec![0; STACK];
        // SAFETY: the child runs on a stack of its own while this thread, the only one, waits. It
        // makes system calls, neither allocates nor takes a lock, and writes to `failure` and
        // `step` alone. It leaves our table of descriptors before it changes any. All it borrows
        // outlives it here.
        let pid = unsafe { clone(Box::new(run), &mut stack, flags, Some(libc::SIGCHLD)) };
        let pid = pid.map_err(io::Error::from)?;
        match failure.load(Ordering::Relaxed) {
            0 => Ok(pid),
            errno => {
                waitpid(pid, None).ok();
                let step = Step::ALL.get(usize::from(step.load(Ordering::Relaxed)));
                Err(Stopped {
                    step: step.copied(),
                    error: io::Error::from_raw_os_error(errno),
                })
            }
        }
    }

    /// Runs in the child, and says at which step it is.
    fn set_up(&self, launcher: Pid, at: &dyn Fn(Step)) -> Result<(), Errno> {
        at(Step::Descriptors);
        leave_descriptors(self.first_unneeded())?;
        match &self.input {
            Stdin::Inherited => {}
            Stdin::Null => {
                at(Step::Null);
                self.have_empty_input()?;
                at(Step::Descriptors);
            }
            Stdin::Pipe(pipe) => become_stream(pipe.as_raw_fd(), 0)?,
        }
        become_stream(self.output.as_raw_fd(), 1)?;
        become_stream(self.error.as_raw_fd(), 2)?;
        for descriptor in &self.kept {
            fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        at(Step::Directory);
        chdir(self.directory)?;
        at(Step::Group);
        if self.has_own_group {
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
            self.guard.map_or(Ok(()), guard::announce)?;
        }
        at(Step::Processors);
        if let Some(cpus) = &self.cpus {
            sched_setaffinity(Pid::from_raw(0), cpus)?;
        }
        at(Step::Inheritance);
        if !self.has_own_group {
            // SAFETY: no handler is set.
            unsafe { signal(Signal::SIGQUIT, SigHandler::SigIgn) }?;
        }
        self.inherited.give_back(launcher)
    }

    /// Runs in the child.
    fn have_empty_input(&self) -> Result<(), Errno> {
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let null = nix::fcntl::open(c"/dev/null", flags, Mode::empty())?;
        become_stream(null.as_raw_fd(), 0)
    }

    /// The number from which on the child needs no descriptor of ours.
    fn first_unneeded(&self) -> RawFd {
        let input = match self.input {
            Stdin::Pipe(pipe) => Some(pipe),
            Stdin::Inherited | Stdin::Null => None,
        };
        let some = [input, self.memory, self.guard].into_iter().flatten();
        let all = some
            .chain([self.output, self.error])
            .chain(self.kept.iter().copied());
        let highest = all.map(|it| it.as_raw_fd()).max().unwrap_or(0);
        self.inherited.descriptors.max(highest + 1)
    }
}

/// Gives the process its own table of descriptors, without those from `first` on if the system can
/// leave them out. If it cannot, they are closed by exec.
fn leave_descriptors(first: RawFd) -> Result<(), Errno> {
    let flags = libc::CLOSE_RANGE_UNSHARE;
    // SAFETY: the table that loses descriptors is the child's, which uses none of them.
    let left = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    if left == 0 {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_FILES)
}

/// Makes a descriptor the stream of this number, which exec leaves open.
fn become_stream(descriptor: RawFd, number: RawFd) -> Result<(), Errno> {
    // SAFETY: both numbers belong to the child alone, and no owner of them lives in it.
    let copied = unsafe { libc::dup2(descriptor, number) };
    Errno::result(copied).map(drop)
}

/// What execve(2) needs, made before the child is.
struct Exec {
    file: *const c_char,
    arguments: Vec<*const c_char>,
    /// For a file without an interpreter.
    of_shell: Vec<*const c_char>,
    environment: Vec<*const c_char>,
}

impl Exec {
    fn new(file: &CStr, arguments: &[CString], environment: &[&CStr]) -> Exec {
        let end = std::iter::once(std::ptr::null());
        let pointers = arguments.iter().map(|it| it.as_ptr());
        let shell = [SHELL.as_ptr(), file.as_ptr()].into_iter();
        Exec {
            file: file.as_ptr(),
            of_shell: shell
                .chain(pointers.clone().skip(1))
                .chain(end.clone())
                .collect(),
            arguments: pointers.chain(end.clone()).collect(),
            environment: environment
                .iter()
                .map(|it| it.as_ptr())
                .chain(end)
                .collect(),
        }
    }

    /// Runs in the child. Returns the reason if the file cannot be executed.
    fn execute(&self) -> Errno {
        let environment = self.environment.as_ptr();
        // SAFETY: each list ends with a null pointer, and what the others point to is borrowed by
        // the caller of `start`.
        unsafe { libc::execve(self.file, self.arguments.as_ptr(), environment) };
        let reason = Errno::last();
        if reason != Errno::ENOEXEC {
            return reason;
        }
        // SAFETY: as above.
        unsafe { libc::execve(SHELL.as_ptr(), self.of_shell.as_ptr(), environment) };
        Errno::last()
    }
}
