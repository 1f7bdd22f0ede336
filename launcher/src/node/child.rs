//! A process between its making and its program.
//!
//! The child shares our memory, and we wait until it executes its program (clone(2), `CLONE_VM` and
//! `CLONE_VFORK`): no page is copied. At first it shares our descriptors too. Then it takes a copy
//! of those alone that it needs (close_range(2)): the launcher of 1,000 ranks has 4,000 others.
#![expect(unsafe_code, reason = "makes a process and sets it up")]

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sched::{CloneFlags, clone, sched_setaffinity, unshare};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::stat::Mode;
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, chdir, getpid, setpgid};

use super::memory::InMemory;
use super::spawn::{Program, Role};
use crate::node::guard;

/// Bytes of the child's stack. It calls the system and nothing else.
const STACK: usize = 64 << 10;

/// The exit status of a child that does not get as far as its program. We learn its reason.
const NO_PROGRAM: isize = 127;

/// The interpreter of a file that names none, as execvp(3) has it.
const SHELL: &CStr = c"/bin/sh";

/// Where a child's input comes from.
#[derive(Debug)]
pub(super) enum Stdin {
    /// From where ours comes.
    Inherited,
    /// It is empty.
    Null,
    /// From this pipe.
    Pipe(OwnedFd),
}

/// What a child does until its program runs, in words.
pub(super) type Step = &'static str;

const OPEN_FILES: Step = "give its process its open files";
pub(super) const PROGRAM: Step = "execute its program";

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

/// A process to be made.
pub(super) struct Child<'a> {
    pub(super) program: &'a Program,
    pub(super) role: &'a Role,
    /// Each `NAME=value`.
    pub(super) environment: Vec<&'a CStr>,
    /// Its ends of its channel and of its output.
    pub(super) boot: BorrowedFd<'a>,
    pub(super) output: BorrowedFd<'a>,
    pub(super) error: BorrowedFd<'a>,
    /// The pipe to the guard of its group.
    pub(super) guard: Option<BorrowedFd<'a>>,
}

impl Child<'_> {
    /// Makes the process. It dies with us, and has the signal mask and the limits that we were
    /// started with. Returns when it executes its program.
    pub(super) fn start(&self) -> Result<Pid, Stopped> {
        let launcher = getpid();
        let program = Exec::new(self.program, &self.environment);
        let step = Cell::new(OPEN_FILES);
        let failure = Cell::new(None);
        let run = || {
            let set_up = self.set_up(launcher, &step);
            failure.set(Some(set_up.err().unwrap_or_else(|| {
                step.set(PROGRAM);
                program.execute()
            })));
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
        let Some(errno) = failure.get() else {
            return Ok(pid);
        };
        waitpid(pid, None).ok();
        Err(Stopped {
            step: Some(step.get()),
            error: errno.into(),
        })
    }

    /// Runs in the child, and says at which step it is.
    fn set_up(&self, launcher: Pid, step: &Cell<Step>) -> Result<(), Errno> {
        leave_descriptors(self.first_unneeded())?;
        match &self.role.input {
            Stdin::Inherited => {}
            Stdin::Null => {
                step.set("open /dev/null as its input");
                have_empty_input()?;
                step.set(OPEN_FILES);
            }
            Stdin::Pipe(pipe) => become_stream(pipe.as_raw_fd(), 0)?,
        }
        become_stream(self.output.as_raw_fd(), 1)?;
        become_stream(self.error.as_raw_fd(), 2)?;
        for descriptor in self.kept() {
            fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        step.set("enter its working directory");
        chdir(&*self.program.directory)?;
        step.set("give its process a group of its own");
        if self.role.has_own_group {
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
            self.guard.map_or(Ok(()), guard::announce)?;
        }
        step.set("bind its process");
        if let Some(cpus) = &self.role.cpus {
            sched_setaffinity(Pid::from_raw(0), cpus)?;
        }
        step.set("set its signals and limits");
        if !self.role.has_own_group {
            // SAFETY: no handler is set.
            unsafe { signal(Signal::SIGQUIT, SigHandler::SigIgn) }?;
        }
        self.program.inherited.give_back(launcher)
    }

    /// Descriptors that the program has, too, under the numbers they have here.
    fn kept(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let pmi = self.role.pmi.as_ref().map(AsFd::as_fd);
        // The interpreter of a script reads it.
        let script = self.program.memory.as_ref().filter(|it| it.is_script);
        let some = [Some(self.boot), pmi, script.map(InMemory::descriptor)];
        some.into_iter().flatten()
    }

    /// The number from which on the child needs no descriptor of ours.
    fn first_unneeded(&self) -> RawFd {
        let input = match &self.role.input {
            Stdin::Pipe(pipe) => Some(pipe.as_fd()),
            Stdin::Inherited | Stdin::Null => None,
        };
        let memory = self.program.memory.as_ref().map(InMemory::descriptor);
        let some = [
            input,
            memory,
            self.guard,
            Some(self.output),
            Some(self.error),
        ];
        let all = some.into_iter().flatten().chain(self.kept());
        let highest = all.map(|it| it.as_raw_fd()).max().unwrap_or(0);
        self.program.inherited.descriptors.max(highest + 1)
    }
}

/// Runs in the child.
fn have_empty_input() -> Result<(), Errno> {
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let null = nix::fcntl::open(c"/dev/null", flags, Mode::empty())?;
    become_stream(null.as_raw_fd(), 0)
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
    fn new(program: &Program, environment: &[&CStr]) -> Exec {
        let list = |texts: &mut dyn Iterator<Item = &CStr>| {
            let pointers = texts.map(CStr::as_ptr);
            pointers.chain([std::ptr::null()]).collect()
        };
        let arguments = || program.arguments.iter().map(CString::as_c_str);
        let of_shell = [SHELL, &program.file].into_iter();
        Exec {
            file: program.file.as_ptr(),
            arguments: list(&mut arguments()),
            of_shell: list(&mut of_shell.chain(arguments().skip(1))),
            environment: list(&mut environment.iter().copied()),
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
