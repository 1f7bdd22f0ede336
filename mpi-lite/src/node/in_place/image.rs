//! An image of the address space: a file in memory, in which a page that has moved lies at the
//! offset that is its address. So pages that follow one another do so in the file, whichever
//! windows have them, and a peer maps those of a window in one piece.
#![expect(
    unsafe_code,
    reason = "pages of the program are replaced where they are"
)]

use core::ptr::with_exposed_provenance_mut;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use mpi_boot::node_memory::PAGE;
use mpi_boot::shared::sealed_memory;
use rustix::fs::{FallocateFlags, fallocate, fstat, major, minor};
use rustix::io::{Errno, pread, pwrite};
use rustix::process::{Resource, getrlimit};

use super::lending::Pages;
use super::maps::{File, Maps, Permissions};
use crate::memory::Span;
use crate::sync::this_thread;

/// Addresses of programs are below this one.
const ADDRESSES: usize = 1 << 47;

/// Bytes around the end of the stack that a call writes to.
const STACK: usize = 128 << 10;

/// The image. Its first page belongs to no address: it has a word by which peers know it.
#[derive(Debug)]
pub(super) struct Image {
    memory: OwnedFd,
    file: File,
}

/// A part of an image, mapped at an address that the system chooses until this is dropped.
#[derive(Debug)]
struct Mapped {
    start: *mut u8,
    len: usize,
}

// SAFETY: an address and a length; who may touch the bytes is decided by MPI's rules on windows.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn new(memory: BorrowedFd<'_>, pages: &Pages) -> io::Result<Self> {
        let start = map(None, pages.len(), Some((memory, pages.start)))?;
        let len = pages.len();
        Ok(Self { start, len })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing that leads into it outlives `self`.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

/// A private copy of pages.
#[derive(Debug)]
pub(super) struct Copied(Mapped);

impl Copied {
    /// Puts the copy in place of the pages. It is no longer where it was then: forget it.
    ///
    /// # Errors
    /// Those of the system: the pages are as before.
    pub(super) fn put(&self, pages: &Pages, may: Permissions) -> io::Result<()> {
        let (start, len) = (self.0.start, self.0.len);
        // SAFETY: the copy takes the place of the pages, with what they hold.
        let moved = unsafe {
            if may != Permissions::ALL {
                libc::mprotect(start.cast(), len, may.0);
            }
            libc::mremap(
                start.cast(),
                len,
                len,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                with_exposed_provenance_mut::<libc::c_void>(pages.start),
            )
        };
        match moved == libc::MAP_FAILED {
            true => Err(io::Error::last_os_error()),
            false => Ok(()),
        }
    }
}

/// Maps pages of a file, or private ones that are zero: where the system chooses, or in place of
/// what is at an address. Whoever calls it knows what that is.
fn map(at: Option<usize>, len: usize, of: Option<(BorrowedFd<'_>, usize)>) -> io::Result<*mut u8> {
    let (kind, file, offset) = match of {
        Some((file, offset)) => {
            let kind = libc::MAP_SHARED | libc::MAP_NORESERVE;
            (kind, file.as_raw_fd(), offset)
        }
        // As those of `malloc`: the system joins them with their neighbours.
        None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
    };
    let place = if at.is_some() { libc::MAP_FIXED } else { 0 };
    // SAFETY: new pages. Those that they replace hold the same.
    let start = unsafe {
        libc::mmap(
            with_exposed_provenance_mut(at.unwrap_or(0)),
            len,
            Permissions::ALL.0,
            kind | place,
            file,
            offset as libc::off_t,
        )
    };
    match start == libc::MAP_FAILED {
        true => Err(io::Error::last_os_error()),
        false => Ok(start.cast()),
    }
}

/// Copies words, of pages that are not zero. It calls nothing, so it writes to nothing else.
///
/// # Safety
/// Both are mapped, whole pages of as many bytes; `to` is zero.
#[inline(always)]
unsafe fn copy_pages(to: *mut u8, from: *const u8, len: usize) {
    const WORDS: usize = PAGE as usize / size_of::<u64>();
    let (to, from) = (to.cast::<u64>(), from.cast::<u64>());
    for page in (0..len / size_of::<u64>()).step_by(WORDS) {
        let mut all = 0;
        for word in page..page + WORDS {
            // SAFETY: the caller's promise. Volatile: no call of `memcpy` comes of it.
            all |= unsafe { from.add(word).read_volatile() };
        }
        if all == 0 {
            continue;
        }
        for word in page..page + WORDS {
            // SAFETY: as above.
            unsafe { to.add(word).write_volatile(from.add(word).read_volatile()) };
        }
    }
}

impl Image {
    /// An image without pages, which has `witness` as its first word.
    ///
    /// # Errors
    /// `FBIG` if files have a limit; those of the system.
    pub(super) fn new(witness: u64) -> io::Result<Self> {
        if getrlimit(Resource::Fsize).current.is_some() {
            // A longer file would be a signal.
            return Err(Errno::FBIG.into());
        }
        let memory = sealed_memory(ADDRESSES as u64)?;
        pwrite(&memory, &witness.to_ne_bytes(), 0)?;
        let about = fstat(&memory)?;
        let device = format!("{:02x}:{:02x}", major(about.st_dev), minor(about.st_dev));
        let file = (device, about.st_ino);
        Ok(Self { memory, file })
    }

    /// Where its descriptor is for others: the process, and its number there.
    pub(super) fn place(&self) -> [u64; 2] {
        let number = self.memory.as_raw_fd();
        [u64::from(std::process::id()), number.unsigned_abs().into()]
    }

    /// Those of these pages that the program has left where they are, and what it may do with them.
    pub(super) fn still_there(&self, pages: &[Pages], maps: &Maps) -> Vec<(Pages, Permissions)> {
        let there = pages.iter();
        there
            .flat_map(|pages| maps.of_file(pages, &self.file))
            .collect()
    }

    /// Returns true if these pages are private memory that nobody writes to in between: not the
    /// end of the stack, nor the control block of this thread, where the system notes its core.
    pub(super) fn may_take(&self, pages: &Pages, maps: &Maps) -> bool {
        let here = 0_u8;
        let in_use = [
            ((&raw const here).addr(), STACK),
            (this_thread(), PAGE as usize),
        ];
        let mut in_use = in_use.iter();
        rustix::param::page_size() == PAGE as usize
            && pages.end <= ADDRESSES
            && maps.have_room()
            && !in_use.any(|(at, by)| at + by > pages.start && at.saturating_sub(*by) < pages.end)
            && maps.are_private(pages)
    }

    /// Takes these pages in: what they hold is copied, and then they are mapped in place.
    ///
    /// # Errors
    /// Those of the system: nothing has changed.
    pub(super) fn take(&self, pages: &Pages) -> io::Result<()> {
        // An earlier stay may have left something.
        self.clear(pages)?;
        let copy = Mapped::new(self.memory.as_fd(), pages)?;
        let place = with_exposed_provenance_mut::<u8>(pages.start);
        // SAFETY: mapped, both of them, and the copy is zero. Nobody writes to the pages: `Still`.
        unsafe { copy_pages(copy.start, place, pages.len()) };
        let there = (self.memory.as_fd(), pages.start);
        let mapped = map(Some(pages.start), pages.len(), Some(there));
        if mapped.is_err()
            && let Ok(place) = map(Some(pages.start), pages.len(), None)
        {
            // The system may have taken the old pages away before it failed.
            // SAFETY: mapped, both of them, and new pages are zero.
            unsafe { copy_pages(place, copy.start, pages.len()) };
        }
        mapped.map(drop)
    }

    /// Puts private pages in place of these, with what they hold, and with the permissions that the
    /// program has given them. Nobody sees anything else in between. Returns true if that was done.
    pub(super) fn give_back(&self, pages: &Pages, may: Permissions) -> bool {
        let Ok(copy) = self.copy(pages) else {
            return false;
        };
        if copy.put(pages, may).is_err() {
            return false;
        }
        core::mem::forget(copy);
        // What stays costs memory, and does no harm.
        let _ = self.clear(pages);
        true
    }

    /// Makes these pages private while threads run that may write to them. They are those of the
    /// image until they are written to, so it takes no other pages in any more. Returns true if
    /// that was done.
    pub(super) fn leave(&self, pages: &Pages, may: Permissions) -> bool {
        // SAFETY: private pages of the same file at the same place: what was written before is in
        // them, and what is written after is theirs.
        let mapped = unsafe {
            libc::mmap(
                with_exposed_provenance_mut(pages.start),
                pages.len(),
                may.0,
                libc::MAP_PRIVATE | libc::MAP_FIXED,
                self.memory.as_raw_fd(),
                pages.start as libc::off_t,
            )
        };
        mapped != libc::MAP_FAILED
    }

    /// A private copy of these pages, somewhere else.
    pub(super) fn copy(&self, pages: &Pages) -> io::Result<Copied> {
        let from = Mapped::new(self.memory.as_fd(), pages)?;
        let start = map(None, pages.len(), None)?;
        let len = pages.len();
        let copied = Copied(Mapped { start, len });
        // SAFETY: mapped, both of them, and new pages are zero.
        unsafe { copy_pages(start, from.start, len) };
        Ok(copied)
    }

    fn clear(&self, pages: &Pages) -> io::Result<()> {
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let (at, len) = (pages.start as u64, pages.len() as u64);
        Ok(fallocate(&self.memory, how, at, len)?)
    }
}

/// Pages of another process of this node, mapped here.
#[derive(Debug)]
pub(crate) struct View(Mapped);

impl View {
    /// Maps pages that a peer has moved, from its image at that place.
    ///
    /// # Errors
    /// `ACCES` if it is another process that has this number here, or those of the system.
    pub(super) fn of([process, number]: [u64; 2], witness: u64, pages: &Pages) -> io::Result<Self> {
        let path = format!("/proc/{process}/fd/{number}");
        let image = OpenOptions::new().read(true).write(true).open(path)?;
        let mut word = [0; 8];
        let read = pread(&image, &mut word, 0)?;
        if read != word.len() || u64::from_ne_bytes(word) != witness {
            return Err(Errno::ACCESS.into());
        }
        Ok(Self(Mapped::new(image.as_fd(), pages)?))
    }

    /// All of it. The owner keeps it while the span is used.
    pub(super) fn span(&self) -> Span {
        // SAFETY: the whole mapping; whoever asks uses it only while `self` lives.
        unsafe { Span::new(self.0.start, self.0.len) }
    }
}
