//! Forks: a child gets copies of pages that are in an arena, as it gets them of private ones.
#![expect(unsafe_code, reason = "pages of a child are replaced")]

use parking_lot::MutexGuard;

use super::lending::{Lending, Loans, Pages, copy_pages};

/// A fork that is under way. Nobody moves pages until it is over.
#[derive(Debug)]
pub struct Fork<'a> {
    loans: MutexGuard<'a, Loans>,
    copies: Vec<(Pages, *mut libc::c_void)>,
}

impl Lending {
    /// Prepares a fork of this process: see [`Fork::copy`].
    #[must_use]
    pub fn fork(&self) -> Fork<'_> {
        let loans = self.0.lock();
        let moved = loans.all.iter().filter(|one| one.moved.is_some());
        let copies = moved.map(|one| (one.pages.clone(), room(&one.pages)));
        let copies = copies.filter(|(_, room)| !room.is_null()).collect();
        Fork { loans, copies }
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

impl Fork<'_> {
    /// Copies the pages for the child. Call it last before the fork: what is written after it is
    /// not in the copies, and this value may lie in these pages.
    pub fn copy(&self) {
        for (pages, copy) in &self.copies {
            // SAFETY: mapped, both of them, and the copy is zero.
            unsafe { copy_pages((*copy).cast(), pages.start(), pages.len()) };
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
                    pages.start().cast::<libc::c_void>(),
                );
            }
        }
        self.loans.all.clear();
    }
}
