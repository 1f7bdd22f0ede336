//! How much memory something takes at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// Bytes in use, and the most at any time since [`peak_of`] began.
static IN_USE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// The system's allocator, counted.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn header(bytes: isize) {
    let in_use = IN_USE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(in_use, Relaxed);
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        header(layout.size().cast_signed());
        // SAFETY: as the caller has promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        header(-layout.size().cast_signed());
        // SAFETY: as the caller has promised.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // Both are there for a moment.
        header(bytes.cast_signed());
        header(-layout.size().cast_signed());
        // SAFETY: as the caller has promised.
        unsafe { System.realloc(place, layout, bytes) }
    }
}

/// Runs `work`; answers what it answers and the most bytes that were in use meanwhile beyond those
/// that were before.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let answer = work();
    let most = PEAK.load(Relaxed) - before;
    (answer, usize::try_from(most).unwrap_or(0))
}
