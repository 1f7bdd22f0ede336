//! Starting one rank as a process.
#![expect(unsafe_code, reason = "descriptors by number")]

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use mpi_boot::protocol::BOOT_FD;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sched::CpuSet;
use nix::sys::resource::{Resource, rlim_t, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid, pipe2};

use super::child::{Child, Stdin, Stopped};
use super::memory::InMemory;
use crate::job::environment::Variable;
use crate::signals;

/// Our ends of the ranks' descriptors have at least this number where the limit allows it. Those
/// which a child needs are lower, so that a copy of few is enough.
const OWN_FIRST: RawFd = 32;

/// What the launcher changed for itself and a rank must not inherit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inherited {
    /// How signals were before the launcher watched its own.
    pub signals: signals::Inherited,
    /// The limits for open files (soft, hard) before the launcher raised them.
    pub files: (rlim_t, rlim_t),
    /// One more than the highest descriptor that was open before, and that exec leaves open.
    pub descriptors: RawFd,
}

impl Inherited {
    /// Runs in a child of `launcher`, which is to die with it: gives it what we changed for
    /// ourselves. Makes system calls alone.
    ///
    /// # Errors
    ///
    /// The system's reason; `ESRCH` if the launcher has died.
    pub(crate) fn give_back(&self, launcher: Pid) -> Result<(), Errno> {
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
        // The launcher may have died before the line above took effect.
        if getppid() != launcher {
            return Err(Errno::ESRCH);
        }
        let (soft, hard) = self.files;
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
        self.signals.give_back()
    }

    /// For a program that works for us, and that we end by a signal: it blocks and ignores none but
    /// SIGHUP.
    pub(crate) fn for_own_programs(mut self) -> Inherited {
        let ignores_hangup = self.signals.ignored.contains(Signal::SIGHUP);
        self.signals = signals::Inherited::default();
        if ignores_hangup {
            self.signals.ignored.add(Signal::SIGHUP);
        }
        self
    }
}

/// One more than the highest open descriptor that exec leaves open; the highest number if the
/// system does not list them.
pub(crate) fn inherited_descriptors() -> RawFd {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return RawFd::MAX;
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let open = names.filter_map(|name| name.parse().ok());
    // The listing's own is closed by exec.
    let kept = open.filter(|number| !is_closed_by_exec(*number));
    kept.max().map_or(0, |highest: RawFd| highest + 1)
}

fn is_closed_by_exec(descriptor: RawFd) -> bool {
    // SAFETY: a question about a number, which need not be open any more.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
    flags == -1 || flags & libc::FD_CLOEXEC != 0
}

/// What all ranks of a node have in common.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) file: CString,
    /// Where `file` is, if `mpirun` has sent it.
    pub(super) memory: Option<InMemory>,
    /// argv, the name first.
    pub(super) arguments: Vec<CString>,
    /// Each `NAME=value`.
    environment: Vec<CString>,
    pub(super) directory: CString,
    pub(super) inherited: Inherited,
}

/// A rank that has been started: its process and our ends of its descriptors.
#[derive(Debug)]
pub(super) struct Spawned {
    pub(super) pid: Pid,
    pub(super) boot: UnixStream,
    pub(super) output: OwnedFd,
    pub(super) error: OwnedFd,
}

/// What differs from rank to rank.
pub(super) struct Role {
    /// Variables for this rank alone.
    pub(super) variables: Vec<Variable>,
    /// Its end of the channel for PMI.
    pub(super) pmi: Option<UnixStream>,
    pub(super) input: Stdin,
    /// True if the rank leads its own process group. If not, it ignores SIGQUIT: one in our own
    /// group gets it from the terminal when the user asks us what the ranks do.
    pub(super) has_own_group: bool,
    /// The CPUs that the rank, and all that it starts, may use, if it is bound.
    pub(super) cpus: Option<CpuSet>,
}

impl Program {
    /// A program in a file, or in memory, with its arguments and variables. None of them may have a
    /// byte 0.
    pub(super) fn new(
        (file, memory): (PathBuf, Option<InMemory>),
        arguments: Vec<OsString>,
        environment: &[Variable],
        directory: PathBuf,
        inherited: Inherited,
    ) -> io::Result<Program> {
        let arguments = arguments.into_iter().map(c_string);
        let environment = environment.iter().map(assignment);
        Ok(Program {
            file: c_string(file.into())?,
            memory,
            arguments: arguments.collect::<io::Result<_>>()?,
            environment: environment.collect::<io::Result<_>>()?,
            directory: c_string(directory.into())?,
            inherited,
        })
    }

    /// Its file.
    pub(super) fn file(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.file.as_bytes()))
    }

    /// As messages name it: the file, or the name that `mpirun` has sent it under.
    pub(super) fn name(&self) -> OsString {
        let name = match &self.memory {
            Some(_) => &self.arguments[0],
            None => &self.file,
        };
        OsString::from_vec(name.to_bytes().to_vec())
    }

    /// Starts one rank. Its group is announced to the guard.
    pub(super) fn spawn(
        &self,
        role: Role,
        guard: Option<BorrowedFd<'_>>,
    ) -> Result<Spawned, Stopped> {
        let (boot, rank_boot) = UnixStream::pair()?;
        let boot = high(boot.into());
        let (output, rank_output) = output_pipe()?;
        let (error, rank_error) = output_pipe()?;
        let boot_fd = variable(BOOT_FD, rank_boot.as_raw_fd());
        let variables = role.variables.iter().chain([&boot_fd]).map(assignment);
        let variables: Vec<CString> = variables.collect::<io::Result<_>>()?;
        let is_own = |it: &&CString| variables.iter().any(|own| name_of(own) == name_of(it));
        let common = self.environment.iter().filter(|it| !is_own(it));
        let pid = Child {
            program: self,
            role: &role,
            environment: common.chain(&variables).map(|it| &**it).collect(),
            boot: rank_boot.as_fd(),
            output: rank_output.as_fd(),
            error: rank_error.as_fd(),
            guard,
        }
        .start()?;
        Ok(Spawned {
            pid,
            boot: boot.into(),
            output,
            error,
        })
    }
}

/// The name in `NAME=value`.
fn name_of(variable: &CString) -> &[u8] {
    let bytes = variable.as_bytes();
    let end = bytes.iter().position(|byte| *byte == b'=');
    &bytes[..end.unwrap_or(bytes.len())]
}

/// `NAME=value`
fn assignment((name, value): &Variable) -> io::Result<CString> {
    let mut assignment = name.clone();
    assignment.push("=");
    assignment.push(value);
    c_string(assignment)
}

fn c_string(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

/// Our end of something, out of the way of the descriptors that children need.
pub(super) fn high(descriptor: OwnedFd) -> OwnedFd {
    match fcntl(&descriptor, FcntlArg::F_DUPFD_CLOEXEC(OWN_FIRST)) {
        // SAFETY: a new descriptor, which nobody else has.
        Ok(copy) => unsafe { OwnedFd::from_raw_fd(copy) },
        // The limit is that low.
        Err(_) => descriptor,
    }
}

/// A pipe to read from without blocking.
fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = pipe2(OFlag::O_CLOEXEC)?;
    set_nonblocking(ours.as_fd())?;
    Ok((high(ours), theirs))
}

/// A pipe to write to without blocking. Returns (read end, write end).
pub(super) fn input_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
    set_nonblocking(ours.as_fd())?;
    Ok((theirs, high(ours)))
}

/// Makes reading from and writing to a descriptor return instead of waiting.
pub fn set_nonblocking(descriptor: impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(&descriptor, FcntlArg::F_GETFL)?);
    fcntl(&descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// One variable from text.
pub(super) fn variable(name: &str, value: impl ToString) -> Variable {
    (OsStr::new(name).to_os_string(), value.to_string().into())
}
