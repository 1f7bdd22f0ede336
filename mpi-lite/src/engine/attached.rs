//! The buffer that the program attached for buffered sends. Source: MPI 5.0, 3.6.

/// What a buffered send takes of the attached buffer beside its bytes: a cache line, so that empty
/// messages are bounded too. The standard ABI gives 512 to `MPI_BSEND_OVERHEAD`, the most that it
/// may be; widely used programs count with less, which other libraries let them. Source: MPI 5.0,
/// 3.6.
pub const BUFFERED_OVERHEAD_BYTES: u64 = 64;

/// The buffer that the program attached for buffered sends. Source: MPI 5.0, 3.6.
#[derive(Clone, Copy, Debug)]
pub struct Attached {
    /// The program's address, given back at detach.
    pub address: usize,
    /// Bytes.
    pub bytes: u64,
    pub(super) used: u64,
}
