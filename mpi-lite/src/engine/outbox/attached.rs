//! The buffers that the program attaches for buffered sends. Source: MPI 5.0, 3.6.

use core::iter;
use std::collections::{BTreeMap, BTreeSet};

use crate::engine::requests::Request;
use crate::engine::tasks::SendPlan;
use crate::error::{Cause, Result};
use crate::ids::{Context, Mode};

/// Bytes that a buffered send takes of the attached buffer beside its body: a cache line, so that
/// empty messages are bounded too. `MPI_BSEND_OVERHEAD` is 512 in the standard ABI, which is the
/// upper bound. Widely used programs attach less, and other libraries accept that. Source: MPI 5.0,
/// 3.6.
pub const BUFFERED_OVERHEAD_BYTES: u64 = 64;

/// Whose buffered sends use a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferOwner {
    /// Those of every communicator that has no buffer of its own and whose session has none.
    Process,
    /// Those of every communicator that derives from the session of this number, not 0, and that
    /// has no buffer of its own.
    Session(u64),
    /// Those of the communicator whose point-to-point messages have this context.
    Communicator(Context),
}

/// A buffer that the program attached for buffered sends. Source: MPI 5.0, 3.6.
#[derive(Clone, Debug)]
pub struct Attached {
    /// The program's address, given back at detach.
    pub address: usize,
    /// Bytes.
    pub bytes: u64,
    used: u64,
    /// How many messages have been put into it.
    messages: u64,
    /// The numbers of those that are still in it.
    inside: BTreeSet<u64>,
    /// Requests that complete when all messages before this number have left it.
    flushes: Vec<(u64, Request)>,
}

/// Room in a buffer that a message takes.
#[derive(Debug)]
pub(in crate::engine) struct Reserved {
    owner: BufferOwner,
    bytes: u64,
    /// The number of the message in the buffer.
    number: u64,
}

/// The buffers that the program attaches for buffered sends. Source: MPI 5.0, 3.6.
#[derive(Debug, Default)]
pub struct Buffers {
    all: Vec<(BufferOwner, Attached)>,
    /// The sessions of communicators, by the context of their point-to-point messages. Those of
    /// the world are not among them.
    sessions: BTreeMap<Context, u64>,
}

impl Buffers {
    /// Attaches the program's buffer of `bytes` bytes. Source: MPI 5.0, 3.6.
    ///
    /// # Errors
    /// One is attached already.
    pub fn attach(&mut self, owner: BufferOwner, address: usize, bytes: u64) -> Result<()> {
        if self.get(owner).is_some() {
            let why = "a buffer is already attached: detach it first";
            return Err(Cause::BufferAttach(why).into());
        }
        let attached = Attached {
            address,
            bytes,
            used: 0,
            messages: 0,
            inside: BTreeSet::new(),
            flushes: Vec::new(),
        };
        self.all.push((owner, attached));
        Ok(())
    }

    /// Takes an attached buffer back if no message waits in it.
    ///
    /// # Errors
    /// None is attached.
    pub fn detach(&mut self, owner: BufferOwner) -> Result<Option<Attached>> {
        match self.all.iter().position(|(known, _)| *known == owner) {
            None => Err(Cause::BufferAttach("no buffer is attached").into()),
            Some(at) if !self.all[at].1.inside.is_empty() => Ok(None),
            Some(at) => Ok(Some(self.all.swap_remove(at).1)),
        }
    }

    /// Returns true if no buffered message waits. Source: MPI 5.0, 3.6 (`MPI_Buffer_flush`).
    #[must_use]
    pub fn is_flushed(&self, owner: BufferOwner) -> bool {
        let attached = self.get(owner);
        attached.is_none_or(|attached| attached.inside.is_empty())
    }

    /// Notes a request that completes when what is in the buffer now has left it. Returns `None` if
    /// nothing is in it.
    pub(crate) fn flush(
        &mut self,
        owner: BufferOwner,
        open: impl FnOnce() -> Request,
    ) -> Option<Request> {
        let attached = self.get_mut(owner)?;
        if attached.inside.is_empty() {
            return None;
        }
        let request = open();
        attached.flushes.push((attached.messages, request));
        Some(request)
    }

    fn get(&self, owner: BufferOwner) -> Option<&Attached> {
        let found = self.all.iter().find(|(known, _)| *known == owner);
        found.map(|(_, attached)| attached)
    }

    fn get_mut(&mut self, owner: BufferOwner) -> Option<&mut Attached> {
        let found = self.all.iter_mut().find(|(known, _)| *known == owner);
        found.map(|(_, attached)| attached)
    }

    /// The owner of the buffer that a buffered send in `context` uses. Source: MPI 5.0, 3.6.
    fn owner_for(&self, context: Context) -> BufferOwner {
        let context = context.point_to_point();
        let own = BufferOwner::Communicator(context);
        let session = self.sessions.get(&context).copied();
        let mut owners = iter::once(own).chain(session.map(BufferOwner::Session));
        let has_buffer = |owner: &BufferOwner| self.get(*owner).is_some();
        owners.find(has_buffer).unwrap_or(BufferOwner::Process)
    }

    /// Notes that the communicator of `context` derives from the session of this number. Nothing is
    /// to be noted of 0, the world.
    pub fn note_session(&mut self, context: Context, session: u64) {
        if session != 0 {
            self.sessions.insert(context.point_to_point(), session);
        }
    }

    /// Finds room for the message of a send, of `len` bytes, if it is a buffered one. The room is
    /// taken by [`Buffers::put`].
    ///
    /// # Errors
    /// There is not enough.
    #[inline]
    pub(in crate::engine) fn reserve(&self, plan: &SendPlan, len: u64) -> Result<Option<Reserved>> {
        match plan.mode {
            Mode::Buffered => self.find_room(plan.context, len).map(Some),
            _ => Ok(None),
        }
    }

    #[inline(never)]
    fn find_room(&self, context: Context, len: u64) -> Result<Reserved> {
        let bytes = len.saturating_add(BUFFERED_OVERHEAD_BYTES);
        let owner = self.owner_for(context);
        let attached = self.get(owner);
        let most = attached.map_or(0, |attached| attached.bytes);
        let room = most - attached.map_or(0, |attached| attached.used);
        if bytes > room {
            let need = bytes;
            return Err(Cause::BufferFull { need, room, most }.into());
        }
        Ok(Reserved {
            owner,
            bytes,
            number: 0,
        })
    }

    /// Puts a message into the room that was found for it.
    pub(in crate::engine) fn put(&mut self, reserved: &mut Reserved) {
        if let Some(attached) = self.get_mut(reserved.owner) {
            reserved.number = attached.messages;
            attached.messages += 1;
            attached.used += reserved.bytes;
            attached.inside.insert(reserved.number);
        }
    }

    /// Takes a message out. Returns the requests that complete with it.
    pub(in crate::engine) fn take_out(&mut self, reserved: &Reserved) -> Vec<Request> {
        let Some(attached) = self.get_mut(reserved.owner) else {
            return Vec::new();
        };
        attached.used -= reserved.bytes;
        attached.inside.remove(&reserved.number);
        let first = attached.inside.first().copied();
        let is_over = |(until, _): &mut (u64, Request)| first.is_none_or(|first| *until <= first);
        let over = attached.flushes.extract_if(.., is_over);
        over.map(|(_, request)| request).collect()
    }

    /// Bytes in use, of all.
    pub(crate) fn used(&self) -> u64 {
        self.all.iter().map(|(_, attached)| attached.used).sum()
    }

    /// Returns true if `request` waits for messages to leave their buffer.
    pub(crate) fn has_flush(&self, request: Request) -> bool {
        let mut flushes = self.all.iter().flat_map(|(_, attached)| &attached.flushes);
        flushes.any(|(_, flush)| *flush == request)
    }

    /// Forgets the buffer of a session that ends.
    pub fn end_session(&mut self, session: u64) {
        let its = BufferOwner::Session(session);
        self.all.retain(|(owner, _)| *owner != its);
    }

    /// Forgets the buffer and the session of a communicator that is gone.
    pub(crate) fn forget(&mut self, context: Context) {
        let context = context.point_to_point();
        let its = BufferOwner::Communicator(context);
        self.all.retain(|(owner, _)| *owner != its);
        self.sessions.remove(&context);
    }
}
