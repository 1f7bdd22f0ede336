//! Windows whose operations are messages.
//!
//! What an origin does at a target is a stream of records: locks, operations, questions. Short
//! ones are collected and go together, as late as the epoch allows; so a lock, an operation and an
//! unlock are one message. The target carries each stream out in its order, whatever its program
//! does, and answers. Long data follows its record, and lands in the memory of the window.
//!
//! The lane is locked before the desk, here and where the engine calls the port. So messages of a
//! process go out in the order in which they were written.

mod arrivals;
mod desk;
mod locks;
mod origin;
mod record;
mod target;
#[cfg(all(test, feature = "sim"))]
mod tests;

use core::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use self::arrivals::Service;
use self::desk::{Desk, Left, Line, Locked, Out};
use self::record::{INLINE_MOST, Write as _};
use super::attached::SharedAttached;
use super::epochs::LockKind;
use super::operation::{AccessKind, Target, WindowAction};
use super::title::Title;
use crate::comm::Communicator;
use crate::engine::{Engine, Lane, OpenPort, Port, Request, Subject};
use crate::error::{Cause, Result};
use crate::ids::Context;
use crate::memory::Span;

/// A process of a window, and how it speaks to the others.
#[derive(Debug)]
pub(super) struct Far {
    desk: Arc<Mutex<Desk>>,
    engine: Arc<Engine>,
    context: Context,
    me: u32,
    /// The program loads and stores the memory of others, so a lock must be there before.
    is_shared: bool,
    title: Title,
    port: Mutex<Option<OpenPort>>,
}

impl Far {
    pub(super) fn new(
        communicator: &Communicator,
        (memory, is_shared): (Span, bool),
        attached: Option<SharedAttached>,
        title: &Title,
    ) -> Self {
        let engine = communicator.engine();
        let group = communicator.group();
        let desk = Arc::new(Mutex::new(Desk::new(group, title, memory, attached)));
        let context = communicator.context().window();
        let port = Port::Window(Box::new(Service(Arc::clone(&desk))));
        let port = engine.with(|lane| lane.open_port(context, port));
        Self {
            desk,
            engine: Arc::clone(engine),
            context,
            me: communicator.rank(),
            is_shared,
            title: title.clone(),
            port: Mutex::new(Some(port)),
        }
    }

    /// Lets the desk act, and sends what follows.
    fn act<T>(&self, act: impl FnOnce(&mut Desk, &mut Out) -> Result<T>) -> Result<T> {
        self.engine
            .with(|lane| act_on(lane, (&self.desk, self.context), act))
    }

    /// Waits until each of `ranks` is `ready`, and returns the first error of their operations.
    fn wait_for(
        &self,
        ranks: &[u32],
        says: impl Fn(u32, &Line) -> String,
        ready: impl Fn(&Line) -> bool,
    ) -> Result<()> {
        let first = |desk: &Desk| {
            let mut ranks = ranks.iter().copied();
            ranks.find(|&rank| !ready(&desk.lines[rank as usize]))
        };
        let subject = |_: &Lane| {
            let desk = self.desk.lock();
            let text = first(&desk).map(|rank| says(rank, &desk.lines[rank as usize]));
            Subject::Words(text.unwrap_or_default().into())
        };
        self.engine.wait_until(subject, |lane| {
            let desk = self.desk.lock();
            let mut ranks = ranks.iter().copied();
            if let Some(rank) = ranks.find(|&rank| desk.lines[rank as usize].is_lost) {
                return Some(Err(lane.peers().error(desk.peer(rank))));
            }
            first(&desk).is_none().then_some(Ok(()))
        })?;
        let desk = &mut *self.desk.lock();
        let mut errors = ranks.iter().map(|&rank| desk.take_error(rank));
        errors.find(Result::is_err).unwrap_or(Ok(()))
    }

    /// Begins an operation; `at` is where displacement 0 of the target's datatype lies.
    pub(super) fn perform(
        &self,
        what: (&WindowAction, AccessKind),
        target: &Target,
        at: i64,
        request: Option<Request>,
    ) -> Result<()> {
        let bytes = target.datatype.bytes(target.count)?;
        if bytes > INLINE_MOST {
            self.check_long(target.rank, bytes)?;
            if !matches!(what.0, WindowAction::Get(_)) {
                self.await_lock(target.rank)?;
            }
        }
        let is_near = self.act(|desk, out| {
            desk.operate(what, (target, at), request, out)?;
            Ok(desk.lines[target.rank as usize].is_near())
        })?;
        if target.rank == self.me {
            // The program may look at its memory, and others may change it next.
            return self.flush(core::iter::once(self.me));
        }
        match is_near {
            true => Ok(()),
            false => self.send_and_wait(&[target.rank], Line::is_near),
        }
    }

    /// Checks that a link carries so many bytes at a time.
    fn check_long(&self, rank: u32, len: u64) -> Result<()> {
        let peer = self.desk.lock().peer(rank);
        let limit = self.engine.with(|lane| lane.body_limit(peer));
        match len > limit {
            true => Err(Cause::TooLong { len, limit }.into()),
            false => Ok(()),
        }
    }

    /// Waits for the lock of a target, so that long data does not pile up there.
    fn await_lock(&self, rank: u32) -> Result<()> {
        if self.desk.lock().lines[rank as usize].is_locked() {
            return Ok(());
        }
        self.act(|desk, out| {
            desk.tell_lock(rank, out);
            desk.ask(rank, out);
            Ok(())
        })?;
        self.wait_over(&[rank])?;
        self.desk.lock().lines[rank as usize].note_locked();
        Ok(())
    }

    fn operations_at(&self, rank: u32, line: &Line) -> String {
        let title = &self.title;
        match line.holder {
            Some(holder) => {
                format!("the lock of rank {rank} of {title}, which rank {holder} had or has")
            }
            None => format!("operations on rank {rank} of {title}"),
        }
    }

    /// Completes all operations at these targets.
    pub(super) fn flush(&self, ranks: impl Iterator<Item = u32>) -> Result<()> {
        let ranks: Vec<u32> = ranks.collect();
        self.act(|desk, out| {
            ranks.iter().for_each(|&rank| desk.ask(rank, out));
            Ok(())
        })?;
        self.wait_over(&ranks)
    }

    /// Sends what is collected, and takes what has come: a program may wait in a loop for a change
    /// of its memory.
    pub(super) fn sync(&self) -> Result<()> {
        self.act(|desk, out| {
            (0..desk.lines.len() as u32).for_each(|rank| desk.send(rank, None, out));
            Ok(())
        })?;
        self.engine.look(|_| ());
        Ok(())
    }

    fn wait_over(&self, ranks: &[u32]) -> Result<()> {
        let desk = self.desk.lock();
        let is_idle = |&&rank: &&u32| {
            let line = &desk.lines[rank as usize];
            line.is_over() && line.error.is_none() && !line.is_lost
        };
        let busy: Vec<u32> = ranks
            .iter()
            .filter(|rank| !is_idle(rank))
            .copied()
            .collect();
        drop(desk);
        // Nobody is waited for at whom this process has done nothing.
        self.wait_for(
            &busy,
            |rank, line| self.operations_at(rank, line),
            Line::is_over,
        )
    }

    /// Completes all operations on these targets at this process.
    pub(super) fn flush_local(&self, ranks: impl Iterator<Item = u32>) -> Result<()> {
        let ranks: Vec<u32> = ranks.collect();
        self.send_and_wait(&ranks, Line::is_over_here)
    }

    /// Sends what is collected for these targets, and waits until each of them is `ready`.
    fn send_and_wait(&self, ranks: &[u32], ready: impl Fn(&Line) -> bool) -> Result<()> {
        self.act(|desk, out| {
            ranks.iter().for_each(|&rank| desk.send(rank, None, out));
            Ok(())
        })?;
        self.wait_for(ranks, |rank, line| self.operations_at(rank, line), ready)
    }

    /// Locks targets, with the first operation on each; at once where the program itself may load
    /// and store the memory.
    pub(super) fn lock(&self, ranks: &[u32], kind: LockKind) -> Result<()> {
        let now: Vec<u32> = match self.is_shared {
            true => ranks.into(),
            false => ranks
                .iter()
                .copied()
                .filter(|&rank| rank == self.me)
                .collect(),
        };
        self.act(|desk, out| {
            for &rank in ranks {
                let line = &mut desk.lines[rank as usize];
                line.locked = Locked::Wanted(kind);
                line.holder = None;
            }
            for &rank in &now {
                desk.tell_lock(rank, out);
                desk.ask(rank, out);
            }
            Ok(())
        })?;
        match now.is_empty() {
            true => Ok(()),
            false => self.wait_over(&now),
        }
    }

    /// Waits for long data of these targets. They may change it once they hear that the epoch is
    /// over here, and a link may read it until it has come.
    fn await_bodies(&self, ranks: &[u32]) -> Result<()> {
        let desk = self.desk.lock();
        let has_bodies = |&&rank: &&u32| desk.lines[rank as usize].bodies > 0;
        let busy: Vec<u32> = ranks.iter().filter(has_bodies).copied().collect();
        drop(desk);
        match busy.is_empty() {
            true => Ok(()),
            false => self.send_and_wait(&busy, |line| line.bodies == 0),
        }
    }

    /// Completes all operations at these targets, and unlocks them.
    pub(super) fn unlock(&self, ranks: &[u32]) -> Result<()> {
        let come = self.await_bodies(ranks);
        self.act(|desk, out| {
            ranks.iter().for_each(|&rank| desk.unlock(rank, out));
            Ok(())
        })?;
        let unlocked = self.wait_over(ranks);
        let desk = &mut *self.desk.lock();
        ranks
            .iter()
            .for_each(|&rank| desk.lines[rank as usize].holder = None);
        come.and(unlocked)
    }

    /// Tells these ranks that they may access the memory of this process.
    pub(super) fn post(&self, ranks: &[u32]) -> Result<()> {
        self.act(|desk, out| {
            for &rank in ranks {
                desk.answers(rank, 1, out).posted();
                desk.answer(rank, None, out);
            }
            Ok(())
        })
    }

    pub(super) fn await_post(&self, rank: u32) -> Result<()> {
        let says =
            |rank, _: &Line| format!("the post (MPI_Win_post) of rank {rank} of {}", self.title);
        self.wait_for(&[rank], says, |line| line.posts > line.posts_taken)?;
        self.desk.lock().lines[rank as usize].posts_taken += 1;
        Ok(())
    }

    /// Completes all operations at these targets, and tells them so.
    pub(super) fn complete(&self, ranks: &[u32]) -> Result<()> {
        let come = self.await_bodies(ranks);
        self.act(|desk, out| {
            for &rank in ranks {
                desk.make_room(rank, 1, out);
                let line = &mut desk.lines[rank as usize];
                line.is_dirty = true;
                line.batch.complete();
                desk.ask(rank, out);
            }
            Ok(())
        })?;
        come.and(self.wait_over(ranks))
    }

    /// Waits until each of these ranks has completed once more.
    pub(super) fn wait(&self, ranks: &[u32]) -> Result<()> {
        let subject = |_: &Lane| {
            let title = &self.title;
            let text = format!("ranks {ranks:?} of {title} to complete (MPI_Win_complete)");
            Subject::Words(text.into())
        };
        self.engine.wait_until(subject, |lane| {
            let desk = &mut *self.desk.lock();
            if desk.take_completes(ranks.len()) {
                return Some(Ok(()));
            }
            let mut ranks = ranks.iter().copied();
            let lost = ranks.find(|&rank| desk.lines[rank as usize].is_lost)?;
            Some(Err(lane.peers().error(desk.peer(lost))))
        })
    }

    /// Returns true if they have, without waiting.
    pub(super) fn test(&self, ranks: &[u32]) -> Result<bool> {
        let is_over = self
            .engine
            .look(|_| self.desk.lock().take_completes(ranks.len()));
        Ok(is_over)
    }

    /// Waits until no link reads this memory for answers any more.
    pub(super) fn end_answers(&self, memory: &Range<u64>) {
        let subject = |_: &Lane| Subject::Words("answers to be sent".into());
        let reads = |left: &Left| match left {
            Left::Operation(_) => false,
            Left::Answer(None) => true,
            Left::Answer(Some(range)) => range.start < memory.end && memory.start < range.end,
        };
        self.engine.wait_until(subject, |_| {
            let desk = self.desk.lock();
            let is_read = desk.leaving.values().any(|leaving| reads(&leaving.what));
            (!is_read).then_some(())
        });
    }

    /// Ends the port. All processes have come, so nothing more is asked.
    pub(super) fn end(&self) {
        self.end_answers(&(0..u64::MAX));
        self.port.lock().take();
    }
}

/// Lets a desk act, and sends what follows.
fn act_on<T>(
    lane: &mut Lane,
    (desk, context): (&Mutex<Desk>, Context),
    act: impl FnOnce(&mut Desk, &mut Out) -> Result<T>,
) -> Result<T> {
    let mut out = Out::default();
    let mut done = act(&mut desk.lock(), &mut out);
    for mail in core::mem::take(&mut out.mails) {
        let address = (mail.peer, context, mail.number);
        if let Err(error) = lane.begin_operation(address, mail.head, mail.body) {
            // Nothing else can be wrong: how long a body may be was looked at before.
            desk.lock().lose(mail.rank, &mut out);
            done = done.and(Err(error));
        }
    }
    for (request, error) in out.finished {
        lane.finish_operation(request, error);
    }
    done
}

impl Desk {
    /// Unlocks a target, and asks it to say when all is done there. One that was not told needs
    /// nothing.
    fn unlock(&mut self, rank: u32, out: &mut Out) {
        let line = &mut self.lines[rank as usize];
        let locked = core::mem::replace(&mut line.locked, Locked::Not);
        if matches!(locked, Locked::Told | Locked::Granted) {
            line.is_dirty = true;
            self.make_room(rank, 1, out);
            self.lines[rank as usize].batch.unlock();
            self.ask(rank, out);
        }
    }

    /// Takes so many completions, if there are as many.
    fn take_completes(&mut self, count: usize) -> bool {
        let all = self.completes_taken + count as u64;
        let is_over = self.completed >= all;
        if is_over {
            self.completes_taken = all;
        }
        is_over
    }
}
