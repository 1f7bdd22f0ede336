//! Starting one rank as a process.
#![expect(unsafe_code, reason = "sets up the child between fork and exec")]

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use mpi_lite::boot::protocol::BOOT_FD;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Resource, rlim_t, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, pthread_sigmask, signal};
use nix::unistd::{Pid, getpid, getppid, pipe2};

use super::memory::InMemory;
use crate::environment::Variable;
use crate::guard;

/// What the launcher changed for itself and a rank must not inherit.
#[derive(Debug, Clone, Copy)]
pub struct Inherited {
    /// The signals that were blocked before the launcher blocked its own.
    pub signals: SigSet,
    /// The limits for open files (soft, hard) before the launcher raised them.
    pub files: (rlim_t, rlim_t),
}

/// What all ranks of a node have in common.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) file: PathBuf,
    /// Where `file` is, if `mpirun` has sent it.
    pub(super) memory: Option<InMemory>,
    /// argv, the name first.
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<Variable>,
    pub(super) directory: PathBuf,
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
    pub(super) input: Stdio,
    /// True if the rank leads its own process group.
    pub(super) has_own_group: bool,
    /// The CPUs that the rank may use, if it is bound.
    pub(super) cpus: Option<CpuSet>,
    /// The pipe to the guard of that group.
    pub(super) guard: Option<RawFd>,
}

impl Program {
    /// Starts one rank.
    ///
    /// # Errors
    ///
    /// The system's reason: of making descriptors, or of executing the file.
    pub(super) fn spawn(&self, role: Role) -> io::Result<Spawned> {
        let (boot, rank_boot) = UnixStream::pair()?;
        let (output, rank_output) = output_pipe()?;
        let (error, rank_error) = output_pipe()?;
        let mut command = Command::new(&self.file);
        let (name, arguments) = self.arguments.split_first().expect("argv has a name");
        command.arg0(name).args(arguments);
        command.env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.envs(role.variables);
        command.env(BOOT_FD, rank_boot.as_raw_fd().to_string());
        command.current_dir(&self.directory);
        command
            .stdin(role.input)
            .stdout(rank_output)
            .stderr(rank_error);
        if role.has_own_group {
            command.process_group(0);
            role.guard.inspect(|pipe| announce_to(*pipe, &mut command));
        }
        prepare_child(&mut command, Some(rank_boot.as_raw_fd()), self.inherited);
        if let Some(memory) = self.memory.as_ref().filter(|memory| memory.is_script) {
            keep_for_interpreter(memory.descriptor(), &mut command);
        }
        if let Some(pmi) = &role.pmi {
            keep_also(pmi.as_raw_fd(), &mut command);
        }
        if !role.has_own_group {
            ignore_quit(&mut command);
        }
        if let Some(cpus) = role.cpus {
            bind(cpus, &mut command);
        }
        let child = command.spawn()?;
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid fits in i32"));
        Ok(Spawned {
            pid,
            boot,
            output,
            error,
        })
    }
}

/// Arranges that the child dies with us, keeps this descriptor, and has the signal mask and the
/// limits that we were started with.
pub(crate) fn prepare_child(command: &mut Command, keep: Option<RawFd>, inherited: Inherited) {
    let launcher = getpid();
    let set_up = move || {
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
        // The launcher may have died before the line above took effect.
        if getppid() != launcher {
            return Err(Errno::ESRCH.into());
        }
        keep.map_or(Ok(()), keep_open)?;
        let (soft, hard) = inherited.files;
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
        // A shell starts what it does not wait for with the interrupt ignored. We take it all the
        // same and pass it on, so the ranks must be able to hear it.
        // SAFETY: no handler is set, only the default.
        unsafe { signal(Signal::SIGINT, SigHandler::SigDfl) }?;
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&inherited.signals), None)?;
        Ok(())
    };
    // SAFETY: the closure runs in a forked child; it makes system calls that are safe there, and
    // neither allocates nor takes a lock, which another thread might hold.
    unsafe { command.pre_exec(set_up) };
}

/// Arranges that the child keeps one more descriptor.
fn keep_also(descriptor: RawFd, command: &mut Command) {
    // SAFETY: the closure makes one system call that is safe there, and neither allocates nor takes
    // a lock.
    unsafe { command.pre_exec(move || Ok(keep_open(descriptor)?)) };
}

/// Arranges that the child announces its group to the guard.
fn announce_to(pipe: RawFd, command: &mut Command) {
    // SAFETY: the closure makes system calls that are safe there, and neither allocates nor takes a
    // lock.
    unsafe { command.pre_exec(move || Ok(guard::announce(pipe)?)) };
}

/// Arranges that the child ignores SIGQUIT. One in our own group gets it from the terminal when the
/// user asks us what the ranks do.
fn ignore_quit(command: &mut Command) {
    // SAFETY: no handler is set, and signal(2) may be called between fork and exec.
    let ignore = || unsafe { signal(Signal::SIGQUIT, SigHandler::SigIgn) }.map(drop);
    // SAFETY: the closure makes one system call that is safe there, and neither allocates nor takes
    // a lock.
    unsafe { command.pre_exec(move || Ok(ignore()?)) };
}

/// Arranges that the child keeps the descriptor of a script, which its interpreter reads.
fn keep_for_interpreter(descriptor: RawFd, command: &mut Command) {
    // SAFETY: the closure makes one system call that is safe there, and neither allocates nor takes
    // a lock.
    unsafe { command.pre_exec(move || Ok(keep_open(descriptor)?)) };
}

/// Arranges that the child, and all that it starts, uses these CPUs alone.
fn bind(cpus: CpuSet, command: &mut Command) {
    let bind = move || Ok(sched_setaffinity(Pid::from_raw(0), &cpus)?);
    // SAFETY: the closure makes one system call that is safe there, and neither allocates nor takes
    // a lock.
    unsafe { command.pre_exec(bind) };
}

fn keep_open(descriptor: RawFd) -> Result<(), Errno> {
    // SAFETY: the descriptor is the rank's end of a socket pair, or a program in memory, that the
    // caller of `spawn` keeps open until the child has been made, and the child has its own copy.
    let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) };
    fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty())).map(drop)
}

/// A pipe to read from without blocking.
fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = pipe2(OFlag::O_CLOEXEC)?;
    set_nonblocking(ours.as_fd())?;
    Ok((ours, theirs))
}

/// A pipe to write to without blocking. Returns (read end, write end).
pub(super) fn input_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
    set_nonblocking(ours.as_fd())?;
    Ok((theirs, ours))
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
