//! The buffers that the program attaches for buffered sends. Source: MPI 5.0, 3.6.

use std::collections::BTreeSet;

use super::delivery::Delivery;
use super::lane::Lane;
use super::operation::{Request, Status};
use super::plan::SendPlan;
use crate::error::{Cause, Result};
use crate::ids::{Context, Mode};
use crate::memory::Span;

/// Bytes that a buffered send takes of the attached buffer beside its body: a cache line, so that
/// empty messages are bounded too. `MPI_BSEND_OVERHEAD` is 512 in the standard ABI, which is the
/// upper bound. Widely used programs attach less, and other libraries accept that. Source: MPI 5.0,
/// 3.6.
pub const BUFFERED_OVERHEAD_BYTES: u64 = 64;

/// Whose buffered sends use a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferOwner {
    /// Those of every communicator that has no buffer of its own.
    Process,
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
pub(super) struct Reserved {
    owner: BufferOwner,
    bytes: u64,
    /// The number of the message in the buffer.
    number: u64,
}

/// All attached buffers.
#[derive(Debug, Default)]
pub(super) struct Buffers(Vec<(BufferOwner, Attached)>);

impl Buffers {
    fn get(&self, owner: BufferOwner) -> Option<&Attached> {
        let found = self.0.iter().find(|(known, _)| *known == owner);
        found.map(|(_, attached)| attached)
    }

    fn get_mut(&mut self, owner: BufferOwner) -> Option<&mut Attached> {
        let found = self.0.iter_mut().find(|(known, _)| *known == owner);
        found.map(|(_, attached)| attached)
    }

    /// The owner of the buffer that a buffered send in `context` uses. Source: MPI 5.0, 3.6.
    fn owner_for(&self, context: Context) -> BufferOwner {
        let own = BufferOwner::Communicator(context.point_to_point());
        match self.get(own) {
            Some(_) => own,
            None => BufferOwner::Process,
        }
    }

    /// Finds room for the message of a send, of `len` bytes, if it is a buffered one. The room is
    /// taken by [`Buffers::put`].
    ///
    /// # Errors
    /// There is not enough.
    #[inline]
    pub(super) fn reserve(&self, plan: &SendPlan, len: u64) -> Result<Option<Box<Reserved>>> {
        match plan.mode {
            Mode::Buffered => self.find_room(plan.context, len).map(Some),
            _ => Ok(None),
        }
    }

    #[inline(never)]
    fn find_room(&self, context: Context, len: u64) -> Result<Box<Reserved>> {
        let bytes = len.saturating_add(BUFFERED_OVERHEAD_BYTES);
        let owner = self.owner_for(context);
        let attached = self.get(owner);
        let most = attached.map_or(0, |attached| attached.bytes);
        let room = most - attached.map_or(0, |attached| attached.used);
        if bytes > room {
            let need = bytes;
            return Err(Cause::BufferFull { need, room, most }.into());
        }
        Ok(Box::new(Reserved {
            owner,
            bytes,
            number: 0,
        }))
    }

    /// Puts a message into the room that was found for it.
    pub(super) fn put(&mut self, reserved: &mut Reserved) {
        if let Some(attached) = self.get_mut(reserved.owner) {
            reserved.number = attached.messages;
            attached.messages += 1;
            attached.used += reserved.bytes;
            attached.inside.insert(reserved.number);
        }
    }

    /// Takes a message out. Returns the requests that complete with it.
    pub(super) fn take_out(&mut self, reserved: &Reserved) -> Vec<Request> {
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
    pub(super) fn used(&self) -> u64 {
        self.0.iter().map(|(_, attached)| attached.used).sum()
    }

    /// Returns true if `request` waits for messages to leave their buffer.
    pub(super) fn has_flush(&self, request: Request) -> bool {
        let mut flushes = self.0.iter().flat_map(|(_, attached)| &attached.flushes);
        flushes.any(|(_, flush)| *flush == request)
    }

    /// Forgets the buffer of a communicator that is gone.
    pub(super) fn forget(&mut self, context: Context) {
        let its = BufferOwner::Communicator(context.point_to_point());
        self.0.retain(|(owner, _)| *owner != its);
    }
}

impl Delivery {
    /// A buffered message has left its buffer.
    #[cold]
    pub(super) fn leave_buffer(&mut self, reserved: &Reserved) {
        for request in self.buffers.take_out(reserved) {
            self.requests.finish(request, Status::EMPTY, None);
        }
    }
}

impl Lane {
    /// Attaches the program's buffer of `bytes` bytes. Source: MPI 5.0, 3.6.
    ///
    /// # Errors
    /// One is attached already.
    pub fn attach(&mut self, owner: BufferOwner, address: usize, bytes: u64) -> Result<()> {
        let buffers = &mut self.delivery.buffers;
        if buffers.get(owner).is_some() {
            let why = "a buffer is already attached: detach it first";
            return Err(Cause::BufferAttach(why).into());
        }
        buffers.0.push((
            owner,
            Attached {
                address,
                bytes,
                used: 0,
                messages: 0,
                inside: BTreeSet::new(),
                flushes: Vec::new(),
            },
        ));
        Ok(())
    }

    /// Takes the attached buffer back if no message waits in it.
    ///
    /// # Errors
    /// None is attached.
    pub fn detach(&mut self, owner: BufferOwner) -> Result<Option<Attached>> {
        let buffers = &mut self.delivery.buffers.0;
        match buffers.iter().position(|(known, _)| *known == owner) {
            None => Err(Cause::BufferAttach("no buffer is attached").into()),
            Some(at) if !buffers[at].1.inside.is_empty() => Ok(None),
            Some(at) => Ok(Some(buffers.swap_remove(at).1)),
        }
    }

    /// Returns true if no buffered message waits. Source: MPI 5.0, 3.6 (`MPI_Buffer_flush`).
    #[must_use]
    pub fn is_flushed(&self, owner: BufferOwner) -> bool {
        let attached = self.delivery.buffers.get(owner);
        attached.is_none_or(|attached| attached.inside.is_empty())
    }

    /// Returns a request that completes when all messages that are in the buffer now have left it.
    /// Source: MPI 5.0, 3.6 (`MPI_Buffer_iflush`).
    pub fn start_flush(&mut self, owner: BufferOwner) -> Request {
        let Delivery {
            buffers, requests, ..
        } = &mut self.delivery;
        let context = match owner {
            BufferOwner::Process => Context::WORLD,
            BufferOwner::Communicator(context) => context,
        };
        match buffers.get_mut(owner) {
            Some(attached) if !attached.inside.is_empty() => {
                let request = requests.open(Some(context), Span::EMPTY.into());
                attached.flushes.push((attached.messages, request));
                request
            }
            _ => requests.open_done(Some(context), Status::EMPTY),
        }
    }
}
