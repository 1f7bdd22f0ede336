//! What happens when the program forks. Source: `pthread_atfork(3)`.
#![expect(unsafe_code, reason = "functions are registered with the C library")]

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use mpi_lite::engine::Engine;
use mpi_lite::node::{Fork, Node};

use crate::global::{LIBRARY, Stage};

/// The fork that is under way.
struct UnderWay(UnsafeCell<Option<Fork<'static>>>);

// SAFETY: only the handlers touch it. Those of one fork run in the thread that forks, and those of
// two forks do not mix: a `Fork` has a lock from the first handler to the last.
unsafe impl Sync for UnderWay {}

static UNDER_WAY: UnderWay = UnderWay(UnsafeCell::new(None));

/// The node, if its ranks share memory. Handlers do not wait for a lane.
static NODE: OnceLock<Arc<Node>> = OnceLock::new();

/// Sees to all forks from now on.
pub(crate) fn watch(engine: &Engine) {
    if let Some(node) = engine.with(|lane| lane.node()) {
        let _ = NODE.set(node);
    }
    // SAFETY: the handlers do what is allowed around a fork: they map memory, copy it, and store to
    // an atomic. Without memory for them a misuse goes unnoticed, and a child shares windows.
    unsafe { libc::pthread_atfork(Some(prepare), Some(end_in_parent), Some(end_in_child)) };
}

fn under_way() -> *mut Option<Fork<'static>> {
    UNDER_WAY.0.get()
}

extern "C" fn prepare() {
    if let Some(node) = NODE.get() {
        let fork = node.lending().fork();
        // SAFETY: see `UnderWay`.
        unsafe { *under_way() = Some(fork) };
    }
}

extern "C" fn end_in_parent() {
    // SAFETY: see `UnderWay`.
    if let Some(fork) = unsafe { (*under_way()).as_ref() } {
        fork.await_child();
    }
    // SAFETY: as above.
    unsafe { *under_way() = None };
}

extern "C" fn end_in_child() {
    // SAFETY: see `UnderWay`.
    if let Some(fork) = unsafe { (*under_way()).as_mut() } {
        fork.put_copies();
    }
    // SAFETY: as above.
    unsafe { *under_way() = None };
    // It shares the parent's sockets: a packet from it would take a number that the parent uses
    // again, and both would wait for ever.
    if LIBRARY.stage().is_running() {
        LIBRARY.stage.store(Stage::Forked as u8, Ordering::Relaxed);
    }
}
