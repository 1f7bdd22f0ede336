//! Memory of the program that peers load and store: its pages move into shared memory, and stay at
//! their addresses with what they hold.
//!
//! The system cannot share private pages. So what they hold is copied to the `image` of the
//! process, and that is mapped in their place. What somebody else writes to the old pages meanwhile
//! would be lost, so this is done only while the process is [`Still`]: no other thread runs, no
//! local peer copies from or to it, no signal is handled.
//!
//! A child that the program forks gets copies of its own (`forks`). When no window has a page any
//! more, it becomes private again. If threads run then, the pages are private pages of the image,
//! and nothing moves any more in this process. Source: `mmap(2)`, `mremap(2)`.

mod forks;
mod image;
mod lending;
mod maps;

use std::io;
use std::sync::Arc;

pub use self::forks::Fork;
pub(crate) use self::image::View;
pub use self::lending::Lending;
use self::lending::around;
use crate::memory::Span;
use crate::sync::NoSignals;

/// Bytes of the longest memory that moves for a window: it is copied, and the system has no large
/// pages for it there.
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

/// Returns true if so many bytes move for a window.
pub(crate) fn moves(len: u64) -> bool {
    len <= MOST
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
        let number = lending
            .loans
            .lock()
            .enter(around(span.address(), span.len()));
        let lending = Arc::clone(lending);
        Self { lending, number }
    }

    /// Moves the pages in which this memory lies. Returns the loan, and where the image is for
    /// [`view`]. `None`: the memory is shared already, cannot be written, is the stack, or belongs
    /// to a window that copies, or the system refuses; nothing has changed.
    pub(crate) fn of_moved(
        _: &Still<'_>,
        lending: &Arc<Lending>,
        span: Span,
    ) -> Option<(Self, [u64; 2])> {
        let mut loans = lending.loans.lock();
        let pages = around(span.address(), span.len());
        let is_there = span.is_empty() || loans.move_in(&pages, lending.witness).unwrap_or(false);
        if !is_there {
            return None;
        }
        let place = loans.image.as_ref().map_or([0, 0], image::Image::place);
        let number = loans.enter(pages);
        let lending = Arc::clone(lending);
        Some((Self { lending, number }, place))
    }

    /// The window has ended. Makes pages private that no window has any more. Those of a process
    /// that is not still stay pages of the image, which takes no others then.
    pub(crate) fn end(&self, still: Option<&Still<'_>>) {
        // A handler may fork.
        let _none = NoSignals::begin();
        let mut loans = self.lending.loans.lock();
        loans.remove(self.number);
        loans.move_out(still.is_some());
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // A handler may fork.
        let _none = NoSignals::begin();
        self.lending.loans.lock().remove(self.number);
    }
}

/// Maps memory that a peer has moved: `len` bytes at an address of its process, whose image is at
/// `place` and has this witness. Returns the mapping, and these bytes in it.
///
/// # Errors
/// Those of the system; `ACCES` if it is the image of another process.
pub(crate) fn view(
    (place, witness): ([u64; 2], u64),
    (address, len): (u64, u64),
) -> io::Result<(View, Span)> {
    let len = len as usize;
    let pages = around(address, len);
    let within = address as usize - pages.start;
    let view = View::of(place, witness, &pages)?;
    let span = view.span().part(within, len);
    Ok((view, span))
}
