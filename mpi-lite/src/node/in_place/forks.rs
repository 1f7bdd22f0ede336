//! Forks: a child gets copies of pages that have moved, as it gets them of private ones. Until it
//! has mapped them it shares the pages with its parent, which waits for that: a [`Fork`] and what
//! it points to may lie in them.
#![expect(unsafe_code, reason = "pages of a child are replaced")]

use core::ptr::with_exposed_provenance_mut;
use std::io::{PipeReader, PipeWriter, Write as _, pipe};

use parking_lot::MutexGuard;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::image::copy_pages;
use super::lending::{Lending, Loans, Pages};

/// A fork that is under way. Nobody moves pages until it is over.
#[derive(Debug)]
pub struct Fork<'a> {
    loans: MutexGuard<'a, Loans>,
    copies: Vec<(Pages, *mut libc::c_void)>,
    /// By it the child tells its parent that it has its copies.
    pipe: Option<(PipeReader, PipeWriter)>,
}

/// A child that has not told so by then has ended.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

impl Lending {
    /// Prepares a fork of this process: see [`Fork::copy`].
    #[must_use]
    pub fn fork(&self) -> Fork<'_> {
        let loans = self.loans.lock();
        let moved = loans.moved.iter();
        let copies = moved.map(|pages| (pages.clone(), room(pages)));
        let copies: Vec<_> = copies.filter(|(_, room)| !room.is_null()).collect();
        let pipe = match copies.is_empty() {
            true => None,
            false => pipe().ok(),
        };
        Fork {
            loans,
            copies,
            pipe,
        }
    }
}

/// Room for a private copy of pages; null if there is none.
fn room(pages: &Pages) -> *mut libc::c_void {
    let (access, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
    );
    // SAFETY: a new mapping, which is zero.
    match unsafe { libc::mmap(core::ptr::null_mut(), pages.len(), access, kind, -1, 0) } {
        libc::MAP_FAILED => core::ptr::null_mut(),
        room => room,
    }
}

fn start(pages: &Pages) -> *mut u8 {
    with_exposed_provenance_mut(pages.start)
}

impl Fork<'_> {
    /// Copies the pages for the child. Call it last before the fork: what is written after it is
    /// not in the copies, and this value may lie in these pages.
    pub fn copy(&self) {
        for (pages, copy) in &self.copies {
            // SAFETY: mapped, both of them, and the copy is zero.
            unsafe { copy_pages((*copy).cast(), start(pages), pages.len()) };
        }
    }

    /// In the parent: waits until the child has its copies. Until then nothing may be written to
    /// this value. If no child was made, or it has ended, that takes a second.
    #[expect(
        clippy::disallowed_methods,
        reason = "fork(3) waits, no call of MPI does"
    )]
    pub fn await_child(&self) {
        if let Some((reader, _)) = &self.pipe {
            let mut watched = [PollFd::new(reader, PollFlags::IN)];
            while poll(&mut watched, Some(&PATIENCE)) == Err(Errno::INTR) {}
        }
    }

    /// Ends the fork in the parent.
    pub fn end_in_parent(self) {
        for (pages, copy) in &self.copies {
            // SAFETY: the mapping of `room`.
            unsafe { libc::munmap(*copy, pages.len()) };
        }
    }

    /// Ends the fork in the child, which has no windows: puts the copies in place of the pages.
    pub fn end_in_child(mut self) {
        for (pages, copy) in &self.copies {
            // SAFETY: the copy takes the place of the pages, with what they held.
            unsafe {
                libc::mremap(
                    *copy,
                    pages.len(),
                    pages.len(),
                    libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                    start(pages).cast::<libc::c_void>(),
                );
            }
        }
        if let Some((_, writer)) = &mut self.pipe {
            let _ = writer.write(&[0]);
        }
        self.loans.moved.clear();
    }
}
