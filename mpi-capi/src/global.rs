//! The one static of the library: whether MPI runs, and the process it runs in.

use core::sync::atomic::{AtomicU8, Ordering};

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

static STAGE: AtomicU8 = AtomicU8::new(Stage::Before as u8);

/// The stage now.
#[inline]
pub fn stage() -> Stage {
    match STAGE.load(Ordering::Relaxed) {
        0 => Stage::Before,
        1 => Stage::Running,
        _ => Stage::After,
    }
}
