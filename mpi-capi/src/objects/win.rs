//! Windows of C: mpi-lite's, and what C attaches to them.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ops::Deref;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicUsize, Ordering};
use std::sync::Arc;

use mpi_lite::ids::Context;
use mpi_lite::rma::{self, Flavor};
use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::args::OutAttribute;
use crate::error::{Error, Result};
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

    /// Frees the window for all its processes, after the attributes. If that fails, it stays.
    ///
    /// # Errors
    /// What a delete function returns; `MPI_ERR_RMA_SYNC`: an epoch is open.
    pub fn free(&self) -> Result<()> {
        let lite = self.lite()?;
        lite.check_free()?;
        self.attributes.delete_all(self.handle())?;
        lite.clone().free()?;
        self.is_gone.store(true, Ordering::Relaxed);
        registry::remove::<Arc<Self>>(self.handle()).ok();
        Ok(())
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
            false => format!("window \"{}\"", String::from_utf8_lossy(&name)),
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

/// Windows that a thread keeps at hand.
const KEPT: usize = 8;

thread_local! {
    /// The windows that this thread has used last, by the low bits of their handles' places. So a
    /// call takes no lock and counts no reference: that alone would take longer than a put into
    /// shared memory. A window that another thread frees lives on here until the thread uses
    /// another one of the same place.
    static AT_HAND: [Cell<Option<Arc<WinObject>>>; KEPT] =
        const { [const { Cell::new(None) }; KEPT] };
}

fn place_of(handle: Handle) -> usize {
    Key::of_any(handle).index as usize % KEPT
}

/// A window in use by a call, there until dropped. Then the thread keeps it at hand.
#[derive(Debug)]
pub struct WinRef(Option<Arc<WinObject>>);

/// The window behind `handle`.
///
/// # Errors
/// The handle is foreign or freed.
#[inline(always)]
pub fn find(handle: Handle) -> core::result::Result<WinRef, Unusable> {
    let kept = AT_HAND.try_with(|kept| kept[place_of(handle)].take());
    match kept.ok().flatten() {
        Some(object) if object.handle() == handle && !object.is_gone() => Ok(WinRef(Some(object))),
        other => look_up(handle, other),
    }
}

#[cold]
#[inline(never)]
fn look_up(
    handle: Handle,
    _other: Option<Arc<WinObject>>,
) -> core::result::Result<WinRef, Unusable> {
    registry::get(handle).map(|object| WinRef(Some(object)))
}

impl Deref for WinRef {
    type Target = WinObject;

    #[inline(always)]
    fn deref(&self) -> &WinObject {
        self.0.as_deref().expect("there until dropped")
    }
}

impl Drop for WinRef {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            keep(object);
        }
    }
}

/// Keeps a window at hand, unless it is gone; a callback may have put another one there.
#[inline(always)]
fn keep(object: Arc<WinObject>) {
    if object.is_gone() {
        return release(Some(object));
    }
    let place = place_of(object.handle());
    if let Ok(Some(other)) = AT_HAND.try_with(|kept| kept[place].replace(Some(object))) {
        release(Some(other));
    }
}

#[cold]
#[inline(never)]
fn release(_object: Option<Arc<WinObject>>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_another_thread_has_freed_is_not_found_at_hand() {
        let object = Arc::new(WinObject::default());
        let handle = registry::insert(Arc::clone(&object));
        object.handle.store(handle.0, Ordering::Relaxed);
        for _ in 0..2 {
            let found = find(handle).expect("it exists");
            assert_eq!(found.handle(), handle);
            // While one call has it, another one of the same thread finds it too.
            assert_eq!(find(handle).expect("it exists").handle(), handle);
        }
        assert_eq!(
            Arc::strong_count(&object),
            3,
            "the table, this test, this thread"
        );
        let freed = std::thread::spawn(move || {
            let object: Arc<WinObject> = registry::remove(handle).expect("it exists");
            object.is_gone.store(true, Ordering::Relaxed);
        });
        freed.join().expect("it does not panic");
        assert_eq!(find(handle).unwrap_err(), Unusable::Freed(handle));
        assert_eq!(Arc::strong_count(&object), 1, "nobody keeps it any more");
    }
}
