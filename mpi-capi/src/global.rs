//! The one static of the library: whether MPI runs, and the objects of the program.
#![expect(
    unsafe_code,
    reason = "the last symbol is kept as an address; libc is called"
)]

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, Ordering};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use mpi_lite::boot::state::FailedCall;
use mpi_lite::comm::Group;
use mpi_lite::data::{self, Basic};
use mpi_lite::ids::Context;
use mpi_lite::world::Process;
use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::attributes::{Attributes, Keyvals};
use crate::codes::Codes;
use crate::comm::{CommObject, CommRef};
use crate::entry::Symbol;
use crate::errhandler::{ErrhandlerObject, FileDefault};
use crate::events::Events;
use crate::generalized::Generalized;
use crate::handle::{Key, Kind, Table, Unusable};
use crate::info::InfoObject;
use crate::lifetime::Uses;
use crate::panic::Callback;
use crate::raise::Handlings;
use crate::record::Last;
use crate::session::SessionObject;
use crate::stack;
use crate::stdio;
use crate::types::{Made, TypeObject};
use crate::variables::Tools;

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

/// What the program has set for its Fortran compiler. Source: MPI 5.0, chapter 20.
#[derive(Debug, Default)]
pub struct Fortran {
    /// Sizes and optional types.
    pub info: Option<InfoObject>,
    /// The bytes of true and of false.
    pub booleans: Option<(Vec<u8>, Vec<u8>)>,
}

/// The values of MPI's own attributes. Source: MPI 5.0, 9.1.2.
#[derive(Debug)]
struct Predefined {
    tag_ub: AtomicI32,
    io: AtomicI32,
    host: AtomicI32,
    wtime_is_global: AtomicI32,
    last_used_code: AtomicI32,
    universe_size: AtomicI32,
    /// Negative if it is not set.
    appnum: AtomicI32,
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

/// Everything that outlives a call.
#[derive(Debug)]
pub struct Library {
    pub(crate) stage: AtomicU8,
    /// What uses MPI in this process.
    pub(crate) uses: Mutex<Uses>,
    /// The stage of the world model.
    pub(crate) world_stage: AtomicU8,
    /// What was entered last: what a panic or the report of a job that hangs names.
    last: Last,
    /// The call that has returned an error last, for the report of a job that hangs.
    pub failed_call: Mutex<Option<FailedCall>>,
    /// The reduction that was entered last: it may call an operator of the program.
    reduction: AtomicPtr<Symbol>,
    /// The function of the program that runs inside that call, from 1: `Callback`; 0 for none.
    pub callback: AtomicU8,
    /// The process, from the first initialization on.
    pub(crate) process: OnceLock<Process>,
    /// The thread that aborts the job, and the exit status of this process.
    pub(crate) ending: OnceLock<(Thread, c_int)>,
    /// The thread that called `MPI_Init`, and the level of threads it was given.
    pub threads: OnceLock<(Thread, c_int)>,
    /// The values of MPI's own attributes; programs get their addresses.
    attributes: Predefined,
    /// The moment from which `MPI_Wtime` counts.
    start: OnceLock<Instant>,
    /// `MPI_COMM_WORLD`.
    pub(crate) world: OnceLock<CommObject>,
    /// `MPI_COMM_SELF`.
    pub(crate) own: OnceLock<CommObject>,
    /// Communicators that the program made.
    pub comms: Mutex<Table<Arc<CommObject>>>,
    /// The predefined datatypes by handle, less `MPI_DATATYPE_NULL`.
    basics: OnceLock<Vec<Option<Option<data::Datatype>>>>,
    /// Datatypes that the program made.
    pub types: Mutex<Table<TypeObject>>,
    /// Attributes of predefined datatypes.
    pub basic_attributes: Mutex<Vec<(Handle, Arc<Attributes>)>>,
    /// Names that the program gave to predefined datatypes.
    pub basic_names: Mutex<Vec<(Handle, Vec<u8>)>>,
    /// Operators that the program made.
    pub ops: Mutex<Table<data::Op>>,
    /// Groups.
    pub groups: Mutex<Table<Group>>,
    /// Requests and messages that were turned into integers.
    pub serialized: Mutex<Vec<Handle>>,
    /// The functions of generalized requests.
    pub generalized: Mutex<Vec<(Handle, Generalized)>>,
    /// Sessions.
    pub sessions: Mutex<Table<Arc<SessionObject>>>,
    /// The error handler of `MPI_FILE_NULL`.
    pub file_errhandler: FileDefault,
    /// Info objects; MPI lets threads use them at any time.
    pub infos: Mutex<Table<InfoObject>>,
    /// Error classes and codes; MPI lets threads use them at any time.
    pub codes: Mutex<Codes>,
    /// Error handlers that the program made.
    pub errhandlers: Mutex<Table<ErrhandlerObject>>,
    /// The errors that handlers of the program are handling.
    pub handling: Handlings,
    /// The functions without a body that were called: a line was printed of each.
    pub missing: Mutex<BTreeSet<&'static str>>,
    /// Attribute keys.
    pub keyvals: Mutex<Keyvals>,
    /// What the program has set for its Fortran compiler.
    pub fortran: Mutex<Fortran>,
    /// What tools have asked for.
    pub tools: Mutex<Tools>,
    /// What tools watch.
    pub events: Events,
}

/// The library's state. Everything else hangs on the `Process` in it.
pub static LIBRARY: Library = Library {
    stage: AtomicU8::new(Stage::Before as u8),
    uses: Mutex::new(Uses::NONE),
    world_stage: AtomicU8::new(Stage::Before as u8),
    last: Last::nothing(),
    failed_call: Mutex::new(None),
    reduction: AtomicPtr::new(core::ptr::null_mut()),
    callback: AtomicU8::new(0),
    process: OnceLock::new(),
    ending: OnceLock::new(),
    threads: OnceLock::new(),
    attributes: Predefined {
        tag_ub: AtomicI32::new(c_int::MAX),
        io: AtomicI32::new(abi::MPI_ANY_SOURCE),
        host: AtomicI32::new(abi::MPI_PROC_NULL),
        wtime_is_global: AtomicI32::new(0),
        last_used_code: AtomicI32::new(abi::MPI_ERR_LASTCODE),
        universe_size: AtomicI32::new(1),
        appnum: AtomicI32::new(-1),
    },
    start: OnceLock::new(),
    world: OnceLock::new(),
    own: OnceLock::new(),
    comms: Mutex::new(Table::new(Kind::Comm)),
    basics: OnceLock::new(),
    types: Mutex::new(Table::new(Kind::Datatype)),
    basic_attributes: Mutex::new(Vec::new()),
    basic_names: Mutex::new(Vec::new()),
    ops: Mutex::new(Table::new(Kind::Op)),
    groups: Mutex::new(Table::new(Kind::Group)),
    serialized: Mutex::new(Vec::new()),
    generalized: Mutex::new(Vec::new()),
    sessions: Mutex::new(Table::new(Kind::Session)),
    file_errhandler: FileDefault::initial(),
    infos: Mutex::new(Table::new(Kind::Info)),
    codes: Mutex::new(Codes::new()),
    errhandlers: Mutex::new(Table::new(Kind::Errhandler)),
    handling: Handlings::new(),
    missing: Mutex::new(BTreeSet::new()),
    keyvals: Mutex::new(Keyvals::new()),
    fortran: Mutex::new(Fortran {
        info: None,
        booleans: None,
    }),
    tools: Mutex::new(Tools::UNUSED),
    events: Events::unwatched(),
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
        let runs = self.callback.load(Ordering::Relaxed) == Callback::Operator as u8 + 1;
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

    /// The communicator behind `handle`.
    ///
    /// # Errors
    /// The handle is null, foreign or freed.
    #[inline(always)]
    pub fn comm(&'static self, handle: Handle) -> Result<CommRef, Unusable> {
        let known = match handle {
            abi::MPI_COMM_WORLD => self.world.get(),
            abi::MPI_COMM_SELF => self.own.get(),
            abi::MPI_COMM_NULL => return Err(Unusable::Null("MPI_COMM_NULL")),
            _ => return self.made_comm(handle),
        };
        known
            .map(CommRef::Predefined)
            .ok_or_else(|| Unusable::OfWorld(abi::name_of(handle).unwrap_or_default()))
    }

    #[inline(never)]
    fn made_comm(&self, handle: Handle) -> Result<CommRef, Unusable> {
        let comms = self.comms.lock();
        let object = comms.get(handle)?;
        Ok(CommRef::Made(Some(Arc::clone(object))))
    }

    /// The session behind `handle`.
    ///
    /// # Errors
    /// The handle is null, foreign or finalized.
    pub fn session(&self, handle: Handle) -> Result<Arc<SessionObject>, Unusable> {
        match handle {
            abi::MPI_SESSION_NULL => Err(Unusable::Null("MPI_SESSION_NULL")),
            _ => self.sessions.lock().get(handle).map(Arc::clone),
        }
    }

    /// Notes how many processes there are, for `MPI_UNIVERSE_SIZE`.
    pub(crate) fn note_size(&self, size: c_int) {
        self.attributes.universe_size.store(size, Ordering::Relaxed);
    }

    /// Notes the number of the process's program among those of the job, for `MPI_APPNUM`. Source:
    /// MPI 5.0, 11.10.3.
    pub(crate) fn note_appnum(&self, appnum: Option<u32>) {
        let appnum = appnum.and_then(|appnum| c_int::try_from(appnum).ok());
        let appnum = appnum.unwrap_or(-1);
        self.attributes.appnum.store(appnum, Ordering::Relaxed);
    }

    /// The communicators that every process has.
    pub fn predefined(&self) -> [&OnceLock<CommObject>; 2] {
        [&self.world, &self.own]
    }

    /// The handle of the communicator whose messages have `context`, if it was not freed.
    pub fn comm_of(&self, context: Context) -> Option<Handle> {
        let predefined = self.predefined().map(OnceLock::get);
        let comms = self.comms.lock();
        let made = comms.iter().map(|(_, object)| &**object);
        let mut all = predefined.into_iter().flatten().chain(made);
        let owner = all.find(|object| object.lite.context() == context);
        owner.map(CommObject::handle)
    }

    /// The integer that serializes the handle of an object of the program.
    pub fn int_of_handle(&self, kind: Kind, handle: Handle) -> Option<c_int> {
        let int = Key::of(handle, kind).and_then(Key::to_int)?;
        if matches!(kind, Kind::Request | Kind::Message) {
            // Their table is mpi-lite's and has whole keys only: the way back is kept here.
            let mut serialized = self.serialized.lock();
            serialized.retain(|known| Key::of(*known, kind).and_then(Key::to_int) != Some(int));
            serialized.push(handle);
        }
        Some(int)
    }

    /// The handle of an object of the program that was serialized as `int`.
    pub fn handle_of_int(&self, kind: Kind, int: c_int) -> Option<Handle> {
        match kind {
            Kind::Comm => self.comms.lock().find_int(int),
            Kind::Errhandler => self.errhandlers.lock().find_int(int),
            Kind::Info => self.infos.lock().find_int(int),
            Kind::Datatype => self.types.lock().find_int(int),
            Kind::Op => self.ops.lock().find_int(int),
            Kind::Group => self.groups.lock().find_int(int),
            Kind::Session => self.sessions.lock().find_int(int),
            Kind::Request | Kind::Message => {
                let serialized = self.serialized.lock();
                let is_it =
                    |handle: &&Handle| Key::of(**handle, kind).and_then(Key::to_int) == Some(int);
                serialized.iter().find(is_it).copied()
            }
            // MPI has no integers for handles of tools.
            Kind::CvarHandle
            | Kind::PvarHandle
            | Kind::PvarSession
            | Kind::EventRegistration
            | Kind::EventInstance => None,
        }
    }

    /// The address of the value of one of MPI's own attributes, if `key` is one that is set.
    pub fn predefined_attribute(&self, key: c_int) -> Option<*mut c_int> {
        let attributes = &self.attributes;
        let value = match key {
            abi::MPI_TAG_UB => &attributes.tag_ub,
            abi::MPI_IO => &attributes.io,
            abi::MPI_HOST => &attributes.host,
            abi::MPI_WTIME_IS_GLOBAL => &attributes.wtime_is_global,
            abi::MPI_UNIVERSE_SIZE => &attributes.universe_size,
            abi::MPI_APPNUM if attributes.appnum.load(Ordering::Relaxed) >= 0 => &attributes.appnum,
            abi::MPI_LASTUSEDCODE => {
                attributes
                    .last_used_code
                    .store(self.codes.lock().last_used(), Ordering::Relaxed);
                &attributes.last_used_code
            }
            _ => return None,
        };
        Some(value.as_ptr())
    }

    /// The predefined datatype behind a reserved handle; `None` if we do not support it.
    ///
    /// # Errors
    /// The handle is no datatype.
    #[inline(always)]
    pub fn basic(
        &'static self,
        handle: Handle,
    ) -> Result<Option<&'static data::Datatype>, Unusable> {
        let place = handle.0.wrapping_sub(abi::MPI_DATATYPE_NULL.0 + 1);
        match self.basics.get_or_init(basics).get(place) {
            Some(Some(known)) => Ok(known.as_ref()),
            _ if handle == abi::MPI_DATATYPE_NULL => Err(Unusable::Null("MPI_DATATYPE_NULL")),
            _ => Err(Unusable::Foreign(handle)),
        }
    }

    /// A datatype that the program made.
    ///
    /// # Errors
    /// The handle is foreign or freed.
    #[inline(never)]
    pub fn made_type(&self, handle: Handle) -> Result<Arc<Made>, Unusable> {
        let types = self.types.lock();
        types.get(handle).map(|object| Arc::clone(&object.made))
    }

    /// The handle of a datatype in the program.
    pub fn handle_of_type(&self, datatype: &data::Datatype) -> Handle {
        let known = match datatype {
            data::Datatype::Basic(basic) => abi::CONSTANTS
                .iter()
                .find(|constant| constant.name == basic.name())
                .map(|constant| Handle(constant.value as usize)),
            data::Datatype::Derived(_) => {
                let types = self.types.lock();
                let it = types
                    .iter()
                    .find(|(_, object)| object.made.lite.is_same(datatype));
                it.map(|(handle, _)| handle)
            }
        };
        known.unwrap_or(abi::MPI_DATATYPE_NULL)
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

/// The predefined datatypes by their place after `MPI_DATATYPE_NULL`.
fn basics() -> Vec<Option<Option<data::Datatype>>> {
    let first = abi::MPI_DATATYPE_NULL.0 as i64 + 1;
    let mut places = Vec::new();
    for constant in abi::CONSTANTS
        .iter()
        .filter(|it| it.is_handle && it.value >= first)
    {
        let place = (constant.value - first) as usize;
        if places.len() <= place {
            places.resize(place + 1, None);
        }
        // Of a datatype with two names, mpi-lite has one.
        let known = places[place].take().flatten();
        let named = || Basic::named(constant.name).map(data::Datatype::Basic);
        places[place] = Some(known.or_else(named));
    }
    places
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
