//! Operations that consist of others.
//!
//! A part is an operation of its own without a request of the program. When it ends, it is gone at
//! once, and its whole learns how. The whole ends with the last of its parts. Nothing polls: it is
//! all done by the thread that finishes the part (`table`).
//!
//! A partitioned send or receive is one of these. It knows how its sender splits the data.

use crate::boot::state::Partitions;
use crate::data::Area;
use crate::engine::inbox::matching::Pattern;
use crate::engine::requests::channel::{Header, PartitionedReceive, PartitionedSend};
use crate::engine::requests::request::{Request, Status};
use crate::engine::tasks::SendPlan;
use crate::error::{Cause, Error, Result};
use crate::ids::{Context, Mode, Source, TagSelector};

/// Which part of which operation another one is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) whole: Request,
    pub(crate) number: u32,
}

/// How a part has ended.
pub(crate) type Ended = (Status, Option<Error>);

/// How far a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has not begun.
    Waiting,
    /// It has begun, and has no operation yet.
    Begun,
    /// This is its operation.
    Active(Request),
    /// It has ended.
    Ended,
}

/// What a partitioned operation needs each time it is started.
#[derive(Debug)]
enum Channel {
    Send {
        send: PartitionedSend,
        header: Header,
    },
    Receive {
        receive: PartitionedReceive,
        /// Known when the sender has made its request.
        header: Option<Header>,
        /// Why the operation fails at every start.
        failure: Option<Error>,
    },
}

/// A partitioned operation as a report sees it.
pub(crate) enum Partitioned<'a> {
    Send(&'a PartitionedSend, Header),
    /// The header is known when the sender has made its request.
    Receive(&'a PartitionedReceive, Option<Header>),
}

/// How a partitioned operation goes on that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It is over.
    Over,
    /// Its receives are to be posted.
    Receives,
    /// It waits for its partitions or its header.
    Waits,
}

/// An operation that consists of parts.
#[derive(Debug)]
pub(crate) struct Whole {
    /// The parts, by number.
    parts: Vec<Stage>,
    /// How many have not ended.
    left: usize,
    /// How it ends.
    status: Status,
    /// The first error of a part, or of the whole.
    error: Option<Error>,
    /// What a partitioned operation needs; `None` if the first part gives the status.
    channel: Option<Channel>,
}

impl Whole {
    /// The number of the header among the parts of a receive.
    pub(crate) const HEADER: u32 = u32::MAX;

    /// An operation of `parts` parts, none of which has begun.
    pub(crate) fn new(parts: usize) -> Self {
        Self {
            parts: vec![Stage::Waiting; parts],
            left: parts,
            status: Status::EMPTY,
            error: None,
            channel: None,
        }
    }

    /// Begins anew, with `parts` parts.
    fn renew(&mut self, parts: usize) {
        self.parts.clear();
        self.parts.resize(parts, Stage::Waiting);
        self.left = parts;
        self.error = None;
    }

    /// The operations of the parts that go on.
    pub(crate) fn active(&self) -> impl Iterator<Item = Request> {
        self.parts.iter().filter_map(|part| match part {
            Stage::Active(request) => Some(*request),
            _ => None,
        })
    }

    /// This is the operation of a part that has begun.
    pub(super) fn note_active(&mut self, number: u32, request: Request) {
        if let Some(stage) = self.parts.get_mut(number as usize) {
            *stage = Stage::Active(request);
        }
    }

    /// Notes how a part has ended. Returns true if it was the last one.
    pub(super) fn note(&mut self, number: u32, (status, error): Ended) -> bool {
        let Some(part) = self.parts.get_mut(number as usize) else {
            return false;
        };
        *part = Stage::Ended;
        self.left -= 1;
        if number == 0 && self.channel.is_none() {
            self.status = status;
        }
        self.error = self.error.take().or(error);
        self.left == 0
    }

    /// How it ends.
    pub(super) fn outcome(&self) -> Ended {
        (self.status, self.error.clone())
    }
}

/// Partitioned operations.
impl Whole {
    /// A partitioned send, not started.
    pub(crate) fn of_send(send: PartitionedSend, header: Header) -> Self {
        Self {
            channel: Some(Channel::Send { send, header }),
            ..Self::new(0)
        }
    }

    /// A partitioned receive, not started.
    pub(crate) fn of_receive(receive: PartitionedReceive) -> Self {
        let status = receive.source.map_or(Status::FROM_NULL, |rank| Status {
            source: Source::Rank(rank.cast_signed()),
            tag: TagSelector::Tag(receive.tag),
            bytes: receive.area.len(),
            cancelled: false,
        });
        Self {
            status,
            channel: Some(Channel::Receive {
                receive,
                header: None,
                failure: None,
            }),
            ..Self::new(0)
        }
    }

    pub(super) fn is_partitioned(&self) -> bool {
        self.channel.is_some()
    }

    /// What it is, if it is a partitioned operation.
    pub(crate) fn partitioned(&self) -> Option<Partitioned<'_>> {
        self.channel.as_ref().map(|channel| match channel {
            Channel::Send { send, header } => Partitioned::Send(send, *header),
            Channel::Receive {
                receive, header, ..
            } => Partitioned::Receive(receive, *header),
        })
    }

    /// A receive learns how its sender splits the data, or why it never will. Returns true if it
    /// can receive the partitions.
    pub(super) fn learn(&mut self, failed: Option<Error>, bytes: &[u8]) -> bool {
        let Some(Channel::Receive {
            receive,
            header,
            failure,
        }) = &mut self.channel
        else {
            return false;
        };
        *header = Header::decode(bytes).filter(|_| failed.is_none());
        let (len, room) = (header.and_then(|header| header.all()), receive.area.len());
        *failure = match len {
            Some(len) if len == room => None,
            Some(len) => Some(Cause::Partitions { len, room }.into()),
            None => failed.or_else(|| Some(Cause::Unsuited("the header is no header").into())),
        };
        self.error.clone_from(failure);
        header.is_some()
    }

    /// Lays down what a part of a receive has received in memory of its own.
    pub(super) fn lay_down(&self, number: u32, kept: &[u8]) {
        if let Some(Partitioned::Receive(receive, Some(header))) = self.partitioned() {
            let at = header.bytes * u64::from(number);
            receive.area.write(at as usize, kept);
        }
    }

    /// How many partitions of a started operation are ready, or here, of how many.
    pub(crate) fn partitions(&self) -> Partitions {
        let is_send = matches!(self.channel, Some(Channel::Send { .. }));
        let counts = |stage: &&Stage| match is_send {
            true => **stage != Stage::Waiting,
            false => **stage == Stage::Ended,
        };
        let ready = self.parts.iter().filter(counts).count();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Partitions {
            ready: count(ready),
            all: count(self.parts.len()),
        }
    }

    /// Starts a partitioned operation, which is inactive.
    pub(crate) fn start(&mut self) -> Start {
        let parts = match self.partitioned() {
            Some(Partitioned::Send(send, _)) => send.partitions as usize,
            _ => 0,
        };
        self.renew(parts);
        match &self.channel {
            Some(Channel::Receive {
                receive,
                header: None,
                failure,
            }) => {
                self.error.clone_from(failure);
                match receive.source.is_none() || failure.is_some() {
                    true => Start::Over,
                    false => Start::Waits,
                }
            }
            Some(Channel::Receive { .. }) => Start::Receives,
            _ if parts == 0 => Start::Over,
            _ => Start::Waits,
        }
    }

    /// The receives of a started partitioned receive that knows its header, by number: where each
    /// puts its bytes, unless that is scattered, and their number.
    pub(crate) fn receives(
        &mut self,
    ) -> Option<impl ExactSizeIterator<Item = (Pattern, Option<Area>, usize)> + use<>> {
        let Some(Channel::Receive {
            receive,
            header: Some(header),
            failure,
        }) = &self.channel
        else {
            return None;
        };
        let failure = failure.clone();
        let (header, context, source) = (*header, receive.context, receive.source);
        let whole = receive.area.span().map(|_| receive.area.clone());
        self.renew(header.partitions as usize);
        self.error = failure;
        Some((0..header.partitions).map(move |number| {
            let len = header.bytes as usize;
            let area = whole.as_ref();
            let area = area.and_then(|it| it.cut(number as usize * len, len));
            let tag = Some(header.tag(number));
            let pattern = Pattern {
                context,
                source,
                tag,
            };
            (pattern, area, len)
        }))
    }

    /// Begins these partitions of a started send. It stays active until it is waited for, also
    /// when all partitions are ready.
    ///
    /// # Errors
    /// It is no send, or inactive, or a partition is out of range or has begun. Nothing has
    /// changed.
    pub(crate) fn claim(
        &mut self,
        is_inactive: bool,
        numbers: impl Iterator<Item = u32> + Clone,
    ) -> Result<()> {
        let Some(Channel::Send { send, .. }) = &self.channel else {
            return Err(Self::no_send());
        };
        if is_inactive {
            let why = "the partitioned send is not active: start it first";
            return Err(Cause::Unsuited(why).into());
        }
        for (claimed, number) in numbers.clone().enumerate() {
            let error = match self.parts.get_mut(number as usize) {
                Some(stage @ Stage::Waiting) => {
                    *stage = Stage::Begun;
                    continue;
                }
                Some(_) => Cause::Argument("the partition was marked ready before").into(),
                None => out_of_range(number, send.partitions),
            };
            for claimed in numbers.take(claimed) {
                self.parts[claimed as usize] = Stage::Waiting;
            }
            return Err(error);
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn no_send() -> Error {
        Cause::Unsuited("the request is not a partitioned send").into()
    }

    /// The message of a partition.
    pub(crate) fn send_plan(&self, number: u32) -> Option<Result<SendPlan>> {
        let Some(Partitioned::Send(send, header)) = self.partitioned() else {
            return None;
        };
        let count = send.first.count();
        let first = (u64::from(number) * count).cast_signed();
        let area = send.first.part(first, count).area();
        Some(area.map(|area| SendPlan {
            to: send.to,
            context: send.context,
            source: send.source,
            tag: header.tag(number),
            mode: Mode::Standard,
            area,
        }))
    }

    /// Returns true if the partition `number` of a started receive is here.
    ///
    /// # Errors
    /// It is no receive, or the partition is out of range.
    pub(crate) fn has(&self, number: u32) -> Result<bool> {
        let Some(Partitioned::Receive(receive, header)) = self.partitioned() else {
            return Err(Self::no_receive());
        };
        if number >= receive.partitions {
            return Err(out_of_range(number, receive.partitions));
        }
        let Some(header) = header else {
            return Ok(false);
        };
        // Both sides have the same bytes, perhaps none: so the partitions are shared out by number.
        let (sent, received) = (u64::from(header.partitions), u64::from(receive.partitions));
        let (begin, end) = (u64::from(number) * sent, u64::from(number + 1) * sent);
        let parts = begin / received.max(1)..end.div_ceil(received.max(1));
        let mut stages = parts.map(|part| self.parts.get(part as usize));
        Ok(stages.all(|stage| stage == Some(&Stage::Ended)))
    }

    #[cold]
    pub(crate) fn no_receive() -> Error {
        Cause::Unsuited("the request is not a partitioned receive").into()
    }
}

impl Partitioned<'_> {
    /// Of its messages.
    pub(crate) fn context(&self) -> Context {
        match self {
            Self::Send(send, _) => send.context,
            Self::Receive(receive, _) => receive.context,
        }
    }
}

#[cold]
fn out_of_range(number: u32, partitions: u32) -> Error {
    Cause::Partition { number, partitions }.into()
}
