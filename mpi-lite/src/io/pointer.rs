//! The file pointer that all processes of a file share. It counts etypes.
//!
//! Processes of one node have it in memory that they share. Otherwise process 0 has it, and the
//! others ask for it by messages, which the engine answers whatever the program does. No file and
//! no lock is needed.
//!
//! A collective access takes the parts of all at once, when all have come.
//!
//! Source: MPI 5.0, 14.4.4.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::comm::Communicator;
use crate::data::Area;
use crate::engine::{Effects, Handler, Head, OpenPort, Port, Request};
use crate::error::{Cause, Result};
use crate::ids::PeerId;

/// The pointer, seen by one process.
#[derive(Debug)]
pub(super) struct SharedPointer {
    communicator: Communicator,
    home: Home,
}

/// The first word of a head that takes a part; an answer has one word alone.
const TAKE: u64 = 0;

/// A pointer that is moved; no file is longer than an offset can tell.
fn moved(at: u64, count: u64) -> u64 {
    at.saturating_add(count).min(i64::MAX as u64)
}

/// Where the pointer is.
#[derive(Debug)]
enum Home {
    /// In memory of this process, which is alone.
    Here(AtomicU64),
    /// In memory that all processes share.
    Shared,
    /// At process 0.
    AtFirst {
        desk: Arc<Mutex<Desk>>,
        next: AtomicU32,
        _port: OpenPort,
    },
}

/// The pointer at process 0, and what other processes have asked it.
#[derive(Debug, Default)]
struct Desk {
    value: u64,
    /// What this process has asked, by number.
    asked: BTreeMap<u32, Request>,
    answers: BTreeMap<u32, u64>,
}

impl Desk {
    fn take(&mut self, count: u64) -> u64 {
        let old = self.value;
        self.value = moved(old, count);
        old
    }
}

fn first_of(communicator: &Communicator) -> PeerId {
    let first = communicator.group().peer(0);
    first.expect("a communicator has a process 0")
}

impl SharedPointer {
    /// The pointer of a new file. It is somewhere until [`SharedPointer::put`] is called at process
    /// 0.
    pub(super) fn of(communicator: &Communicator) -> Self {
        let home = if communicator.size() == 1 {
            Home::Here(AtomicU64::new(0))
        } else if communicator.shared_number().is_some() {
            Home::Shared
        } else {
            let desk = Arc::<Mutex<Desk>>::default();
            let service = Service {
                desk: Arc::clone(&desk),
                first: first_of(communicator),
            };
            let service = Port::Service(Box::new(service));
            let context = communicator.context().service();
            let port = communicator
                .engine()
                .with(|lane| lane.open_port(context, service));
            Home::AtFirst {
                desk,
                next: AtomicU32::new(0),
                _port: port,
            }
        };
        Self {
            communicator: communicator.clone(),
            home,
        }
    }

    fn number(&self) -> Option<&AtomicU64> {
        match &self.home {
            Home::Here(number) => Some(number),
            Home::Shared => self.communicator.shared_number(),
            Home::AtFirst { .. } => None,
        }
    }

    /// Moves the pointer by `count`. Returns where it was.
    ///
    /// # Errors
    /// `Lost`: process 0 has the pointer, and is gone.
    pub(super) fn take(&self, count: u64) -> Result<u64> {
        if let Some(number) = self.number() {
            let taken = number.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |at| {
                Some(moved(at, count))
            });
            return Ok(taken.unwrap_or_default());
        }
        let Home::AtFirst { desk, next, .. } = &self.home else {
            unreachable!("a pointer that is no number here is elsewhere");
        };
        if self.communicator.rank() == 0 {
            return Ok(desk.lock().take(count));
        }
        let number = next.fetch_add(1, Ordering::Relaxed);
        let context = self.communicator.context().service();
        let first = first_of(&self.communicator);
        let head = [TAKE.to_le_bytes(), count.to_le_bytes()].concat();
        let engine = self.communicator.engine();
        let request = engine.with(|lane| {
            let request = lane.open_operation(context);
            desk.lock().asked.insert(number, request);
            if let Err(error) = lane.begin_operation((first, context, number), head, None) {
                desk.lock().asked.remove(&number);
                lane.finish_operation(request, Some(error));
            }
            request
        });
        engine.wait(Some(request))?.into_result()?;
        let answer = desk.lock().answers.remove(&number);
        answer.ok_or_else(|| Cause::System("process 0 did not tell the file pointer".into()).into())
    }

    /// Where the pointer is.
    ///
    /// # Errors
    /// As [`SharedPointer::take`].
    pub(super) fn get(&self) -> Result<u64> {
        self.take(0)
    }

    /// Sets the pointer. All call this, and nobody uses the pointer before process 0 has.
    pub(super) fn put(&self, value: u64) {
        if self.communicator.rank() > 0 {
            return;
        }
        match (self.number(), &self.home) {
            (Some(number), _) => number.store(value, Ordering::SeqCst),
            (None, Home::AtFirst { desk, .. }) => desk.lock().value = value,
            _ => {}
        }
    }
}

/// Answers who asks for the pointer.
#[derive(Debug)]
struct Service {
    desk: Arc<Mutex<Desk>>,
    first: PeerId,
}

impl Handler for Service {
    fn head(&mut self, head: &Head, effects: &mut Effects) -> Option<Area> {
        let desk = &mut *self.desk.lock();
        let (words, _) = head.bytes().as_chunks();
        match *words {
            [_take, count] => {
                let old = desk.take(u64::from_le_bytes(count));
                effects.send_head(head.from(), head.number(), old.to_le_bytes().to_vec());
            }
            [value] => {
                if let Some(request) = desk.asked.remove(&head.number()) {
                    desk.answers
                        .insert(head.number(), u64::from_le_bytes(value));
                    effects.finish(request, None);
                }
            }
            _ => {}
        }
        None
    }

    fn landed(&mut self, _: PeerId, _: u32, _: u64, _: &mut Effects) {}

    fn sent(&mut self, _: PeerId, _: u32, _: &mut Effects) {}

    fn lost(&mut self, peer: PeerId, effects: &mut Effects) {
        if peer != self.first {
            return;
        }
        for request in core::mem::take(&mut self.desk.lock().asked).into_values() {
            let why = "process 0, which has the shared file pointer, is lost";
            effects.finish(request, Some(Cause::System(why.into()).into()));
        }
    }
}
