//! Windows of C: mpi-lite's, and what C attaches to them.
#![expect(
    unsafe_code,
    reason = "a call finds its window without counting a reference"
)]

use core::ffi::{c_int, c_void};
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicUsize, Ordering};
use std::sync::Arc;

use mpi_lite::ids::Context;
use mpi_lite::rma::{self, Flavor};
use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::args::OutAttribute;
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::handle::{Key, Kind, Unusable};
use crate::objects::attributes::Attributes;
use crate::objects::errhandler::Attached;
use crate::registry::{self, Registered, registered};

/// A window behind a handle. Source: MPI 5.0, chapter 12.
#[derive(Debug)]
pub struct WinObject {
    /// The error handler in charge.
    pub errhandler: Attached,
    /// The name that `MPI_Win_get_name` returns.
    pub name: Mutex<Vec<u8>>,
    /// What the program caches with it.
    pub attributes: Attributes,
    /// What the window does; nothing in unit tests.
    lite: Option<rma::Window>,
    handle: AtomicUsize,
    /// It was freed; a call of another thread may still have it.
    is_gone: AtomicBool,
    /// The values of MPI's own attributes, whose addresses the program gets.
    size: AtomicI64,
    unit: AtomicI32,
    flavor: AtomicI32,
    model: AtomicI32,
}

/// Its errors are fatal at first. Source: MPI 5.0, 9.3.
impl Default for WinObject {
    fn default() -> Self {
        Self {
            errhandler: Attached::new(abi::MPI_ERRORS_ARE_FATAL),
            name: Mutex::default(),
            attributes: Attributes::new(Kind::Win),
            lite: None,
            handle: AtomicUsize::new(abi::MPI_WIN_NULL.0),
            is_gone: AtomicBool::new(false),
            size: AtomicI64::new(0),
            unit: AtomicI32::new(1),
            flavor: AtomicI32::new(abi::MPI_WIN_FLAVOR_CREATE),
            model: AtomicI32::new(abi::MPI_WIN_UNIFIED),
        }
    }
}

registered!(WinObject: Win, counted, errhandler);

impl WinObject {
    /// Gives a handle to a window.
    pub fn register(lite: rma::Window) -> Handle {
        let flavor = match lite.flavor() {
            Flavor::Create => abi::MPI_WIN_FLAVOR_CREATE,
            Flavor::Allocate => abi::MPI_WIN_FLAVOR_ALLOCATE,
            Flavor::Shared => abi::MPI_WIN_FLAVOR_SHARED,
            Flavor::Dynamic => abi::MPI_WIN_FLAVOR_DYNAMIC,
        };
        let object = Arc::new(Self {
            size: AtomicI64::new(lite.size().cast_signed()),
            unit: AtomicI32::new(lite.unit().cast_signed()),
            flavor: AtomicI32::new(flavor),
            lite: Some(lite),
            ..Self::default()
        });
        let handle = registry::insert(Arc::clone(&object));
        object.handle.store(handle.0, Ordering::Relaxed);
        object.keep_at_hand();
        handle
    }

    /// The handle in the program.
    pub fn handle(&self) -> Handle {
        Handle(self.handle.load(Ordering::Relaxed))
    }

    /// What the window does.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`: another thread has freed it.
    #[inline(always)]
    pub fn lite(&self) -> Result<&rma::Window> {
        let lite = self.lite.as_ref().filter(|_| !self.is_gone());
        lite.ok_or_else(|| Error::new(abi::MPI_ERR_WIN, "the window was freed by another thread"))
    }

    #[inline(always)]
    fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// Frees the window for all its processes, after the attributes. Returns how its last
    /// operations ended.
    ///
    /// # Errors
    /// The window stays: what a delete function returns; `MPI_ERR_RMA_SYNC`: an epoch is open.
    pub fn free(&self) -> Result<Result<()>> {
        let lite = self.lite()?;
        lite.check_free()?;
        self.attributes.delete_all(self.handle())?;
        let ended = lite.clone().free();
        self.is_gone.store(true, Ordering::Relaxed);
        self.take_from_hand();
        if ended.is_ok() {
            // Otherwise its error handler is still to be found.
            registry::remove::<Arc<Self>>(self.handle()).ok();
        }
        Ok(ended.map_err(Into::into))
    }

    /// The value of one of MPI's own attributes, if `key` is one. Source: MPI 5.0, 12.2.6.
    ///
    /// # Errors
    /// As [`WinObject::lite`].
    pub fn own_attribute(&self, key: c_int, place: OutAttribute) -> Result<Option<*mut c_void>> {
        let value = match key {
            abi::MPI_WIN_BASE => self.lite()?.base().cast(),
            abi::MPI_WIN_SIZE => self.size.as_ptr().cast(),
            abi::MPI_WIN_DISP_UNIT => self.unit.as_ptr().cast(),
            abi::MPI_WIN_CREATE_FLAVOR => place.of_library(key, self.flavor.as_ptr()),
            abi::MPI_WIN_MODEL => place.of_library(key, self.model.as_ptr()),
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// The context of its messages, and what it is called in a report; nothing if another thread
    /// is busy with the name.
    pub fn described(&self) -> Option<(Context, String)> {
        let context = self.lite.as_ref()?.communicator().context();
        let name = self.name.try_lock()?;
        let name = match name.is_empty() {
            true => format!("window {}", context.0),
            false => format!("window {}", String::from_utf8_lossy(&name)),
        };
        Some((context, name))
    }
}

/// The handle of the window whose operations have `context`, if it was not freed.
pub fn of_context(context: Context) -> Option<Handle> {
    let windows = <Arc<WinObject>>::table().lock();
    let is_it = |object: &WinObject| {
        let lite = object.lite.as_ref();
        lite.is_some_and(|lite| lite.communicator().context() == context)
    };
    let found = windows.iter().find(|(_, object)| is_it(object));
    found.map(|(handle, _)| handle)
}

/// Windows that calls find without a lock.
const QUICK: usize = 64;

/// The windows by the places of their handles, the first ones, unless several threads may call at
/// once. A lookup in the registry takes a lock and counts a reference: that alone would take longer
/// than a put into shared memory.
static AT_HAND: [AtomicPtr<WinObject>; QUICK] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; QUICK];

fn place_of(handle: Handle) -> Option<&'static AtomicPtr<WinObject>> {
    AT_HAND.get(Key::of_any(handle).index as usize)
}

impl WinObject {
    /// Lets calls find it without a lock, if only one thread calls at a time.
    fn keep_at_hand(self: &Arc<Self>) {
        let level = LIBRARY.threads.get().map(|(_, level)| *level);
        let is_shared = level.is_none_or(|level| level >= abi::MPI_THREAD_MULTIPLE);
        if let Some(place) = place_of(self.handle()).filter(|_| !is_shared) {
            place.store(Arc::as_ptr(self).cast_mut(), Ordering::Release);
        }
    }

    /// Nobody finds it without a lock any more.
    fn take_from_hand(&self) {
        if let Some(place) = place_of(self.handle())
            && core::ptr::eq(place.load(Ordering::Acquire), self)
        {
            place.store(core::ptr::null_mut(), Ordering::Release);
        }
    }
}

/// A window in use by a call, there until dropped.
#[derive(Debug)]
pub enum WinRef {
    /// Counted.
    Owned(Arc<WinObject>),
    /// At hand, and not freed before the call is over.
    AtHand(NonNull<WinObject>),
}

/// The window behind `handle`.
///
/// # Errors
/// The handle is foreign or freed.
pub fn find(handle: Handle) -> core::result::Result<WinRef, Unusable> {
    registry::get(handle).map(WinRef::Owned)
}

/// The same, for a call that calls no function of the program, which could free the window.
///
/// # Errors
/// As [`find`].
#[inline(always)]
pub fn find_quickly(handle: Handle) -> core::result::Result<WinRef, Unusable> {
    if let Some(place) = place_of(handle)
        && let Some(object) = NonNull::new(place.load(Ordering::Acquire))
    {
        // SAFETY: it is at hand, so it was not freed; the program promised that no other thread
        // does so now.
        let is_it = unsafe { object.as_ref() }.handle() == handle;
        if is_it {
            return Ok(WinRef::AtHand(object));
        }
    }
    find_slowly(handle)
}

#[cold]
fn find_slowly(handle: Handle) -> core::result::Result<WinRef, Unusable> {
    find(handle)
}

impl Deref for WinRef {
    type Target = WinObject;

    #[inline(always)]
    fn deref(&self) -> &WinObject {
        match self {
            Self::Owned(object) => object,
            // SAFETY: only a call that frees no window has it, and no other thread calls meanwhile.
            Self::AtHand(object) => unsafe { object.as_ref() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_was_freed_is_not_found_at_hand() {
        let object = Arc::new(WinObject::default());
        let handle = registry::insert(Arc::clone(&object));
        object.handle.store(handle.0, Ordering::Relaxed);
        let place = place_of(handle).expect("few windows");
        place.store(Arc::as_ptr(&object).cast_mut(), Ordering::Release);
        let found = find_quickly(handle).expect("it exists");
        assert!(matches!(found, WinRef::AtHand(_)) && found.handle() == handle);
        let foreign = Handle(handle.0 + 1);
        assert_eq!(find_quickly(foreign).unwrap_err(), Unusable::Freed(foreign));
        object.take_from_hand();
        assert!(matches!(find_quickly(handle), Ok(WinRef::Owned(_))));
        registry::remove::<Arc<WinObject>>(handle).expect("it exists");
        assert_eq!(find_quickly(handle).unwrap_err(), Unusable::Freed(handle));
    }
}
