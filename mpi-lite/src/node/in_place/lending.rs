//! Pages of the program, and which of them it has lent to windows.
#![expect(unsafe_code, reason = "copies whole pages without a call")]

use core::ops::Range;
use core::ptr::with_exposed_provenance_mut;
use std::sync::Arc;

use mpi_boot::node_memory::PAGE;
use parking_lot::Mutex;

use super::maps::Maps;
use crate::memory::Span;
use crate::node::arena::Arena;
use crate::sync::this_thread;

/// Bytes around the end of the stack that a call writes to.
const STACK: usize = 128 << 10;

/// Whole pages of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pages(pub(super) Range<usize>);

impl Pages {
    pub(super) fn around(span: Span) -> Self {
        let page = PAGE as usize;
        let start = span.address() as usize;
        match span.len() {
            0 => Self(0..0),
            len => Self(start / page * page..(start + len).next_multiple_of(page)),
        }
    }

    pub(super) fn start(&self) -> *mut u8 {
        with_exposed_provenance_mut(self.0.start)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn overlaps(&self, other: &Range<usize>) -> bool {
        self.0.start < other.end && other.start < self.0.end
    }

    /// Returns true if these pages are private memory that nobody writes to in between: not the
    /// end of the stack, nor the control block of this thread, where the system notes its core.
    pub(super) fn may_move(&self, maps: &Maps) -> bool {
        let here = 0_u8;
        let in_use = [
            ((&raw const here).addr(), STACK),
            (this_thread(), PAGE as usize),
        ];
        let mut in_use = in_use.iter();
        rustix::param::page_size() == PAGE as usize
            && !in_use.any(|(at, by)| self.overlaps(&(at.saturating_sub(*by)..at + by)))
            && maps.are_private(&self.0)
    }
}

/// Memory of the program that a window has. What moves never moves below another window.
#[derive(Debug)]
pub(super) struct Lent {
    pub(super) number: u64,
    pub(super) pages: Pages,
    /// The part of an arena in which it is.
    pub(super) moved: Option<(Arc<Arena>, Span)>,
    /// The window has ended, but its pages are still in the arena.
    pub(super) is_over: bool,
}

/// What a process has lent to windows.
#[derive(Debug, Default)]
pub struct Lending(pub(super) Mutex<Loans>);

/// All that is lent, and the number of the next loan.
#[derive(Debug, Default)]
pub(super) struct Loans {
    pub(super) all: Vec<Lent>,
    next: u64,
}

impl Loans {
    /// Enters pages. Returns their number.
    pub(super) fn enter(&mut self, pages: Pages, moved: Option<(Arc<Arena>, Span)>) -> u64 {
        self.next += 1;
        let (number, is_over) = (self.next, false);
        self.all.push(Lent {
            number,
            pages,
            moved,
            is_over,
        });
        number
    }

    /// Notes that a window has ended.
    pub(super) fn note_end(&mut self, number: u64) {
        for one in self.all.iter_mut().filter(|one| one.number == number) {
            one.is_over = true;
        }
        self.all.retain(|one| !one.is_over || one.moved.is_some());
    }
}

/// Copies words, of pages that are not zero. It calls nothing: the memory may have what a call
/// needs.
///
/// # Safety
/// Both are mapped, whole pages of as many bytes; `to` is zero.
#[inline(always)]
pub(super) unsafe fn copy_pages(to: *mut u8, from: *const u8, len: usize) {
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
