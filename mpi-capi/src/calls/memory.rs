//! Memory that the program gets from us.
#![expect(
    unsafe_code,
    reason = "memory goes back to the allocator of the C library"
)]

use core::ffi::c_void;
use core::ptr;

use crate::args::Address;
use crate::error::Result;

/// A multiple of the cache lines of all known machines.
const ALIGNMENT: usize = 64;

/// Gets `size` bytes, of which nothing is promised but that they are there.
pub fn allocate(size: usize) -> Option<*mut c_void> {
    let mut memory = ptr::null_mut();
    // SAFETY: the place is writable; the alignment is a power of two and a multiple of a pointer.
    let failed = unsafe { libc::posix_memalign(&raw mut memory, ALIGNMENT, size.max(1)) };
    (failed == 0).then_some(memory)
}

/// Gives memory of [`allocate`] back.
///
/// # Errors
/// None: null is allowed, and a foreign address cannot be distinguished from our own.
pub fn free(memory: Address) -> Result<()> {
    // SAFETY: MPI demands of the caller that the memory came from `MPI_Alloc_mem` and is not used.
    unsafe { libc::free(memory.0) };
    Ok(())
}
