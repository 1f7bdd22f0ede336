//! The buffer that the program attached for buffered sends. Source: MPI 5.0, 3.6.

/// Bytes that a buffered send takes of the attached buffer beside its body: a cache line, so that
/// empty messages are bounded too. `MPI_BSEND_OVERHEAD` is 512 in the standard ABI, which is the
/// upper bound. Widely used programs attach less, and other libraries accept that. Source: MPI 5.0,
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
