//! The state of the process: whether MPI runs, and what runs in it. The objects of the program are
//! in the registry.
#![expect(
    unsafe_code,
    reason = "the last symbol is kept as an address; libc is called"
)]

use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};
use std::io::Write as _;
use std::sync::OnceLock;
use std::time::Instant;

use mpi_lite::boot::state::FailedCall;
use mpi_lite::world::Process;
use parking_lot::Mutex;

use crate::abi::Handle;
use crate::callback::{self, Callback};
use crate::stack;
use crate::stdio;
use crate::symbol::Symbol;

/// Whether MPI can be called: in the world model or in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// `MPI_Init` was not called, and there is no session.
    Before,
    /// Between `MPI_Init` and `MPI_Finalize`, or there is a session.
    Running,
    /// `MPI_Finalize` has returned, and there is no session.
    After,
    /// This is a process that the program forked meanwhile: it has no part in the job.
    Forked,
    /// The job was aborted here; the program's exit handlers run.
    Ending,
    /// As `Running`, and a tool watches events: calls are made under observation (`events`).
    Watched,
}

impl Stage {
    /// The stage that was stored as this number.
    #[inline]
    pub(crate) fn of(number: u8) -> Self {
        match number {
            0 => Self::Before,
            1 => Self::Running,
            2 => Self::After,
            3 => Self::Forked,
            4 => Self::Ending,
            _ => Self::Watched,
        }
    }

    /// Returns true if the program may call MPI now.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::Watched)
    }
}

/// A thread of the program, as the C library names it: Rust's own name for a thread that it has not
/// started lies in memory that is never given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread(libc::pthread_t);

impl Thread {
    /// The one that calls.
    pub fn current() -> Self {
        // SAFETY: it has no conditions.
        Self(unsafe { libc::pthread_self() })
    }
}

/// What a message is made of.
#[derive(Debug, Clone, Copy)]
pub struct What {
    /// The number of elements.
    pub count: i64,
    /// What they are.
    pub datatype: Handle,
}

/// The record of a blocking send. It is kept only when the call may wait: most calls do not, and
/// what a send writes before its message delays the message.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// The message.
    pub what: What,
    /// The receiver.
    pub dest: c_int,
    /// The tag.
    pub tag: c_int,
}

/// What was entered last by any thread: a static symbol, or a record, with bits of its kind.
#[derive(Debug)]
pub struct Last(AtomicPtr<u8>);

/// Bits of the word that name a record, and the record of a transfer. Records and symbols lie at
/// addresses that are multiples of four.
const RECORD: usize = 1;
const TRANSFER: usize = 2;
const BITS: usize = RECORD | TRANSFER;

impl Last {
    /// Nothing was entered.
    pub const fn nothing() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Notes a symbol.
    #[inline]
    pub fn set(&self, symbol: &'static Symbol) {
        let symbol = core::ptr::from_ref(symbol).cast_mut().cast();
        self.0.store(symbol, Ordering::Relaxed);
    }

    /// Notes a record. Its call ends without a word: nobody but its thread reads it, inside.
    #[inline]
    pub fn set_record<A>(&self, record: &A) {
        let record: *mut u8 = core::ptr::from_ref(record).cast_mut().cast();
        self.0.store(record.wrapping_add(RECORD), Ordering::Relaxed);
    }

    /// Notes the record of a transfer that is about to wait.
    pub fn set_transfer(&self, transfer: &Transfer) {
        let record: *mut u8 = core::ptr::from_ref(transfer).cast_mut().cast();
        self.0
            .store(record.wrapping_add(TRANSFER), Ordering::Relaxed);
    }

    /// The symbol that was entered last, if it keeps no records.
    pub fn called(&self) -> Option<&'static Symbol> {
        let word = self.0.load(Ordering::Relaxed);
        if word.addr() & BITS != 0 {
            return None;
        }
        // SAFETY: it is null or the address of a static symbol, stored by `set`.
        unsafe { word.cast::<Symbol>().as_ref() }
    }

    /// The address of the record that was noted last, and whether it is that of a transfer.
    pub fn record(&self) -> Option<(*const u8, bool)> {
        let word = self.0.load(Ordering::Relaxed);
        let kind = word.addr() & BITS;
        (kind != 0).then(|| (word.wrapping_sub(kind).cast_const(), kind == TRANSFER))
    }
}

/// Everything that outlives a call.
#[derive(Debug)]
pub struct Library {
    pub(crate) stage: AtomicU8,
    /// The stage of the world model.
    pub(crate) world_stage: AtomicU8,
    /// What was entered last: what a panic or the report of a job that hangs names.
    last: Last,
    /// The call that has returned an error last, for the report of a job that hangs.
    pub failed_call: Mutex<Option<FailedCall>>,
    /// The reduction that was entered last: it may call an operator of the program.
    reduction: AtomicPtr<Symbol>,
    /// The process, from the first initialization on.
    pub(crate) process: OnceLock<Process>,
    /// The thread that aborts the job, and the exit status of this process.
    pub(crate) ending: OnceLock<(Thread, c_int)>,
    /// The thread that called `MPI_Init`, and the level of threads it was given.
    pub threads: OnceLock<(Thread, c_int)>,
    /// The moment from which `MPI_Wtime` counts.
    start: OnceLock<Instant>,
}

/// The library's state. Everything else hangs on the `Process` in it.
pub static LIBRARY: Library = Library {
    stage: AtomicU8::new(Stage::Before as u8),
    world_stage: AtomicU8::new(Stage::Before as u8),
    last: Last::nothing(),
    failed_call: Mutex::new(None),
    reduction: AtomicPtr::new(core::ptr::null_mut()),
    process: OnceLock::new(),
    ending: OnceLock::new(),
    threads: OnceLock::new(),
    start: OnceLock::new(),
};

impl Library {
    /// The stage now.
    #[inline]
    pub fn stage(&self) -> Stage {
        Stage::of(self.stage.load(Ordering::Relaxed))
    }

    /// Calls are observed from now on, or no more.
    pub fn watch(&self, is_on: bool) {
        let (from, to) = match is_on {
            true => (Stage::Running, Stage::Watched),
            false => (Stage::Watched, Stage::Running),
        };
        // In another stage there are no calls.
        let order = Ordering::SeqCst;
        let _ = self
            .stage
            .compare_exchange(from as u8, to as u8, order, order);
    }

    /// The name of the MPI function in which this thread is.
    pub fn running(&self) -> String {
        let called = || self.last.called().map(|symbol| symbol.name.to_owned());
        let running = stack::callers().running.map(|running| running.name);
        // The static library exports no names.
        let call = running.or_else(called).or_else(|| self.reduction());
        call.unwrap_or_else(|| "no MPI function".into())
    }

    /// What was entered last.
    pub fn last(&self) -> &Last {
        &self.last
    }

    /// Notes the symbol that is entered.
    #[inline]
    pub fn enter(&self, symbol: &'static Symbol) {
        self.last.set(symbol);
    }

    /// Notes the reduction that is entered.
    #[inline]
    pub fn note_reduction(&self, symbol: &'static Symbol) {
        let symbol = core::ptr::from_ref(symbol).cast_mut();
        self.reduction.store(symbol, Ordering::Relaxed);
    }

    /// The reduction that has called an operator of the program, which runs.
    fn reduction(&self) -> Option<String> {
        let runs = callback::running() == Some(Callback::Operator);
        let symbol = self.reduction.load(Ordering::Relaxed);
        // SAFETY: it is null or the address of a static, stored by `note_reduction`.
        let symbol = unsafe { symbol.as_ref() }.filter(|_| runs);
        symbol.map(|symbol| symbol.name.to_owned())
    }

    /// Notes the call that is entered.
    #[inline]
    pub fn enter_recorded<A>(&self, record: &A) {
        self.last.set_record(record);
    }

    /// The process. Bodies run only while there is one.
    #[inline]
    pub fn process(&self) -> &Process {
        self.process.get().expect("MPI is running")
    }

    /// The process, if there is one that this is not a forked child of.
    pub fn own_process(&self) -> Option<&Process> {
        match self.stage() {
            Stage::Before | Stage::Forked => None,
            Stage::Running | Stage::Watched | Stage::After | Stage::Ending => self.process.get(),
        }
    }

    /// Seconds since the first call.
    pub fn seconds(&self) -> f64 {
        self.start.get_or_init(Instant::now).elapsed().as_secs_f64()
    }

    /// `on rank 1 (pid 4711, host n1)`, for the lines of errors.
    pub fn whereabouts(&self) -> String {
        let host = String::from_utf8_lossy(&host_name()).into_owned();
        let place = format!("(pid {}, host {host})", std::process::id());
        match self.process.get() {
            None => place,
            Some(process) => format!("on rank {} {place}", process.assignment().rank),
        }
    }

    /// Writes one line to standard error, in one piece so that ranks do not tear each other's.
    pub fn print(&self, line: &str) {
        // Nothing can be done if standard error is closed.
        let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
    }

    /// Ends the job with exit status `code`, and prints `line`: through the launcher, so that it
    /// appears once, or here if there is none. What the program has printed is written out first,
    /// since the end of the job may come sooner than this process's own.
    pub fn abort(&self, code: c_int, line: &str) -> ! {
        // An exit status has eight bits; an abort is never a success.
        let status = if code & 0xff == 0 { 1 } else { code & 0xff };
        if self.stage() == Stage::Forked {
            self.tell_abort(code, line);
            // SAFETY: it takes a number. What the parent has buffered and registered is its own.
            unsafe { libc::_exit(status) }
        }
        if self.ending.set((Thread::current(), status)).is_err() {
            self.end()
        }
        self.tell_abort(code, line);
        self.stage.store(Stage::Ending as u8, Ordering::Release);
        std::process::exit(status)
    }

    /// As [`Library::abort`] in an exit handler, from which `exit` may not be called.
    pub fn end_with(&self, status: c_int, line: &str) -> ! {
        if self.ending.set((Thread::current(), status)).is_ok() {
            self.tell_abort(status, line);
        }
        self.end()
    }

    /// Ends this process, in which the job was aborted: an exit handler of the program, or another
    /// thread, has called MPI meanwhile. The first error alone is printed and has its exit status.
    #[cold]
    pub fn end(&self) -> ! {
        let (thread, status) = *self.ending.get().expect("the job was aborted");
        if thread != Thread::current() {
            // Waits until the other thread has ended the process.
            std::process::exit(status)
        }
        stdio::flush();
        // SAFETY: it takes a number. An exit handler must not begin the end anew, and what it
        // asks for may never come.
        unsafe { libc::_exit(status) }
    }
}

impl Library {
    /// Aborts the job, but does not end this process: the caller does that.
    pub fn tell_abort(&self, code: c_int, line: &str) {
        if self.stage() != Stage::Forked {
            stdio::flush();
        }
        match self.process.get() {
            Some(process) if self.stage().is_running() => process.abort(code, line),
            _ if line.is_empty() => {}
            _ => self.print(line),
        }
    }
}

/// This machine's name in the system.
pub fn host_name() -> Vec<u8> {
    let name = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim_ascii();
    if name.is_empty() {
        b"localhost".to_vec()
    } else {
        name.to_vec()
    }
}
