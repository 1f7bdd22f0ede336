//! Attaching, detaching and flushing the buffers of buffered sends. Source: MPI 5.0, 3.6.

use crate::engine::lane::Lane;
use crate::engine::lane::delivery::Delivery;
use crate::engine::outbox::attached::{Attached, BufferOwner, Reserved};
use crate::engine::requests::request::{Request, Status};
use crate::error::Result;
use crate::ids::Context;
use crate::memory::Span;

impl Delivery {
    /// A buffered message has left its buffer.
    #[cold]
    pub(crate) fn leave_buffer(&mut self, reserved: &Reserved) {
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
        self.delivery.buffers.attach(owner, address, bytes)
    }

    /// Takes the attached buffer back if no message waits in it.
    ///
    /// # Errors
    /// None is attached.
    pub fn detach(&mut self, owner: BufferOwner) -> Result<Option<Attached>> {
        self.delivery.buffers.detach(owner)
    }

    /// Notes that the communicator of `context` derives from the session of this number. Nothing is
    /// to be noted of 0, the world.
    pub fn note_session(&mut self, context: Context, session: u64) {
        if session != 0 {
            self.delivery.buffers.note_session(context, session);
        }
    }

    /// Forgets the buffer of the session of this number, which ends.
    pub fn end_session(&mut self, session: u64) {
        self.delivery.buffers.end_session(session);
    }

    /// Returns true if no buffered message waits. Source: MPI 5.0, 3.6 (`MPI_Buffer_flush`).
    #[must_use]
    pub fn is_flushed(&self, owner: BufferOwner) -> bool {
        self.delivery.buffers.is_flushed(owner)
    }

    /// Returns a request that completes when all messages that are in the buffer now have left it.
    /// Source: MPI 5.0, 3.6 (`MPI_Buffer_iflush`).
    pub fn start_flush(&mut self, owner: BufferOwner) -> Request {
        let Delivery {
            buffers, requests, ..
        } = &mut self.delivery;
        let context = match owner {
            BufferOwner::Process => Some(Context::WORLD),
            BufferOwner::Communicator(context) => Some(context),
            BufferOwner::Session(_) => None,
        };
        let flush = buffers.flush(owner, || requests.open(context, Span::EMPTY.into()));
        flush.unwrap_or_else(|| requests.open_done(context, Status::EMPTY))
    }
}
