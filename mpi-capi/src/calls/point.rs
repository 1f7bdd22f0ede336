//! Point-to-point calls, in the words of the C arguments.

use core::mem::MaybeUninit;

use mpi_lite::data::Area;
use mpi_lite::engine::BufferOwner;
use mpi_lite::ids::Mode;

use crate::abi::Handle;
use crate::args::{OutStatus, Rank, Source, Status, Tag};
use crate::error::Result;
use crate::global::{LIBRARY, Transfer, What};
use crate::objects::comm::CommObject;
use crate::objects::request;

impl CommObject {
    /// Sends and waits until the buffer may be reused.
    ///
    /// # Errors
    /// Those of `Communicator::send`.
    #[inline(always)]
    pub fn send(&self, (area, what): (Area, What), dest: Rank, tag: Tag, mode: Mode) -> Result<()> {
        let mut place = MaybeUninit::uninit();
        let note = || {
            let transfer = Transfer {
                what,
                dest: dest.0,
                tag: tag.0,
            };
            LIBRARY.last().set_transfer(place.write(transfer));
        };
        let to = (dest.dest(), tag.0);
        Ok(self.lite.send_noting(area, to, mode, note)?)
    }

    /// Starts a send.
    ///
    /// # Errors
    /// Those of `Communicator::isend`.
    #[inline(always)]
    pub fn isend(&self, area: Area, dest: Rank, tag: Tag, mode: Mode) -> Result<Handle> {
        let request = self.lite.isend(area, dest.dest(), tag.0, mode)?;
        Ok(request::handle_of(request))
    }

    /// Names the buffer that the program attaches to the communicator.
    pub fn buffers(&self) -> BufferOwner {
        BufferOwner::Communicator(self.lite.context())
    }

    /// Prepares a send.
    ///
    /// # Errors
    /// Those of `Communicator::send_init`.
    pub fn send_init(&self, area: Area, dest: Rank, tag: Tag, mode: Mode) -> Result<Handle> {
        let request = self.lite.send_init(area, dest.dest(), tag.0, mode)?;
        Ok(request::handle_of(request))
    }

    /// Receives a message and lays down its status, also of one that was too long.
    ///
    /// # Errors
    /// Those of `Communicator::recv`.
    #[inline(always)]
    pub fn recv(&self, area: Area, source: Source, tag: Tag, status: OutStatus) -> Result<()> {
        let (source, tag) = (source.selector(), tag.selector());
        let ended = self.lite.receive(area, source, tag)?;
        status.set(ended.status);
        Ok(ended.into_result().map(|_| ())?)
    }

    /// Starts a receive.
    ///
    /// # Errors
    /// Those of `Communicator::irecv`.
    #[inline(always)]
    pub fn irecv(&self, area: Area, source: Source, tag: Tag) -> Result<Handle> {
        let (source, tag) = (source.selector(), tag.selector());
        Ok(request::handle_of(self.lite.irecv(area, source, tag)?))
    }

    /// Prepares a receive.
    ///
    /// # Errors
    /// Those of `Communicator::recv_init`.
    pub fn recv_init(&self, area: Area, source: Source, tag: Tag) -> Result<Handle> {
        let (source, tag) = (source.selector(), tag.selector());
        Ok(request::handle_of(self.lite.recv_init(area, source, tag)?))
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// Those of `Communicator::probe`.
    pub fn probe(&self, source: Source, tag: Tag) -> Result<Status> {
        Ok(self.lite.probe(source.selector(), tag.selector())?.into())
    }

    /// Looks for a message.
    ///
    /// # Errors
    /// Those of `Communicator::iprobe`.
    pub fn iprobe(&self, source: Source, tag: Tag) -> Result<Option<Status>> {
        Ok(self
            .lite
            .iprobe(source.selector(), tag.selector())?
            .map(Status::from))
    }

    /// Waits for a message and takes it out of matching.
    ///
    /// # Errors
    /// Those of `Communicator::mprobe`.
    pub fn mprobe(&self, source: Source, tag: Tag) -> Result<(Handle, Status)> {
        let (message, status) = self.lite.mprobe(source.selector(), tag.selector())?;
        Ok((request::message_handle(message), status.into()))
    }

    /// Looks for a message and takes it out of matching if there is one.
    ///
    /// # Errors
    /// Those of `Communicator::improbe`.
    pub fn improbe(&self, source: Source, tag: Tag) -> Result<Option<(Handle, Status)>> {
        let found = self.lite.improbe(source.selector(), tag.selector())?;
        Ok(found.map(|(message, status)| (request::message_handle(message), status.into())))
    }
}
