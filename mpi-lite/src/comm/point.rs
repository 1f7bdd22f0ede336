//! Point-to-point messages in a communicator. Source: MPI 5.0, 3.2 to 3.7, 3.10.

use super::{Call, Communicator, mismatch};
use crate::data::{Area, Buffer};
use crate::engine::matching::Pattern;
use crate::engine::{Calls, Completion, ReceivePlan, Request, SendPlan, Status};
use crate::error::{Cause, Error, Result};
use crate::ids::{Dest, Mode, Source, TagSelector};
use crate::node::site::About;
use crate::transport::PeerId;

/// Where a message goes.
#[derive(Clone, Copy, Debug)]
pub struct SendTo {
    /// The receiver.
    pub dest: Dest,
    /// 0 or more.
    pub tag: i32,
}

/// Which message is received.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveFrom {
    /// The sender.
    pub source: Source,
    /// Its tag, or any.
    pub tag: TagSelector,
}

impl Communicator {
    /// Starts a send of `area` to `dest` with `tag` (0 or more) in `mode`.
    ///
    /// * `area` stays valid and untouched until the request completes.
    /// * The request completes when the area may be reused; in synchronous mode, when a
    ///   matching receive has begun.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments. `BufferFull`: buffered mode without
    /// room. `TooLong`, `Lost`: the transport.
    ///
    /// Source: MPI 5.0, 3.7.2 and 3.4.
    #[inline(always)]
    pub fn isend(&self, area: Area, dest: Dest, tag: i32, mode: Mode) -> Result<Request> {
        let plan = self.send_plan(area, dest, tag, mode)?;
        self.engine().start_send(&plan)
    }

    /// Sends and waits until `isend`'s request would complete.
    ///
    /// # Errors
    /// As [`Communicator::isend`].
    ///
    /// Source: MPI 5.0, 3.2.1.
    #[inline(always)]
    pub fn send(&self, area: Area, dest: Dest, tag: i32, mode: Mode) -> Result<()> {
        self.send_noting(area, (dest, tag), mode, || ())
    }

    /// As [`Communicator::send`]. Calls `note` before it may wait.
    ///
    /// # Errors
    /// As [`Communicator::isend`].
    #[inline(always)]
    pub fn send_noting(
        &self,
        area: Area,
        (dest, tag): (Dest, i32),
        mode: Mode,
        note: impl FnOnce(),
    ) -> Result<()> {
        let plan = self.send_plan(area, dest, tag, mode)?;
        self.engine().send_noting(&plan, note)
    }

    /// Starts a receive into `area` of a message from `source` with `tag`.
    ///
    /// * `area` stays valid and untouched until the request completes.
    /// * The request completes when the message is in `area`; its status tells source, tag and
    ///   bytes.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments. A longer message completes the request
    /// with `Truncate`; a lost peer with `Lost`.
    ///
    /// Source: MPI 5.0, 3.7.2 and 3.5 (order).
    #[inline(always)]
    pub fn irecv(&self, area: Area, source: Source, tag: TagSelector) -> Result<Request> {
        let plan = self.receive_plan(area, source, tag)?;
        Ok(self.engine().start_receive(plan))
    }

    /// Receives and waits for the message.
    ///
    /// # Errors
    /// As [`Communicator::irecv`] and its request.
    ///
    /// Source: MPI 5.0, 3.2.4.
    pub fn recv(&self, area: Area, source: Source, tag: TagSelector) -> Result<Status> {
        self.receive(area, source, tag)?.into_result()
    }

    /// Like [`Communicator::recv`], and the status is known even of a receive that went wrong.
    ///
    /// # Errors
    /// As [`Communicator::irecv`].
    #[inline(always)]
    pub fn receive(&self, area: Area, source: Source, tag: TagSelector) -> Result<Completion> {
        let plan = self.receive_plan(area, source, tag)?;
        self.engine().receive(plan)
    }

    /// Sends one message and receives another, in any order. Source: MPI 5.0, 3.11.
    ///
    /// # Errors
    /// As [`Communicator::isend`] and [`Communicator::irecv`].
    pub fn sendrecv(
        &self,
        send: Area,
        to: SendTo,
        receive: Area,
        from: ReceiveFrom,
    ) -> Result<Status> {
        // Both are checked before either starts: an error leaves nothing behind.
        let send = self.send_plan(send, to.dest, to.tag, Mode::Standard)?;
        let receive = self.receive_plan(receive, from.source, from.tag)?;
        self.engine().exchange(&send, receive)
    }

    /// Sends the contents of `buffer` and receives into it. Source: MPI 5.0, 3.11.
    ///
    /// # Errors
    /// As [`Communicator::isend`] and [`Communicator::irecv`].
    pub fn sendrecv_replace(
        &self,
        buffer: Buffer,
        to: SendTo,
        from: ReceiveFrom,
    ) -> Result<Status> {
        buffer.check()?;
        let copy = Buffer::holding(&buffer.pack())?;
        self.sendrecv(copy.area()?, to, buffer.area()?, from)
    }

    /// Starts to send one message and to receive another: one request for both, which completes
    /// when both are done, with the status of the receive. Source: MPI 5.0, 3.11.
    ///
    /// # Errors
    /// As [`Communicator::isend`] and [`Communicator::irecv`].
    pub fn isendrecv(
        &self,
        send: Area,
        to: SendTo,
        receive: Area,
        from: ReceiveFrom,
    ) -> Result<Request> {
        let send = self.send_plan(send, to.dest, to.tag, Mode::Standard)?;
        let receive = self.receive_plan(receive, from.source, from.tag)?;
        self.engine().start_exchange(&send, receive)
    }

    /// As [`Communicator::isendrecv`]: sends the contents of `buffer` and receives into it. Source:
    /// MPI 5.0, 3.11.
    ///
    /// # Errors
    /// As [`Communicator::isend`] and [`Communicator::irecv`].
    pub fn isendrecv_replace(
        &self,
        buffer: &Buffer,
        to: SendTo,
        from: ReceiveFrom,
    ) -> Result<Request> {
        buffer.check()?;
        let copy = Buffer::holding(&buffer.pack())?;
        let send = self.send_plan(copy.area()?, to.dest, to.tag, Mode::Standard)?;
        let receive = self.receive_plan(buffer.area()?, from.source, from.tag)?;
        self.engine().start_exchange(&send, receive)
    }

    /// Exchanges messages of a collective: sends to one rank, receives from another.
    pub(crate) fn exchange_in_collective(
        &self,
        (send, to): (Buffer, usize),
        (receive, from): (Buffer, usize),
        call: Call,
    ) -> Result<()> {
        let send = self.collective_send(send, to, call)?;
        let plan = self.collective_receive(&receive, from)?;
        let has_gone_on = || self.has_gone_on(from);
        self.engine()
            .exchange_unless(&send, plan, has_gone_on, |received| {
                self.check_received(received, (&receive, from), call)
            })
    }

    /// Exchanges any number of messages of a collective with any members.
    pub(crate) fn exchange_all_in_collective(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
        call: Call,
    ) -> Result<()> {
        let plans = sends.iter();
        let plans = plans.map(|(to, buffer)| self.collective_send(buffer.clone(), *to, call));
        let sends: Vec<_> = plans.collect::<Result<_>>()?;
        let plans = receives.iter();
        let plans = plans.map(|(from, buffer)| self.collective_receive(buffer, *from));
        let plans = plans.collect::<Result<_>>()?;
        self.engine().exchange_all(
            &sends,
            plans,
            |place| self.has_gone_on(receives[place].0),
            |place, received| {
                let (from, buffer) = &receives[place];
                self.check_received(received, (buffer, *from), call)
            },
        )
    }

    /// Sends a message of a collective to rank `to` and waits until its buffer may be reused.
    pub(crate) fn send_in_collective(&self, buffer: Buffer, to: usize, call: Call) -> Result<()> {
        let plan = self.collective_send(buffer, to, call)?;
        self.engine().send(&plan)
    }

    /// Receives a message of a collective from rank `from`.
    pub(crate) fn recv_in_collective(&self, buffer: Buffer, from: usize, call: Call) -> Result<()> {
        let plan = self.collective_receive(&buffer, from)?;
        let has_gone_on = || self.has_gone_on(from);
        let received = self.engine().receive_unless(plan, has_gone_on)?;
        self.check_received(received, (&buffer, from), call)
    }

    /// Returns true if the shared memory shows that the member of rank `from` is in a later
    /// collective than this one.
    #[inline]
    fn has_gone_on(&self, from: usize) -> bool {
        let at_site = self.at_site();
        at_site.is_some_and(|at_site| at_site.site().has_gone_on(from))
    }

    /// The message must have been sent, of the same operation and of the length that is expected.
    /// If it belongs to another operation, that is the error, whatever else is wrong with it.
    #[inline]
    fn check_received(
        &self,
        received: Option<Completion>,
        (buffer, from): (&Buffer, usize),
        call: Call,
    ) -> Result<()> {
        let Some(received) = received else {
            return Err(self.left_alone((buffer, from), call));
        };
        match received.status.tag {
            TagSelector::Tag(tag) if tag != call.tag() => {
                Err(call.met(self.rank(), (from as u32, tag)))
            }
            _ => check_length(received.into_result()?.bytes, (buffer, from), call),
        }
    }

    /// The error if this process waits for a message into `buffer` from a member that has gone on
    /// to another collective without sending it.
    #[cold]
    fn left_alone(&self, (buffer, from): (&Buffer, usize), call: Call) -> Error {
        let at_site = self.at_site();
        let next = at_site.and_then(|at_site| at_site.site().next_of(from));
        let theirs = Call::of_epoch(next.unwrap_or(About::NONE));
        let bytes = buffer.bytes().unwrap_or_default();
        let mine = format!("{call} of {bytes} bytes");
        mismatch((self.rank(), &mine), (from as u32, &theirs))
    }

    /// A collective has failed here in its midst. The other processes may wait for messages that
    /// this one would have sent, so they are told. Of blocking ones none is possible on this
    /// communicator any more: messages of this one may be left over. Decision 0050. The loss of a
    /// process is told apart (0047). Returns the error.
    #[cold]
    pub(super) fn give_up(&self, (call, calls): (Call, (Calls, u32)), error: Error) -> Error {
        if !matches!(error.cause(), Cause::Lost { .. }) {
            let me = self.rank();
            let why = format!("rank {me} of the communicator gave up {call}: {error}");
            self.engine()
                .with(|lane| lane.give_up_collectives(calls, &error, &why));
        }
        error
    }

    fn collective_send(&self, buffer: Buffer, to: usize, call: Call) -> Result<SendPlan> {
        let to = u32::try_from(to)
            .ok()
            .and_then(|rank| self.group().peer(rank));
        Ok(SendPlan {
            to: Some(to.expect("a collective sends to its members")),
            context: self.context().collective(),
            source: self.rank(),
            tag: call.tag(),
            mode: Mode::Standard,
            area: buffer.area()?,
        })
    }

    /// Whatever comes next from `from`: collectives are told apart by their order.
    fn collective_receive(&self, buffer: &Buffer, from: usize) -> Result<ReceivePlan> {
        let context = self.context().collective();
        let source = u32::try_from(from).ok();
        Ok(ReceivePlan {
            pattern: Some(Pattern {
                context,
                source,
                tag: None,
            }),
            area: buffer.area()?,
        })
    }

    #[inline(always)]
    pub(super) fn send_plan(
        &self,
        area: Area,
        dest: Dest,
        tag: i32,
        mode: Mode,
    ) -> Result<SendPlan> {
        let to = self.peer("dest", dest)?;
        if tag < 0 {
            return Err(Cause::Tag(tag).into());
        }
        let (context, source) = (self.context(), self.rank());
        Ok(SendPlan {
            to,
            context,
            source,
            tag,
            mode,
            area,
        })
    }

    #[inline(always)]
    pub(super) fn peer(&self, what: &'static str, dest: Dest) -> Result<Option<PeerId>> {
        let Dest::Rank(rank) = dest else {
            return Ok(None);
        };
        let peer = u32::try_from(rank)
            .ok()
            .and_then(|rank| self.group().peer(rank));
        peer.map(Some).ok_or_else(|| {
            let size = self.group().size();
            Cause::Rank { what, rank, size }.into()
        })
    }

    #[inline(always)]
    pub(super) fn receive_plan(
        &self,
        area: Area,
        source: Source,
        tag: TagSelector,
    ) -> Result<ReceivePlan> {
        let pattern = self.pattern(source, tag)?;
        Ok(ReceivePlan { pattern, area })
    }

    /// What a receive or probe looks for; `None` for `MPI_PROC_NULL`.
    #[inline(always)]
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
            TagSelector::Tag(tag) if tag < 0 => return Err(Cause::Tag(tag).into()),
            TagSelector::Tag(tag) => Some(tag),
        };
        Ok(Some(Pattern {
            context: self.context(),
            source,
            tag,
        }))
    }
}

/// All messages of a collective have the length that their receiver expects.
/// Source: MPI 5.0, 6.1 (the amount sent is the amount that the receiver specifies).
#[inline]
pub(crate) fn check_length(sent: u64, (buffer, from): (&Buffer, usize), call: Call) -> Result<()> {
    let expected = buffer.bytes()?;
    match sent == expected {
        true => Ok(()),
        false => Err(length_differs((sent, expected), from, call)),
    }
}

#[cold]
pub(crate) fn length_differs((sent, expected): (u64, u64), from: usize, call: Call) -> Error {
    let why = format!(
        "rank {from} of the communicator sent {sent} bytes in {call} where {expected} are \
         expected: counts and datatypes of all its processes must describe the same amount of data"
    );
    Cause::Collective(why.into()).into()
}
