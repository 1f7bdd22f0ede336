//! The one static of the library: whether MPI runs, and the objects of the program.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, Ordering};
use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::attributes::Keyvals;
use crate::codes::Codes;
use crate::comm::CommObject;
use crate::entry::Symbol;
use crate::errhandler::ErrhandlerObject;
use crate::handle::{Kind, Table, Unusable};
use crate::info::InfoObject;

/// Where the program stands between `MPI_Init` and `MPI_Finalize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// `MPI_Init` was not called.
    Before,
    /// Between the two.
    Running,
    /// `MPI_Finalize` has returned.
    After,
}

/// What the program told of its Fortran compiler. Source: MPI 5.0, chapter 20.
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
}

/// Everything that outlives a call.
#[derive(Debug)]
pub struct Library {
    stage: AtomicU8,
    /// The symbol that was entered last: what a panic or a stuck report names.
    last: AtomicPtr<Symbol>,
    /// The rank in `MPI_COMM_WORLD`, or -1.
    rank: AtomicI32,
    /// The values of MPI's own attributes; programs get their addresses.
    attributes: Predefined,
    /// The moment from which `MPI_Wtime` counts.
    start: OnceLock<Instant>,
    /// `MPI_COMM_WORLD`.
    world: OnceLock<Arc<CommObject>>,
    /// `MPI_COMM_SELF`.
    own: OnceLock<Arc<CommObject>>,
    /// Communicators that the program made.
    pub comms: Mutex<Table<Arc<CommObject>>>,
    /// Info objects; MPI lets threads use them at any time.
    pub infos: Mutex<Table<InfoObject>>,
    /// Error classes and codes; MPI lets threads use them at any time.
    pub codes: Mutex<Codes>,
    /// Error handlers that the program made.
    pub errhandlers: Mutex<Table<ErrhandlerObject>>,
    /// Attribute keys.
    pub keyvals: Mutex<Keyvals>,
    /// What the program told of its Fortran compiler.
    pub fortran: Mutex<Fortran>,
}

/// The library's state. Everything else hangs on the `Process` in it.
pub static LIBRARY: Library = Library {
    stage: AtomicU8::new(Stage::Before as u8),
    last: AtomicPtr::new(core::ptr::null_mut()),
    rank: AtomicI32::new(-1),
    attributes: Predefined {
        tag_ub: AtomicI32::new(c_int::MAX),
        io: AtomicI32::new(abi::MPI_ANY_SOURCE),
        host: AtomicI32::new(abi::MPI_PROC_NULL),
        wtime_is_global: AtomicI32::new(0),
        last_used_code: AtomicI32::new(abi::MPI_ERR_LASTCODE),
        universe_size: AtomicI32::new(1),
    },
    start: OnceLock::new(),
    world: OnceLock::new(),
    own: OnceLock::new(),
    comms: Mutex::new(Table::new(Kind::Comm)),
    infos: Mutex::new(Table::new(Kind::Info)),
    codes: Mutex::new(Codes::new()),
    errhandlers: Mutex::new(Table::new(Kind::Errhandler)),
    keyvals: Mutex::new(Keyvals::new()),
    fortran: Mutex::new(Fortran {
        info: None,
        booleans: None,
    }),
};

impl Library {
    /// The stage now.
    #[inline]
    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::Before,
            1 => Stage::Running,
            _ => Stage::After,
        }
    }

    /// Notes the symbol that is entered.
    #[inline]
    pub fn enter(&self, symbol: &'static Symbol) {
        self.last
            .store(core::ptr::from_ref(symbol).cast_mut(), Ordering::Relaxed);
    }

    /// The communicator behind `handle`.
    ///
    /// # Errors
    /// The handle is null, foreign or freed.
    #[inline]
    pub fn comm(&self, handle: Handle) -> Result<Arc<CommObject>, Unusable> {
        let known = match handle {
            abi::MPI_COMM_WORLD => self.world.get(),
            abi::MPI_COMM_SELF => self.own.get(),
            abi::MPI_COMM_NULL => return Err(Unusable::Null("MPI_COMM_NULL")),
            _ => return self.comms.lock().get(handle).cloned(),
        };
        known.cloned().ok_or(Unusable::Foreign(handle))
    }

    /// The handle of an object of the program that was serialized as `int`.
    pub fn handle_of_int(&self, kind: Kind, int: c_int) -> Option<Handle> {
        match kind {
            Kind::Comm => self.comms.lock().find_int(int),
            Kind::Errhandler => self.errhandlers.lock().find_int(int),
            Kind::Info => self.infos.lock().find_int(int),
            _ => None,
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

    /// Seconds since the first call.
    pub fn seconds(&self) -> f64 {
        self.start.get_or_init(Instant::now).elapsed().as_secs_f64()
    }

    /// `on rank 1 (pid 4711, host n1)`, for the lines that tell of an error.
    pub fn whereabouts(&self) -> String {
        let host = String::from_utf8_lossy(&host_name()).into_owned();
        let place = format!("(pid {}, host {host})", std::process::id());
        match self.rank.load(Ordering::Relaxed) {
            -1 => place,
            rank => format!("on rank {rank} {place}"),
        }
    }

    /// Writes one line to standard error, in one piece so that ranks do not tear each other's.
    pub fn print(&self, line: &str) {
        // Nothing can be done if standard error is closed.
        let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
    }

    /// Ends the job, or this process where there is no job yet.
    pub fn abort(&self, code: c_int) -> ! {
        std::process::exit(code)
    }
}

/// This machine's name as the system tells it.
pub fn host_name() -> Vec<u8> {
    let name = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim_ascii();
    if name.is_empty() {
        b"localhost".to_vec()
    } else {
        name.to_vec()
    }
}
