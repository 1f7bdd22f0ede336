//! Point-to-point messages in a communicator. Source: MPI 5.0, 3.2 to 3.7, 3.10.

use super::Communicator;
use crate::data::Buffer;
use crate::engine::matching::Pattern;
use crate::engine::{ReceivePlan, Request, SendPlan, Status};
use crate::error::{Error, Result};
use crate::ids::{Dest, Mode, Source, TagSelector};
use crate::transport::Peer;

impl Communicator {
    /// Starts a send of `buffer` to `dest` with `tag` (0 or more) in `mode`.
    ///
    /// * `buffer` stays valid and untouched until the request completes.
    /// * The request completes when the buffer may be reused; in synchronous mode, when a
    ///   matching receive has begun.
    ///
    /// # Errors
    /// `Rank`, `Tag`, `Count`, `NullBuffer`: the arguments. `BufferFull`: buffered mode without
    /// room. `TooLong`, `Lost`: the transport.
    ///
    /// Source: MPI 5.0, 3.7.2 and 3.4.
    pub fn isend(&self, buffer: Buffer, dest: Dest, tag: i32, mode: Mode) -> Result<Request> {
        let plan = self.send_plan(buffer, dest, tag, mode)?;
        self.engine().with(|lane| lane.send(&plan))
    }

    /// Sends and waits until `isend`'s request would complete.
    ///
    /// # Errors
    /// As [`Communicator::isend`].
    ///
    /// Source: MPI 5.0, 3.2.1.
    pub fn send(&self, buffer: Buffer, dest: Dest, tag: i32, mode: Mode) -> Result<()> {
        let request = self.isend(buffer, dest, tag, mode)?;
        self.engine().wait(Some(request))?.into_result().map(|_| ())
    }

    /// Starts a receive into `buffer` of a message from `source` with `tag`.
    ///
    /// * `buffer` stays valid and untouched until the request completes.
    /// * The request completes when the message is in `buffer`; its status tells source, tag and
    ///   bytes.
    ///
    /// # Errors
    /// `Rank`, `Tag`, `Count`, `NullBuffer`: the arguments. A longer message completes the request
    /// with `Truncate`; a lost peer with `Lost`.
    ///
    /// Source: MPI 5.0, 3.7.2 and 3.5 (order).
    pub fn irecv(&self, buffer: Buffer, source: Source, tag: TagSelector) -> Result<Request> {
        let plan = self.receive_plan(buffer, source, tag)?;
        self.engine().with(|lane| lane.receive(plan))
    }

    /// Receives and waits for the message.
    ///
    /// # Errors
    /// As [`Communicator::irecv`] and its request.
    ///
    /// Source: MPI 5.0, 3.2.4.
    pub fn recv(&self, buffer: Buffer, source: Source, tag: TagSelector) -> Result<Status> {
        let request = self.irecv(buffer, source, tag)?;
        self.engine().wait(Some(request))?.into_result()
    }

    /// Sends one message and receives another, in any order. Source: MPI 5.0, 3.11.
    ///
    /// # Errors
    /// As [`Communicator::isend`] and [`Communicator::irecv`].
    pub fn sendrecv(
        &self,
        (send, dest, send_tag): (Buffer, Dest, i32),
        (receive, source, tag): (Buffer, Source, TagSelector),
    ) -> Result<Status> {
        // Both are checked before either starts: an error leaves nothing behind.
        let send = self.send_plan(send, dest, send_tag, Mode::Standard)?;
        let receive = self.receive_plan(receive, source, tag)?;
        self.run_both(&send, receive)
    }

    /// Sends the contents of `buffer` and receives into it. Source: MPI 5.0, 3.11.
    ///
    /// # Errors
    /// As [`Communicator::isend`] and [`Communicator::irecv`].
    pub fn sendrecv_replace(
        &self,
        buffer: Buffer,
        (dest, send_tag): (Dest, i32),
        (source, tag): (Source, TagSelector),
    ) -> Result<Status> {
        buffer.check()?;
        let mut copy = buffer.pack();
        let send = (Buffer::of_bytes(&mut copy), dest, send_tag);
        self.sendrecv(send, (buffer, source, tag))
    }

    fn run_both(&self, send: &SendPlan, receive: ReceivePlan) -> Result<Status> {
        let receiving = self.engine().with(|lane| lane.receive(receive))?;
        let sending = match self.engine().with(|lane| lane.send(send)) {
            Ok(sending) => sending,
            Err(error) => {
                // The posted receive must not outlive the call that owns its buffer.
                let withdrawn = self.engine().with(|lane| lane.cancel(receiving));
                self.engine().wait(Some(receiving))?;
                withdrawn?;
                return Err(error);
            }
        };
        let done = self.engine().wait_all(&[Some(receiving), Some(sending)])?;
        let [received, sent]: [_; 2] = done.try_into().expect("two requests, two completions");
        sent.into_result()?;
        received.into_result()
    }

    /// Exchanges messages of a collective: sends to one rank, receives from another.
    pub(crate) fn exchange_in_collective(
        &self,
        (send, to): (Buffer, usize),
        (receive, from): (Buffer, usize),
        tag: i32,
    ) -> Result<()> {
        let send = self.collective_send(send, to, tag);
        let receive = self.collective_receive(receive, from, tag);
        self.run_both(&send, receive).map(|_| ())
    }

    /// Sends a message of a collective to rank `to` and waits until its buffer may be reused.
    pub(crate) fn send_in_collective(&self, buffer: Buffer, to: usize, tag: i32) -> Result<()> {
        let plan = self.collective_send(buffer, to, tag);
        let request = self.engine().with(|lane| lane.send(&plan))?;
        self.engine().wait(Some(request))?.into_result().map(|_| ())
    }

    /// Receives a message of a collective from rank `from`.
    pub(crate) fn recv_in_collective(&self, buffer: Buffer, from: usize, tag: i32) -> Result<()> {
        let plan = self.collective_receive(buffer, from, tag);
        let request = self.engine().with(|lane| lane.receive(plan))?;
        self.engine().wait(Some(request))?.into_result().map(|_| ())
    }

    fn collective_send(&self, buffer: Buffer, to: usize, tag: i32) -> SendPlan {
        let to = u32::try_from(to)
            .ok()
            .and_then(|rank| self.group().peer(rank));
        SendPlan {
            to: Some(to.expect("a collective sends to its members")),
            context: self.context().collective(),
            source: self.rank(),
            tag,
            mode: Mode::Standard,
            buffer,
        }
    }

    fn collective_receive(&self, buffer: Buffer, from: usize, tag: i32) -> ReceivePlan {
        let context = self.context().collective();
        let source = u32::try_from(from).ok();
        ReceivePlan {
            pattern: Some(Pattern {
                context,
                source,
                tag: Some(tag),
            }),
            buffer,
        }
    }

    pub(super) fn send_plan(
        &self,
        buffer: Buffer,
        dest: Dest,
        tag: i32,
        mode: Mode,
    ) -> Result<SendPlan> {
        let to = self.peer("dest", dest)?;
        if tag < 0 {
            return Err(Error::Tag(tag));
        }
        buffer.check()?;
        let (context, source) = (self.context(), self.rank());
        Ok(SendPlan {
            to,
            context,
            source,
            tag,
            mode,
            buffer,
        })
    }

    fn peer(&self, what: &'static str, dest: Dest) -> Result<Option<Peer>> {
        let Dest::Rank(rank) = dest else {
            return Ok(None);
        };
        let size = self.size();
        let peer = u32::try_from(rank)
            .ok()
            .and_then(|rank| self.group().peer(rank));
        peer.map(Some).ok_or(Error::Rank { what, rank, size })
    }

    pub(super) fn receive_plan(
        &self,
        buffer: Buffer,
        source: Source,
        tag: TagSelector,
    ) -> Result<ReceivePlan> {
        buffer.check()?;
        Ok(ReceivePlan {
            pattern: self.pattern(source, tag)?,
            buffer,
        })
    }

    /// What a receive or probe looks for; `None` for `MPI_PROC_NULL`.
    pub(super) fn pattern(&self, source: Source, tag: TagSelector) -> Result<Option<Pattern>> {
        let source = match source {
            Source::Null => return Ok(None),
            Source::Any => None,
            Source::Rank(rank) => {
                self.peer("source", Dest::Rank(rank))?;
                u32::try_from(rank).ok()
            }
        };
        let tag = match tag {
            TagSelector::Any => None,
            TagSelector::Tag(tag) if tag < 0 => return Err(Error::Tag(tag)),
            TagSelector::Tag(tag) => Some(tag),
        };
        Ok(Some(Pattern {
            context: self.context(),
            source,
            tag,
        }))
    }
}
