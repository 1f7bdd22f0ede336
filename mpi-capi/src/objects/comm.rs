//! Communicators of C: mpi-lite's, and what C attaches to them.

use core::ops::Deref;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mpi_lite::comm::Communicator;
use mpi_lite::ids::Context;
use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::error::Result;
use crate::global::LIBRARY;
use crate::handle::{Kind, Unusable};
use crate::objects::attributes::Attributes;
use crate::objects::errhandler::Attached;
use crate::registry::{self, Registered, registered};

/// A communicator behind a handle.
#[derive(Debug)]
pub struct CommObject {
    /// What the communicator does.
    pub lite: Communicator,
    handle: AtomicUsize,
    /// The error handler in charge.
    pub errhandler: Attached,
    /// The call that made it, and the context of the communicator that it was made from; none of
    /// those that every process has.
    made: Option<(&'static str, Context)>,
    /// The name that `MPI_Comm_get_name` returns.
    pub name: Mutex<Vec<u8>>,
    /// What the program caches with it.
    pub attributes: Attributes,
}

registered!(CommObject: Comm, counted, errhandler);

impl CommObject {
    /// One of the communicators that every process has.
    pub fn predefined(lite: Communicator, handle: Handle, name: &str) -> Self {
        let object = Self::new(lite, abi::MPI_ERRORS_ARE_FATAL, (name, None));
        object.handle.store(handle.0, Ordering::Relaxed);
        object
    }

    fn new(
        lite: Communicator,
        errhandler: Handle,
        (name, made): (&str, Option<(&'static str, Context)>),
    ) -> Self {
        Self {
            lite,
            handle: AtomicUsize::new(abi::MPI_COMM_NULL.0),
            errhandler: Attached::new(errhandler),
            made,
            name: Mutex::new(name.as_bytes().to_vec()),
            attributes: Attributes::new(Kind::Comm),
        }
    }

    /// Gives a handle to a communicator made from this one; it inherits the error handler.
    pub fn register(&self, lite: Communicator) -> Handle {
        let made = LIBRARY.last().called();
        let made = made.map(|symbol| (symbol.name, self.lite.context()));
        Self::new(lite, self.errhandler.get(), ("", made)).named()
    }

    /// Starts to duplicate this communicator. Copies its attributes now, and gives the handle to
    /// `place` when the communicator is there.
    ///
    /// # Errors
    /// What a copy function of an attribute returns: nothing was started.
    pub fn start_dup(
        comm: CommRef,
        place: impl FnOnce(Handle) + Send + 'static,
    ) -> Result<mpi_lite::engine::Request> {
        let attributes = Attributes::new(Kind::Comm);
        attributes.copy_from(&comm.attributes, comm.handle())?;
        let made = LIBRARY.last().called();
        let made = made.map(|symbol| (symbol.name, comm.lite.context()));
        let lite = comm.lite.clone();
        Ok(lite.idup(move |lite| {
            let mut object = Self::new(lite, comm.errhandler.get(), ("", made));
            object.attributes = attributes;
            place(object.named());
        }))
    }

    /// Gives a handle to a communicator that was made without another one.
    pub fn register_first(lite: Communicator, errhandler: Handle) -> Handle {
        Self::new(lite, errhandler, ("", None)).named()
    }

    /// Gives it a handle.
    fn named(self) -> Handle {
        let object = Arc::new(self);
        let handle = registry::insert(Arc::clone(&object));
        object.handle.store(handle.0, Ordering::Relaxed);
        handle
    }

    /// The call that made it, and the context of the communicator that it was made from.
    pub fn made(&self) -> Option<(&'static str, Context)> {
        self.made
    }

    /// The handle in the program.
    pub fn handle(&self) -> Handle {
        Handle(self.handle.load(Ordering::Relaxed))
    }

    /// Returns true if MPI made it and only MPI may free it.
    pub fn is_predefined(&self) -> bool {
        [abi::MPI_COMM_WORLD, abi::MPI_COMM_SELF].contains(&self.handle())
    }
}

/// `MPI_COMM_WORLD` and `MPI_COMM_SELF`, from `MPI_Init` on.
static WORLD: OnceLock<CommObject> = OnceLock::new();
static OWN: OnceLock<CommObject> = OnceLock::new();

/// Begins the world model. Returns false if that was done before.
pub fn begin_world(world: CommObject, own: CommObject) -> bool {
    WORLD.set(world).is_ok() && OWN.set(own).is_ok()
}

/// The communicator behind `handle`.
///
/// # Errors
/// The handle is null, foreign or freed.
#[inline(always)]
pub fn find(handle: Handle) -> core::result::Result<CommRef, Unusable> {
    let known = match handle {
        abi::MPI_COMM_WORLD => WORLD.get(),
        abi::MPI_COMM_SELF => OWN.get(),
        abi::MPI_COMM_NULL => return Err(Unusable::Null("MPI_COMM_NULL")),
        _ => return made(handle),
    };
    known
        .map(CommRef::Predefined)
        .ok_or_else(|| Unusable::OfWorld(abi::name_of(handle).unwrap_or_default()))
}

#[inline(never)]
fn made(handle: Handle) -> core::result::Result<CommRef, Unusable> {
    registry::get(handle).map(|object| CommRef::Made(Some(object)))
}

/// The communicators that every process has; `MPI_COMM_SELF` first, as it ends first.
pub fn predefined<'a>() -> impl Iterator<Item = &'a CommObject> {
    [&OWN, &WORLD].into_iter().filter_map(OnceLock::get)
}

/// The handle of the communicator whose messages have `context`, if it was not freed.
pub fn of_context(context: Context) -> Option<Handle> {
    let comms = <Arc<CommObject>>::table().lock();
    let made = comms.iter().map(|(_, object)| &**object);
    let mut all = predefined().chain(made);
    let owner = all.find(|object| object.lite.context() == context);
    owner.map(CommObject::handle)
}

/// A communicator in use by a call.
#[derive(Debug, Clone)]
pub enum CommRef {
    /// One that every process has, for as long as the process lives.
    Predefined(&'static CommObject),
    /// One that the program made; another thread may free it meanwhile. There until dropped.
    Made(Option<Arc<CommObject>>),
}

impl Deref for CommRef {
    type Target = CommObject;

    #[inline]
    fn deref(&self) -> &CommObject {
        match self {
            Self::Predefined(object) => object,
            Self::Made(object) => object.as_deref().expect("there until dropped"),
        }
    }
}

impl Drop for CommRef {
    /// Hands the counted reference over by value: so the whole lives in registers.
    #[inline(always)]
    fn drop(&mut self) {
        if let Self::Made(object) = self {
            release(object.take());
        }
    }
}

#[inline(never)]
fn release(_object: Option<Arc<CommObject>>) {}
