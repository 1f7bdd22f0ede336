//! What the ticker tells the launcher about threads that are blocked, and how it answers the
//! launcher's questions. Decision 0051.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::boot::Asked;
use crate::boot::state::RankState;
use crate::clock::Instant;
use crate::engine::report::question::Report;

/// The threads of a process have this long to describe themselves: threads that are not known to
/// wait, and those that are. A machine that is busy wakes them late.
const WINDOW: Duration = Duration::from_millis(300);
const WINDOW_OF_BLOCKED: Duration = Duration::from_millis(700);

/// Between two looks at the answers to a question.
pub(crate) const PACE: Duration = Duration::from_millis(10);

/// Between two looks for a question of the launcher.
pub(crate) const LOOK: Duration = Duration::from_millis(200);

/// The launcher, as the ticker reaches it. No function waits.
pub trait Launcher: fmt::Debug + Send {
    /// Readable if something has come.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// A rank is blocked if nothing has come for its threads for this long.
    fn blocked_after(&self) -> Duration;

    /// Takes what has come.
    fn take(&mut self) -> Asked;

    /// Reports that nothing has come for the program for so long. Returns false if another thread
    /// speaks to the launcher.
    fn blocked(&mut self, time: Duration) -> bool;

    /// Reports that the program goes on. Returns false if another thread speaks to the launcher.
    fn resumed(&mut self) -> bool;

    /// Answers a question.
    fn answer(&mut self, question: u32, state: RankState);
}

/// A question to which the threads are about to answer.
#[derive(Clone, Copy, Debug)]
struct Open {
    question: u32,
    until: Instant,
}

/// The conversation of the ticker with the launcher.
#[derive(Debug)]
pub(crate) struct Inquiry {
    launcher: Box<dyn Launcher>,
    blocked_after: Duration,
    open: Option<Open>,
    /// The blockage that was reported: since when.
    reported: Option<Instant>,
    /// Something has come that has not been taken.
    has_more: bool,
    is_gone: bool,
}

impl Inquiry {
    pub(crate) fn new(launcher: Box<dyn Launcher>) -> Self {
        Self {
            blocked_after: launcher.blocked_after(),
            launcher,
            open: None,
            reported: None,
            // What came with the end of Init may have been read already.
            has_more: true,
            is_gone: false,
        }
    }

    /// Becomes readable if the launcher asks; none if that is not to be watched now.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let is_watched = !self.is_gone && !self.has_more && self.open.is_none();
        is_watched.then(|| self.launcher.descriptor())
    }

    /// Notes that the descriptor was readable.
    pub(crate) fn note_readable(&mut self) {
        self.has_more = true;
    }

    /// Returns true if a question is open: the ticker must look again soon.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Does what is due.
    pub(crate) fn step(&mut self, report: Report<'_>) {
        if self.is_gone {
            return;
        }
        let now = report.now();
        self.tell(report, now);
        if let Some(open) = self.open {
            self.answer(report, open, now);
        } else if core::mem::take(&mut self.has_more) {
            self.take(report, now);
        }
    }

    /// Reports that the program is blocked, or no longer.
    fn tell(&mut self, report: Report<'_>, now: Instant) {
        let since = report.blocked_since();
        if self.reported.is_some() && self.reported != since && self.launcher.resumed() {
            self.reported = None;
        }
        let long = |since: &Instant| now.since(*since) >= self.blocked_after;
        if self.reported.is_none()
            && let Some(since) = since.filter(long)
            && self.launcher.blocked(now.since(since))
        {
            self.reported = Some(since);
        }
    }

    fn take(&mut self, report: Report<'_>, now: Instant) {
        match self.launcher.take() {
            Asked::Question(question) => {
                report.ask(question);
                let is_blocked = report.blocked_since().is_some();
                let until = now.plus(match is_blocked {
                    true => WINDOW_OF_BLOCKED,
                    false => WINDOW,
                });
                self.open = Some(Open { question, until });
            }
            Asked::Nothing => {}
            Asked::Busy => self.has_more = true,
            Asked::Gone => self.is_gone = true,
        }
    }

    fn answer(&mut self, report: Report<'_>, open: Open, now: Instant) {
        if now < open.until && !report.have_all_answered() {
            return report.call_followers();
        }
        self.open = None;
        self.has_more = true;
        self.launcher.answer(open.question, report.close_question());
    }
}
