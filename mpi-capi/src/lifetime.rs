//! From the first initialization of MPI in a process to its exit. Source: MPI 5.0, 11.2 and 11.3.
//!
//! The world model and each session use MPI. The process joins the job with the first use, and
//! waits there for all others; later uses join nothing. It leaves the job once, when all others do:
//!
//! | event | the process leaves the job |
//! |---|---|
//! | `MPI_Finalize`, and there is no session | in the call |
//! | `MPI_Finalize`, and there is one | at exit |
//! | `MPI_Session_finalize` | at exit, unless `MPI_Finalize` did it |
//! | exit while MPI is in use | not at all: the launcher reports it |
//!
//! A session may end here while it goes on elsewhere, so its end alone is no reason to leave. A
//! session that begins after the process has left communicates as before, but the launcher takes
//! the process for one that is done.
#![expect(unsafe_code, reason = "functions are registered with the C library")]

use core::ffi::c_int;
use core::sync::atomic::Ordering;
use std::sync::Arc;

use mpi_lite::world::Process;
use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::describe::Caller;
use crate::error::{Cause, Error, Result};
use crate::events;
use crate::forks;
use crate::global::{LIBRARY, Library, Stage, Thread};
use crate::objects::attributes;
use crate::objects::comm::{self, CommObject};
use crate::objects::session::SessionObject;
use crate::registry;
use crate::{codes, panic, raise};

/// What uses MPI in this process, and whether it has a part in the job.
#[derive(Debug)]
struct Uses {
    is_in_world: bool,
    sessions: usize,
    membership: Membership,
    /// `leave_at_exit` is registered.
    leaves_at_exit: bool,
}

/// The part of this process in the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Membership {
    /// It has not joined.
    None,
    /// It has, in this thread of this process of the system.
    Joined(Thread, u32),
    /// It has left.
    Left,
    /// It has left, and communicates again.
    Resumed,
}

impl Uses {
    /// Nothing uses MPI yet.
    const NONE: Self = Self {
        is_in_world: false,
        sessions: 0,
        membership: Membership::None,
        leaves_at_exit: false,
    };

    fn is_any(&self) -> bool {
        self.is_in_world || self.sessions > 0
    }
}

static USES: Mutex<Uses> = Mutex::new(Uses::NONE);

const INIT_TWICE: &str = "MPI is initialized already";
const INIT_AFTER_FINALIZE: &str = "MPI was finalized and cannot be initialized again";
const FINALIZE_TWICE: &str = "MPI was finalized already";

impl Library {
    /// The stage of the world model.
    pub fn world_stage(&self) -> Stage {
        match self.stage() {
            Stage::Ending => Stage::Ending,
            _ => Stage::of(self.world_stage.load(Ordering::Acquire)),
        }
    }

    /// Begins the world model; the calling thread becomes the main thread.
    ///
    /// # Errors
    /// It is not the first time, or mpi-lite cannot start.
    pub fn init(&self, thread_level: c_int) -> Result<()> {
        self.check_process()?;
        let uses = &mut *USES.lock();
        match self.world_stage() {
            Stage::Before => {}
            Stage::After => return Err(Error::new(abi::MPI_ERR_OTHER, INIT_AFTER_FINALIZE)),
            _ => return Err(Error::new(abi::MPI_ERR_OTHER, INIT_TWICE)),
        }
        self.join(uses)?;
        let thread_level = self.allow_threads(uses, thread_level)?;
        let process = self.process();
        let of_process = |lite: &mpi_lite::comm::Communicator, handle, name| {
            CommObject::predefined(lite.clone(), handle, name)
        };
        let world = of_process(process.world(), abi::MPI_COMM_WORLD, "MPI_COMM_WORLD");
        let own = of_process(process.own(), abi::MPI_COMM_SELF, "MPI_COMM_SELF");
        let size = c_int::try_from(process.world().size()).expect("ranks are C's int");
        attributes::note_size(size);
        attributes::note_appnum(process.assignment().appnum);
        let first = comm::begin_world(world, own)
            && self.threads.set((Thread::current(), thread_level)).is_ok();
        assert!(first, "the world model begins once");
        uses.is_in_world = true;
        self.world_stage
            .store(Stage::Running as u8, Ordering::Release);
        self.settle_stage(uses);
        Ok(())
    }

    /// Ends the world model, after the attributes of `MPI_COMM_SELF` are deleted. Leaves the job if
    /// there is no session. Source: MPI 5.0, 11.2.4.
    ///
    /// # Errors
    /// `MPI_Init` was not called or this is the second time; a delete function failed; the job
    /// is ending.
    pub fn finalize(&self) -> Result<()> {
        self.check_process()?;
        match self.world_stage() {
            Stage::Before => return Err(Cause::BeforeInit.into()),
            Stage::After => return Err(Error::new(abi::MPI_ERR_OTHER, FINALIZE_TWICE)),
            _ => {}
        }
        for comm in comm::predefined() {
            comm.attributes.delete_all(comm.handle())?;
        }
        let survives = !raise::is_fatal_without_object();
        let has_sessions = USES.lock().sessions > 0;
        let left = match has_sessions {
            true => Ok(()),
            false => self.process().finalize("MPI_Finalize", survives),
        };
        // An error that is fatal still has a job to end.
        if left.is_ok() || survives {
            let uses = &mut *USES.lock();
            uses.is_in_world = false;
            if !has_sessions {
                uses.membership = Membership::Left;
            }
            self.world_stage
                .store(Stage::After as u8, Ordering::Release);
            self.settle_stage(uses);
        }
        Ok(left?)
    }

    /// Begins a session. Source: MPI 5.0, 11.3.1.
    ///
    /// # Errors
    /// mpi-lite cannot start.
    pub fn open_session(&self, errhandler: Handle, thread_level: c_int) -> Result<Handle> {
        self.check_process()?;
        let uses = &mut *USES.lock();
        self.join(uses)?;
        if !std::mem::replace(&mut uses.leaves_at_exit, true) {
            // SAFETY: the function takes nothing and does not unwind. If there is no memory for it
            // the launcher reports an exit without an end of MPI.
            unsafe { libc::atexit(leave_at_exit) };
        }
        let asked = self.allow_threads(uses, thread_level)?;
        let thread_level = match self.process().engine().is_threaded() {
            true => abi::MPI_THREAD_MULTIPLE,
            false => asked,
        };
        let session = SessionObject::new(errhandler, thread_level);
        let handle = registry::insert(Arc::new(session));
        uses.sessions += 1;
        self.settle_stage(uses);
        Ok(handle)
    }

    /// Ends a session, which exists. Source: MPI 5.0, 11.3.1.
    pub fn close_session(&self, handle: Handle) {
        let uses = &mut *USES.lock();
        let closed = registry::remove::<Arc<SessionObject>>(handle);
        // Another thread may have ended it meanwhile.
        if closed.is_ok() {
            uses.sessions -= 1;
        }
        self.settle_stage(uses);
    }

    /// Checks that this process may begin or end a use of MPI.
    fn check_process(&self) -> Result<()> {
        match self.stage() {
            Stage::Forked => Err(Cause::InForkedChild.into()),
            Stage::Ending => self.end(),
            _ => Ok(()),
        }
    }

    /// Makes this process able to communicate.
    fn join(&self, uses: &mut Uses) -> Result<()> {
        match uses.membership {
            Membership::None => {
                let process = Process::init()?;
                process.engine().report().set_program(&Caller);
                assert!(self.process.set(process).is_ok(), "a process joins once");
                panic::install_hook();
                forks::watch(self.process().engine());
                uses.membership = Membership::Joined(Thread::current(), std::process::id());
            }
            Membership::Left => {
                self.process().resume()?;
                uses.membership = Membership::Resumed;
            }
            Membership::Joined(..) | Membership::Resumed => {}
        }
        Ok(())
    }

    /// Allows several threads at once if `level` asks for that. Returns the level that is given: a
    /// thread that has not joined the job cannot change how others call.
    fn allow_threads(&self, uses: &Uses, level: c_int) -> Result<c_int> {
        let process = self.process();
        if level != abi::MPI_THREAD_MULTIPLE || process.engine().is_threaded() {
            return Ok(level);
        }
        match uses.membership {
            Membership::Joined(thread, _) if thread == Thread::current() => {
                process.allow_threads()?;
                Ok(level)
            }
            _ => Ok(abi::MPI_THREAD_SERIALIZED),
        }
    }

    fn settle_stage(&self, uses: &Uses) {
        let stage = match uses.is_any() {
            true => Stage::Running,
            false => self.world_stage(),
        };
        self.stage.store(stage as u8, Ordering::SeqCst);
        if stage == Stage::Running {
            events::attach();
        }
    }
}

/// Leaves the job at the exit of a program that has used sessions.
extern "C" fn leave_at_exit() {
    // A thread that is in a call of MPI now uses MPI.
    let Some(mut uses) = USES.try_lock() else {
        return;
    };
    if uses.is_any() || matches!(LIBRARY.stage(), Stage::Forked | Stage::Ending) {
        return;
    }
    let membership = std::mem::replace(&mut uses.membership, Membership::Left);
    drop(uses);
    match membership {
        Membership::Joined(_, pid) if pid == std::process::id() => {
            if let Err(error) = LIBRARY.process().finalize("exit", false) {
                fail_at_exit(&error.into());
            }
        }
        Membership::Resumed => LIBRARY.process().pause(),
        _ => {}
    }
}

/// Ends the job: there is no call of the program that could return the error.
fn fail_at_exit(error: &Error) -> ! {
    LIBRARY.stage.store(Stage::Running as u8, Ordering::Release);
    let (place, class) = (LIBRARY.whereabouts(), codes::class_name(error.class()));
    let line = format!("MPI error {place} at exit: {error} [{class}]");
    LIBRARY.end_with(1, &line)
}
