//! Kinds of windows, and the memory of each process. Source: MPI 5.0, 12.2.

/// How a window got its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// The program gave it: `MPI_WIN_FLAVOR_CREATE`.
    Create,
    /// `MPI_Win_allocate`.
    Allocate,
    /// `MPI_Win_allocate_shared`.
    Shared,
    /// It is attached while the window is there.
    Dynamic,
}

/// The memory that a process gives to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes.
    pub size: u64,
    /// What a displacement counts, in bytes.
    pub unit: u32,
}
