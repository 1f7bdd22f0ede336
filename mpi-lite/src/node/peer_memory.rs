//! The memory of another process: `process_vm_readv` and `process_vm_writev`.
#![expect(unsafe_code, reason = "copies between the memories of two processes")]

use core::sync::atomic::Ordering::Acquire;
use std::io;

use rustix::io::Errno;

use super::segment::Area;
use crate::memory::Span;

/// Why the memory of another process cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreachable {
    /// The process does not offer its memory, or another process has its number here (in another
    /// container).
    #[error("no process of this host has the memory that the rank has offered")]
    Unknown,
    /// The system forbids it: other users, Yama, or a filter of system calls.
    #[error("the system does not allow this process to use the memory of process {0}")]
    Forbidden(libc::pid_t),
    /// The process is gone.
    #[error("process {0} has ended")]
    Ended(libc::pid_t),
    /// There is no memory at this address, or it may not be written.
    #[error("process {0} has no memory at {1:#x} for this access")]
    NoMemory(libc::pid_t, u64),
    /// Something else.
    #[error("the memory of process {0} cannot be used: {err}", err = io::Error::from(*.1))]
    Other(libc::pid_t, Errno),
}

/// The memory of another process of this node.
///
/// A copy is complete when the call returns, and it is not atomic: another access to the same bytes
/// meanwhile may see a part of it. A copy that fails may have copied a part.
/// Source: `process_vm_readv(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerMemory(libc::pid_t);

impl PeerMemory {
    /// The memory of the rank with this `area`, if the system allows copies from and to it. One
    /// read tries it: it must return the word that the process has published, so that another
    /// process with this number (in another container) is not mistaken for it.
    ///
    /// # Errors
    /// `Unknown` if it is another process, or the rank does not offer its memory; otherwise what
    /// the system says.
    pub(crate) fn of(area: &Area) -> Result<Self, Unreachable> {
        let process = libc::pid_t::try_from(area.process.load(Acquire));
        let process = process.ok().filter(|process| *process > 0);
        let this = Self(process.ok_or(Unreachable::Unknown)?);
        let witness = area.witness.load(Acquire);
        let mut seen = [0; 8];
        // SAFETY: the call below is over before `seen` is read.
        let place = unsafe { Span::of_borrowed(&mut seen) };
        this.read(area.witness_at.load(Acquire), place)?;
        match u64::from_ne_bytes(seen) == witness {
            true => Ok(this),
            false => Err(Unreachable::Unknown),
        }
    }

    /// Fills `to` with the bytes at `address` of the process.
    ///
    /// # Errors
    /// Those of the system. A part of `to` may be filled.
    pub(crate) fn read(self, address: u64, to: Span) -> Result<(), Unreachable> {
        self.copy(address, to, self.reads())
    }

    /// Copies `from` to `address` of the process.
    ///
    /// # Errors
    /// Those of the system. A part of `from` may be there.
    pub(crate) fn write(self, address: u64, from: Span) -> Result<(), Unreachable> {
        self.copy(address, from, self.writes())
    }

    /// Fills `to` with ranges of the process, one behind the other: the address and the bytes of
    /// each.
    ///
    /// # Errors
    /// As [`PeerMemory::read`].
    pub(crate) fn gather(self, ranges: &[(u64, usize)], to: Span) -> Result<(), Unreachable> {
        self.copy_ranges(ranges, to, self.reads())
    }

    /// Copies `from` to ranges of the process, one behind the other.
    ///
    /// # Errors
    /// As [`PeerMemory::write`].
    pub(crate) fn scatter(self, ranges: &[(u64, usize)], from: Span) -> Result<(), Unreachable> {
        self.copy_ranges(ranges, from, self.writes())
    }

    fn reads(self) -> impl Fn(*const libc::iovec, &[libc::iovec]) -> isize {
        move |here, there| {
            // SAFETY: `here` is a span, whose creator vouched for its memory; the system checks
            // `there`.
            unsafe { system::readv(self.0, here, there) }
        }
    }

    fn writes(self) -> impl Fn(*const libc::iovec, &[libc::iovec]) -> isize {
        move |here, there| {
            // SAFETY: as above.
            unsafe { system::writev(self.0, here, there) }
        }
    }

    fn copy_ranges(
        self,
        ranges: &[(u64, usize)],
        span: Span,
        call: impl Fn(*const libc::iovec, &[libc::iovec]) -> isize,
    ) -> Result<(), Unreachable> {
        let mut done = 0;
        for ranges in ranges.chunks(RANGES_MOST) {
            let there: Vec<_> = ranges.iter().map(|&(at, len)| range(at, len)).collect();
            let bytes = ranges.iter().map(|(_, len)| len).sum();
            let mut here = span.part(done, bytes);
            let slice = here.io_slice_mut();
            // An `IoSliceMut` is an iovec.
            let copied = call((&raw const slice).cast(), &there);
            if usize::try_from(copied) != Ok(bytes) {
                // One by one: the one that fails is found, and very long ones take several calls.
                let mut at = 0;
                for &(address, len) in ranges {
                    let part = here.part(at, len);
                    self.copy(address, part, &call)?;
                    at += len;
                }
            }
            done += bytes;
        }
        Ok(())
    }

    fn copy(
        self,
        address: u64,
        span: Span,
        call: impl Fn(*const libc::iovec, &[libc::iovec]) -> isize,
    ) -> Result<(), Unreachable> {
        let mut done = 0;
        while done < span.len() {
            let mut part = span.part(done, usize::MAX);
            let here = part.io_slice_mut();
            let at = (address as usize).wrapping_add(done);
            let there = range(at as u64, here.len());
            // An `IoSliceMut` is an iovec.
            let copied = call((&raw const here).cast(), &[there]);
            match usize::try_from(copied) {
                Ok(bytes) if bytes > 0 => done += bytes,
                _ => return Err(self.failed(copied, at as u64)),
            }
        }
        Ok(())
    }

    /// Why a call that returned `copied` did not copy what lies at `address`.
    #[cold]
    fn failed(self, copied: isize, address: u64) -> Unreachable {
        let error = io::Error::last_os_error();
        match Errno::from_io_error(&error) {
            _ if copied == 0 => Unreachable::NoMemory(self.0, address),
            Some(Errno::PERM | Errno::NOSYS) => Unreachable::Forbidden(self.0),
            Some(Errno::SRCH) => Unreachable::Ended(self.0),
            Some(Errno::FAULT) => Unreachable::NoMemory(self.0, address),
            errno => Unreachable::Other(self.0, errno.unwrap_or(Errno::IO)),
        }
    }
}

/// So many ranges the system takes in one call: `IOV_MAX`.
const RANGES_MOST: usize = 1024;

/// `len` bytes at an address of another process.
fn range(address: u64, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: core::ptr::without_provenance_mut(address as usize),
        iov_len: len,
    }
}

/// What the system does with one range of this process and some of the other one.
#[cfg(not(miri))]
mod system {
    use libc::{iovec, pid_t};

    /// # Safety
    /// `here` names memory of ours that may be written.
    pub(super) unsafe fn readv(pid: pid_t, here: *const iovec, there: &[iovec]) -> isize {
        let count = there.len() as libc::c_ulong;
        // SAFETY: as above; the other process the system checks.
        unsafe { libc::process_vm_readv(pid, here, 1, there.as_ptr(), count, 0) }
    }

    /// # Safety
    /// `here` names memory of ours that may be read.
    pub(super) unsafe fn writev(pid: pid_t, here: *const iovec, there: &[iovec]) -> isize {
        let count = there.len() as libc::c_ulong;
        // SAFETY: as above; the other process the system checks.
        unsafe { libc::process_vm_writev(pid, here, 1, there.as_ptr(), count, 0) }
    }
}

/// Miri has one process only: it copies within it.
#[cfg(miri)]
mod system {
    use core::ptr::with_exposed_provenance_mut;

    use libc::{iovec, pid_t};

    pub(super) unsafe fn readv(_: pid_t, here: *const iovec, there: &[iovec]) -> isize {
        // SAFETY: the tests name memory of their own, one range.
        unsafe {
            let from = with_exposed_provenance_mut::<u8>(there[0].iov_base.addr());
            core::ptr::copy(from, (*here).iov_base.cast(), (*here).iov_len);
            (*here).iov_len.cast_signed()
        }
    }

    pub(super) unsafe fn writev(_: pid_t, here: *const iovec, there: &[iovec]) -> isize {
        // SAFETY: as above.
        unsafe {
            let to = with_exposed_provenance_mut::<u8>(there[0].iov_base.addr());
            core::ptr::copy((*here).iov_base.cast(), to, (*here).iov_len);
            (*here).iov_len.cast_signed()
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use core::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::node::segment::Segment;

    /// The area of a rank of this process, which shows `witness` under this process number.
    fn area_of(process: u32, witness: &u64) -> &'static Area {
        let area = Segment::alone(1).area(0);
        let at = core::ptr::from_ref(witness).expose_provenance() as u64;
        area.present(process, (at, *witness));
        area
    }

    #[test]
    fn bytes_go_to_and_fro_by_address_and_no_memory_is_an_error() {
        let witness = 7;
        let area = area_of(std::process::id(), &witness);
        let memory = PeerMemory::of(area).expect("a process reaches itself");
        let (mut theirs, mut ours) = ([0_u8; 100], [5_u8; 100]);
        let address = Span::of(&mut theirs).address();
        memory
            .write(address + 10, Span::of(&mut ours[..20]))
            .unwrap();
        memory.read(address, Span::of(&mut ours)).unwrap();
        assert_eq!(
            ours,
            core::array::from_fn(|at| if (10..30).contains(&at) { 5 } else { 0 })
        );
        let pid = std::process::id().cast_signed();
        let nothing = memory.read(0x10, Span::of(&mut ours));
        assert_eq!(nothing, Err(Unreachable::NoMemory(pid, 0x10)));
        let text = nothing.unwrap_err().to_string();
        assert_eq!(
            text,
            format!("process {pid} has no memory at 0x10 for this access")
        );
    }

    #[test]
    fn another_process_and_one_that_has_ended_are_not_taken_for_the_rank() {
        let witness = 7;
        let area = area_of(std::process::id(), &witness);
        area.witness.store(8, Relaxed);
        assert_eq!(PeerMemory::of(area), Err(Unreachable::Unknown));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let ended = Unreachable::Ended(child.id().cast_signed());
        assert_eq!(PeerMemory::of(area_of(child.id(), &witness)), Err(ended));
        assert_eq!(
            PeerMemory::of(Segment::alone(1).area(0)),
            Err(Unreachable::Unknown)
        );
    }
}
