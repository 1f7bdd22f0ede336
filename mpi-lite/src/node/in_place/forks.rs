//! Forks: a child gets copies of pages that have moved, as it gets them of private ones. Until it
//! has mapped them it shares the pages with its parent, which waits for that: a [`Fork`] and what
//! it points to may lie in them.

use std::io::{PipeReader, PipeWriter, Write as _, pipe};

use parking_lot::MutexGuard;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::image::Copied;
use super::lending::{Lending, Loans, Pages};
use super::maps::{Maps, Permissions};
use crate::sync::NoSignals;

/// A fork that is under way. Nobody moves pages until it is over.
#[derive(Debug)]
pub struct Fork<'a> {
    loans: MutexGuard<'a, Loans>,
    copies: Vec<(Pages, Permissions, Copied)>,
    /// By it the child tells its parent that it has its copies.
    pipe: Option<(PipeReader, PipeWriter)>,
    /// A handler may fork as well.
    _none: NoSignals,
}

/// A child that has not told so by then has ended.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

impl Lending {
    /// Prepares a fork of this process: copies the pages for the child. Where the system has no
    /// room, the child shares them.
    #[must_use]
    pub fn fork(&self) -> Fork<'_> {
        let _none = NoSignals::begin();
        let loans = self.loans.lock();
        let there = match (&loans.image, loans.moved.is_empty()) {
            (Some(image), false) => {
                let maps = Maps::read();
                maps.map_or_else(
                    |_| Vec::new(),
                    |maps| image.still_there(&loans.moved, &maps),
                )
            }
            _ => Vec::new(),
        };
        let pipe = match there.is_empty() {
            true => None,
            false => pipe().ok(),
        };
        let mut copies = Vec::with_capacity(there.len());
        for (pages, may) in there {
            let copy = loans
                .image
                .as_ref()
                .and_then(|image| image.copy(&pages).ok());
            copies.extend(copy.map(|copy| (pages, may, copy)));
        }
        Fork {
            loans,
            copies,
            pipe,
            _none,
        }
    }
}

impl Fork<'_> {
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

    /// In the child, which has no windows: puts the copies in place of the pages. What was written
    /// to them before this is the parent's.
    pub fn put_copies(&mut self) {
        // Nothing is written to this value before that: it may be the parent's still.
        for (pages, may, copy) in &self.copies {
            // If the system refuses, the child shares the pages.
            let _ = copy.put(pages, *may);
        }
        core::mem::forget(core::mem::take(&mut self.copies));
        self.loans.moved.clear();
        if let Some((_, writer)) = &mut self.pipe {
            let _ = writer.write(&[0]);
        }
    }
}
