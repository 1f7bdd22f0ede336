//! Memory of the program that peers load and store: its pages move into an arena, and stay at their
//! addresses with what they hold.
//!
//! The system cannot share private pages. So what they hold is copied to a part of the arena, and
//! that part is mapped in their place. What somebody else writes to the old pages meanwhile would
//! be lost, so this is done only while the process is [`Still`]: no other thread runs, no local
//! peer copies from or to it, no signal is handled. Pages that the system or this call itself
//! writes to do not move ([`Pages::may_move`]).
//!
//! The program notices nothing. A child that it forks gets copies of its own (`forks`). When a
//! window ends, its pages become private again; if the process is not still then, a later end does
//! that. Source: `mmap(2)`, `mremap(2)`.
#![expect(
    unsafe_code,
    reason = "pages of the program are replaced where they are"
)]

mod forks;
mod lending;
mod maps;

use core::ops::Range;
use core::ptr::with_exposed_provenance_mut;
use std::io;
use std::sync::Arc;

use mpi_boot::node_memory::PAGE;

pub use self::forks::Fork;
pub use self::lending::Lending;
use self::lending::{Lent, Pages, copy_pages};
use self::maps::{Maps, Permissions};
use super::arena::Arena;
use crate::memory::Span;
use crate::sync::NoSignals;

/// Bytes of the most that moves for a window: it is copied, and the system has no large pages for
/// an arena.
const MOST: u64 = 64 << 20;

/// Proof that nothing but this thread reads or writes memory of the program.
#[derive(Debug)]
pub(crate) struct Still<'a>(core::marker::PhantomData<&'a ()>);

impl Still<'_> {
    /// The caller vouches for it: no other thread of the process runs, but for those that only
    /// wait for this one, no signal is handled, and no other process reads or writes its memory.
    pub(crate) fn vouched() -> Self {
        Self(core::marker::PhantomData)
    }
}

/// Bytes of the part of an arena for the pages of `len` bytes at an address, and where in it these
/// bytes begin. `None`: they do not move.
pub(crate) fn room_for(address: u64, len: u64) -> Option<(u64, u64)> {
    let within = address % PAGE;
    let bytes = within.checked_add(len)?.checked_next_multiple_of(PAGE)?;
    match len {
        0 => Some((0, 0)),
        _ => (len <= MOST).then_some((bytes, within)),
    }
}

/// Why pages do not move.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unmovable {
    /// They are no ordinary private memory, or in use by another window.
    #[error("the memory of the window is shared already, cannot be written, or is the stack")]
    Kind,
    /// The system refuses it.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// The memory of a window, until it ends.
#[derive(Debug)]
pub(crate) struct Loan {
    lending: Arc<Lending>,
    number: u64,
}

impl Loan {
    /// Notes that local peers copy from and to this memory.
    pub(crate) fn of_copied(lending: &Arc<Lending>, span: Span) -> Self {
        // A handler may fork.
        let _none = NoSignals::begin();
        let number = lending.0.lock().enter(Pages::around(span), None);
        Self::numbered(lending, number)
    }

    fn numbered(lending: &Arc<Lending>, number: u64) -> Self {
        let lending = Arc::clone(lending);
        Self { lending, number }
    }

    /// Moves the pages around `span` to those of the arena in which byte `at` lies, the place of
    /// the span. They are zero.
    ///
    /// # Errors
    /// `Kind`, `System`: nothing has changed.
    pub(crate) fn of_moved(
        _: &Still<'_>,
        lending: &Arc<Lending>,
        span: Span,
        (arena, at): (&Arc<Arena>, usize),
    ) -> Result<Self, Unmovable> {
        let pages = Pages::around(span);
        if span.is_empty() {
            return Ok(Self::of_copied(lending, span));
        }
        let maps = Maps::read()?;
        let mut loans = lending.0.lock();
        let is_lent = loans.all.iter().any(|other| pages.overlaps(&other.pages.0));
        if is_lent || !pages.may_move(&maps) {
            return Err(Unmovable::Kind);
        }
        drop(maps);
        let part = arena.part(at - at % PAGE as usize, pages.len());
        assert_eq!(part.len(), pages.len(), "a part for all of the pages");
        replace(&pages, part)?;
        let number = loans.enter(pages, Some((Arc::clone(arena), part)));
        Ok(Self::numbered(lending, number))
    }

    /// The window has ended. Makes the pages of all ended windows private that nobody uses.
    pub(crate) fn end(&self, _: &Still<'_>) {
        let mut loans = self.lending.0.lock();
        loans.note_end(self.number);
        if loans.all.iter().any(|one| one.is_over) {
            make_private(&mut loans.all);
        }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // A handler may fork.
        let _none = NoSignals::begin();
        self.lending.0.lock().note_end(self.number);
    }
}

/// Makes pages private that are in an arena although their windows have ended.
fn make_private(lent: &mut Vec<Lent>) {
    let Ok(maps) = Maps::read() else { return };
    let is_used = |at: usize| {
        let mut others = lent.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, other)| other.pages.overlaps(&lent[at].pages.0))
    };
    let is_free = |at: &usize| lent[*at].is_over && !is_used(*at);
    let free: Vec<usize> = (0..lent.len()).filter(is_free).collect();
    for at in free.into_iter().rev() {
        let one = &lent[at];
        let Some((_, part)) = &one.moved else {
            continue;
        };
        // What the program has unmapped, or mapped anew, is not the window's any more.
        let ours = maps.same_memory(&one.pages.0, part.address() as usize);
        if ours.iter().all(|ours| fill_anew(ours, &one.pages, *part)) {
            lent.swap_remove(at);
        }
    }
}

/// Maps a part of an arena in place of these pages, once it holds what they hold.
fn replace(pages: &Pages, part: Span) -> io::Result<()> {
    // SAFETY: mapped, both of them, and the part is zero. Nobody writes to the pages: `Still`.
    unsafe { copy_pages(part.as_mut_ptr(), pages.start(), pages.len()) };
    // SAFETY: the old pages go, and the new ones hold the same. A length of 0 maps the part once
    // more.
    let mapped = unsafe {
        libc::mremap(
            part.as_mut_ptr().cast(),
            0,
            pages.len(),
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            pages.start().cast::<libc::c_void>(),
        )
    };
    match mapped == libc::MAP_FAILED {
        true => Err(io::Error::last_os_error()),
        false => Ok(()),
    }
}

/// Puts private pages in the place of those of an arena, with what these hold. Returns true if that
/// was done.
fn fill_anew((range, may): &(Range<usize>, Permissions), pages: &Pages, part: Span) -> bool {
    let place = with_exposed_provenance_mut::<u8>(range.start);
    let from = part.part(range.start - pages.0.start, range.len());
    // SAFETY: the pages are those of the arena, which hold their bytes as long as it is mapped.
    // Nobody looks at the place before they are copied: `Still`.
    let mapped = unsafe {
        libc::mmap(
            place.cast(),
            range.len(),
            Permissions::ALL.0,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return false;
    }
    // SAFETY: mapped, both of them, and new pages are zero.
    unsafe { copy_pages(place, from.as_mut_ptr(), range.len()) };
    if *may != Permissions::ALL {
        // SAFETY: what the program has set for these pages while they were shared.
        unsafe { libc::mprotect(place.cast(), range.len(), may.0) };
    }
    true
}
