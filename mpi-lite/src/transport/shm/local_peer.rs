//! The memory of another process: `process_vm_readv` and `process_vm_writev`.
#![expect(unsafe_code, reason = "copies between the memories of two processes")]

use core::sync::atomic::Ordering::Acquire;
use std::io;

use crate::memory::Span;
use crate::node::segment::Area;

/// A process whose memory can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalPeer(libc::pid_t);

impl LocalPeer {
    /// The process of `area`, if the system allows copies from and to its memory. One read tries
    /// it: it must return the word that the process has published, so that another process with
    /// this number (in another container) is not mistaken for it.
    pub(super) fn of(area: &Area) -> Option<Self> {
        let process = libc::pid_t::try_from(area.process.load(Acquire)).ok()?;
        if process <= 0 {
            return None;
        }
        let witness = area.witness.load(Acquire);
        let mut seen = [0; 8];
        let this = Self(process);
        // SAFETY: the call below is over before `seen` is read.
        let place = unsafe { Span::of_borrowed(&mut seen) };
        let is_read = this.read(area.witness_at.load(Acquire), place);
        (is_read.is_ok() && u64::from_ne_bytes(seen) == witness).then_some(this)
    }

    /// Fills `to` with what is at `address` of the process.
    pub(super) fn read(self, address: u64, to: Span) -> io::Result<()> {
        self.copy(address, to, |pid, here, there| {
            // SAFETY: `here` is a span, whose creator vouched for its memory; the system checks
            // `there`.
            unsafe { system::readv(pid, here, there) }
        })
    }

    /// Copies `from` to `address` of the process.
    pub(super) fn write(self, address: u64, from: Span) -> io::Result<()> {
        self.copy(address, from, |pid, here, there| {
            // SAFETY: as above.
            unsafe { system::writev(pid, here, there) }
        })
    }

    fn copy(
        self,
        address: u64,
        span: Span,
        call: impl Fn(libc::pid_t, *const libc::iovec, *const libc::iovec) -> isize,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < span.len() {
            let mut part = span.part(done, usize::MAX);
            let here = part.io_slice_mut();
            let there = libc::iovec {
                iov_base: core::ptr::without_provenance_mut(address as usize + done),
                iov_len: here.len(),
            };
            // An `IoSliceMut` is an iovec.
            let copied = call(self.0, (&raw const here).cast(), &raw const there);
            match usize::try_from(copied) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => done += bytes,
                Err(_) => return Err(io::Error::last_os_error()),
            }
        }
        Ok(())
    }
}

/// What the system does with one range of each process.
#[cfg(not(miri))]
mod system {
    use libc::{iovec, pid_t};

    /// # Safety
    /// `here` names memory of ours that may be written.
    pub(super) unsafe fn readv(pid: pid_t, here: *const iovec, there: *const iovec) -> isize {
        // SAFETY: as above; the other process the system checks.
        unsafe { libc::process_vm_readv(pid, here, 1, there, 1, 0) }
    }

    /// # Safety
    /// `here` names memory of ours that may be read.
    pub(super) unsafe fn writev(pid: pid_t, here: *const iovec, there: *const iovec) -> isize {
        // SAFETY: as above; the other process the system checks.
        unsafe { libc::process_vm_writev(pid, here, 1, there, 1, 0) }
    }
}

/// Miri has one process only: it copies within it.
#[cfg(miri)]
mod system {
    use core::ptr::with_exposed_provenance_mut;

    use libc::{iovec, pid_t};

    pub(super) unsafe fn readv(_: pid_t, here: *const iovec, there: *const iovec) -> isize {
        // SAFETY: the tests name memory of their own.
        unsafe {
            let from = with_exposed_provenance_mut::<u8>((*there).iov_base.addr());
            core::ptr::copy(from, (*here).iov_base.cast(), (*here).iov_len);
            (*here).iov_len.cast_signed()
        }
    }

    pub(super) unsafe fn writev(_: pid_t, here: *const iovec, there: *const iovec) -> isize {
        // SAFETY: as above.
        unsafe {
            let to = with_exposed_provenance_mut::<u8>((*there).iov_base.addr());
            core::ptr::copy((*here).iov_base.cast(), to, (*here).iov_len);
            (*here).iov_len.cast_signed()
        }
    }
}
