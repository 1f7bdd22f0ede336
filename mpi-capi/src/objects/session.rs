//! Sessions. Source: MPI 5.0, 11.3.

use core::ffi::c_int;

use std::sync::Arc;

use mpi_lite::comm::Group;

use crate::abi::{self, Handle};
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::handle::Unusable;
use crate::objects::errhandler::Attached;
use crate::objects::info::InfoObject;
use crate::registry::{self, registered};

/// A session that was not finalized.
#[derive(Debug)]
pub struct SessionObject {
    /// The error handler in charge.
    pub errhandler: Attached,
    thread_level: c_int,
}

registered!(SessionObject: Session, counted, errhandler);

/// The session behind `handle`.
///
/// # Errors
/// The handle is null, foreign or finalized.
pub fn find(handle: Handle) -> core::result::Result<Arc<SessionObject>, Unusable> {
    match handle {
        abi::MPI_SESSION_NULL => Err(Unusable::Null("MPI_SESSION_NULL")),
        _ => registry::get(handle),
    }
}

impl SessionObject {
    /// A session with this error handler and level of threads.
    pub fn new(errhandler: Handle, thread_level: c_int) -> Self {
        Self {
            errhandler: Attached::new(errhandler),
            thread_level,
        }
    }

    /// The hints that are followed.
    pub fn info(&self) -> InfoObject {
        let mut info = InfoObject::default();
        let name = LEVELS.iter().find(|(level, _)| *level == self.thread_level);
        if let Some((_, name)) = name {
            info.set(THREAD_LEVEL, name).expect("both are short");
        }
        info
    }
}

/// The hint that asks for a level of threads.
const THREAD_LEVEL: &[u8] = b"thread_level";

/// Its values.
const LEVELS: [(c_int, &[u8]); 4] = [
    (abi::MPI_THREAD_SINGLE, b"MPI_THREAD_SINGLE"),
    (abi::MPI_THREAD_FUNNELED, b"MPI_THREAD_FUNNELED"),
    (abi::MPI_THREAD_SERIALIZED, b"MPI_THREAD_SERIALIZED"),
    (abi::MPI_THREAD_MULTIPLE, b"MPI_THREAD_MULTIPLE"),
];

/// The level of threads that the hints of a new session ask for; without one,
/// `MPI_THREAD_SINGLE`.
///
/// # Errors
/// `MPI_ERR_INFO_VALUE` if the hint names no level.
pub fn thread_level(hints: &InfoObject) -> Result<c_int> {
    let Some(asked) = hints.get(THREAD_LEVEL).ok().flatten() else {
        return Ok(abi::MPI_THREAD_SINGLE);
    };
    let known = LEVELS.iter().find(|(_, name)| *name == asked);
    let why = "the hint thread_level is not the name of a level of threads";
    let unknown = || Error::new(abi::MPI_ERR_INFO_VALUE, why);
    known.map(|(level, _)| *level).ok_or_else(unknown)
}

/// A set of processes that every process can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessSet {
    /// All of the job.
    World,
    /// The calling process.
    Own,
    /// Those of this machine.
    Node,
}

impl ProcessSet {
    /// All sets, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::World, Self::Own, Self::Node];

    /// The set of this name.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if there is none.
    pub fn named(name: &[u8]) -> Result<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|set| set.name().as_bytes().eq_ignore_ascii_case(name))
            .ok_or_else(|| Error::new(abi::MPI_ERR_ARG, "there is no process set of this name"))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::World => "mpi://WORLD",
            Self::Own => "mpi://SELF",
            Self::Node => "mpi-lite://NODE",
        }
    }

    /// Its processes, in the order of their ranks in the job.
    pub fn group(self) -> Group {
        let process = LIBRARY.process();
        let all = process.world().group();
        match self {
            Self::World => all.clone(),
            Self::Own => process.own().group().clone(),
            Self::Node => {
                let assignment = process.assignment();
                let here = assignment.hosts.get(assignment.rank as usize);
                let members = all.members().iter().zip(assignment.hosts.all());
                let local = members.filter(|(_, host)| Some(&***host) == here);
                Group::from_members(local.map(|(member, _)| *member).collect())
            }
        }
    }
}
