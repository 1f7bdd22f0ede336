//! Attaching, detaching and flushing the buffers of buffered sends. Source: MPI 5.0, 3.6.

use super::attached::{Attached, BufferOwner, Reserved};
use super::delivery::Delivery;
use super::lane::Lane;
use super::operation::{Request, Status};
use crate::error::Result;
use crate::ids::Context;
use crate::memory::Span;

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
        self.delivery.buffers.attach(owner, address, bytes)
    }

    /// Takes the attached buffer back if no message waits in it.
    ///
    /// # Errors
    /// None is attached.
    pub fn detach(&mut self, owner: BufferOwner) -> Result<Option<Attached>> {
        self.delivery.buffers.detach(owner)
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
            BufferOwner::Process => Context::WORLD,
            BufferOwner::Communicator(context) => context,
        };
        let flush = buffers.flush(owner, || requests.open(Some(context), Span::EMPTY.into()));
        flush.unwrap_or_else(|| requests.open_done(Some(context), Status::EMPTY))
    }
}
