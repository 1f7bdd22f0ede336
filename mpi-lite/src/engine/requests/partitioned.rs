//! Partitioned sends and receives. Source: MPI 5.0, 4.
//!
//! They match by a message of their own, the header, which the sender sends when it makes its
//! request: so they match once, in the order in which they are made. The header says how the sender
//! splits its data, and by which tags its partitions come. Each partition is one message. The
//! receiver posts a receive for each at every start, as soon as it knows the header.
//!
//! All of these messages have a context of their own (`Context::partitioned`). Headers have the
//! tags of the program, partitions have negative ones.

use crate::boot::state::Partitions;
use crate::data::Area;
use crate::engine::Engine;
use crate::engine::inbox::matching::Pattern;
use crate::engine::lane::Lane;
use crate::engine::requests::channel::{
    Channel, HEADER, HEADER_BYTES, Header, PartitionedReceive, PartitionedSend,
};
use crate::engine::requests::operation::Requests;
use crate::engine::requests::parts::{Part, Stage, Whole};
use crate::engine::requests::request::{Request, Status};
use crate::engine::tasks::plan::{Plan, ReceivePlan, SendPlan};
use crate::error::{Cause, Error, Result};
use crate::ids::{Context, Mode, Source, TagSelector};
use crate::memory::Span;

impl Whole {
    /// A receive learns how its sender splits the data, or why it never will. Returns true if it
    /// can receive the partitions.
    pub(crate) fn learn(&mut self, failed: Option<Error>, bytes: &[u8]) -> bool {
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

    /// The context of a partitioned operation.
    pub(crate) fn context(&self) -> Option<Context> {
        self.channel.as_ref().map(|channel| match channel {
            Channel::Send { send, .. } => send.context,
            Channel::Receive { receive, .. } => receive.context,
        })
    }

    /// How many parts an operation has that starts now; 0 if that is not known yet.
    fn count(&self) -> usize {
        match &self.channel {
            Some(Channel::Send { send, .. }) => send.partitions as usize,
            Some(Channel::Receive {
                header: Some(header),
                ..
            }) => header.partitions as usize,
            _ => 0,
        }
    }

    /// Returns true if the partition `number` of a started receive is here.
    fn has(&self, number: u32) -> bool {
        let Some(Channel::Receive {
            receive,
            header: Some(header),
            ..
        }) = &self.channel
        else {
            return false;
        };
        // Both sides have the same bytes, perhaps none: so the partitions are shared out by number.
        let (sent, received) = (u64::from(header.partitions), u64::from(receive.partitions));
        let (begin, end) = (u64::from(number) * sent, u64::from(number + 1) * sent);
        let parts = begin / received.max(1)..end.div_ceil(received.max(1));
        let mut stages = parts.map(|part| self.parts.get(part as usize));
        stages.all(|stage| stage == Some(&Stage::Ended))
    }
}

impl Lane {
    /// Makes a partitioned send, not started, and tells the receiver about it.
    ///
    /// # Errors
    /// As [`Lane::send`], and of the arguments: [`Cause::Count`].
    pub fn plan_partitioned_send(&mut self, send: PartitionedSend) -> Result<Request> {
        let bytes = send.first.check()?;
        let header = Header {
            first: self.delivery.requests.name_partitions(send.partitions),
            partitions: send.partitions,
            bytes,
        };
        let mut body = header.encode();
        let telling = self.send(&SendPlan {
            to: send.to,
            context: send.context,
            source: send.source,
            tag: send.tag,
            mode: Mode::Standard,
            area: Span::held(&mut body).into(),
        })?;
        let requests = &mut self.delivery.requests;
        requests.keep(telling, body);
        requests.disown(telling);
        let request = requests.open_persistent(Plan::Partitioned(send.context));
        let channel = Channel::Send { send, header };
        requests.set_whole(request, Whole::new(0, Some(channel)));
        Ok(request)
    }

    /// Makes a partitioned receive, not started, which matches the next send that nobody has
    /// matched.
    pub fn plan_partitioned_receive(&mut self, receive: PartitionedReceive) -> Request {
        let requests = &mut self.delivery.requests;
        let (context, source, tag) = (receive.context, receive.source, receive.tag);
        let mut body = vec![0; HEADER_BYTES];
        let mut whole = Whole::new(0, None);
        whole.status = source.map_or(Status::FROM_NULL, |rank| Status {
            source: Source::Rank(rank.cast_signed()),
            tag: TagSelector::Tag(tag),
            bytes: receive.area.len(),
            cancelled: false,
        });
        whole.channel = Some(Channel::Receive {
            receive,
            header: None,
            failure: None,
        });
        let request = requests.open_persistent(Plan::Partitioned(context));
        requests.set_whole(request, whole);
        if source.is_some() {
            let learning = self.receive(ReceivePlan {
                pattern: Some(Pattern {
                    context,
                    source,
                    tag: Some(tag),
                }),
                area: Span::held(&mut body).into(),
            });
            self.delivery.requests.keep(learning, body);
            self.adopt(learning, request, HEADER);
            self.send_deferred();
        }
        request
    }

    fn adopt(&mut self, request: Request, whole: Request, number: u32) {
        let part = Part { whole, number };
        self.delivery.requests.adopt(request, part);
    }

    /// Starts a partitioned operation, which is inactive.
    pub(crate) fn start_partitioned(&mut self, request: Request) {
        let requests = &mut self.delivery.requests;
        requests.activate(request, Area::EMPTY);
        let Some(whole) = requests.whole_mut(request) else {
            return;
        };
        let parts = whole.count();
        whole.renew(parts);
        match &whole.channel {
            Some(Channel::Receive {
                receive,
                header: None,
                failure,
            }) => {
                let is_over = receive.source.is_none() || failure.is_some();
                whole.error.clone_from(failure);
                if is_over {
                    requests.end_whole(request);
                }
            }
            Some(Channel::Receive { .. }) => {
                self.receive_partitions(request);
                self.send_deferred();
            }
            _ if parts == 0 => requests.end_whole(request),
            _ => {}
        }
    }

    /// Posts the receives of a started partitioned receive that knows its header.
    fn receive_partitions(&mut self, request: Request) {
        let Some(whole) = self.delivery.requests.whole_mut(request) else {
            return;
        };
        let parts = whole.count();
        whole.renew(parts);
        let Some(Channel::Receive {
            receive,
            header: Some(header),
            failure,
        }) = &whole.channel
        else {
            return;
        };
        whole.error.clone_from(failure);
        let (header, context, source) = (*header, receive.context, receive.source);
        let whole = receive.area.span().map(|_| receive.area.clone());
        for number in 0..header.partitions {
            let (mut kept, len) = (Vec::new(), header.bytes as usize);
            let part = whole
                .as_ref()
                .and_then(|it| it.cut(number as usize * len, len));
            let area = part.unwrap_or_else(|| {
                kept.resize(len, 0);
                Area::Run(Span::held(&mut kept))
            });
            let receiving = self.receive(ReceivePlan {
                pattern: Some(Pattern {
                    context,
                    source,
                    tag: Some(header.tag(number)),
                }),
                area,
            });
            self.delivery.requests.keep(receiving, kept);
            self.adopt(receiving, request, number);
        }
        if parts == 0 {
            self.delivery.requests.end_whole(request);
        }
    }

    /// Takes notice of what has landed for partitioned receives; those begin that have learned how
    /// their senders split the data.
    #[cold]
    pub(crate) fn note_landings(&mut self) {
        while let Some(landed) = self.delivery.requests.landing.pop() {
            if let Some(request) = self.delivery.requests.note_landed(landed) {
                self.receive_partitions(request);
            }
        }
    }

    /// Sends these partitions of a started partitioned send.
    ///
    /// # Errors
    /// It is none, or not active, or a partition is out of range or sent already. Nothing was sent.
    pub fn ready(
        &mut self,
        request: Request,
        numbers: impl Iterator<Item = u32> + Clone,
    ) -> Result<()> {
        let requests = &mut self.delivery.requests;
        requests.claim_partitions(request, numbers.clone())?;
        for number in numbers {
            let whole = self.delivery.requests.whole(request);
            let Some(Channel::Send { send, header }) =
                whole.and_then(|whole| whole.channel.as_ref())
            else {
                return Ok(());
            };
            let count = send.first.count();
            let first = (u64::from(number) * count).cast_signed();
            let plan = SendPlan {
                to: send.to,
                context: send.context,
                source: send.source,
                tag: header.tag(number),
                mode: Mode::Standard,
                area: send.first.part(first, count).area()?,
            };
            let sent = self.send(&plan);
            match sent {
                Ok(sending) => self.adopt(sending, request, number),
                Err(error) => {
                    let part = Part {
                        whole: request,
                        number,
                    };
                    let ended = (Status::EMPTY, Some(error));
                    self.delivery.requests.note_part(part, ended, Vec::new());
                }
            }
        }
        Ok(())
    }

    /// Returns true if the partition `number` of a partitioned receive is here, or if the request
    /// is inactive.
    ///
    /// # Errors
    /// It is no partitioned receive, or the partition is out of range.
    pub fn has_arrived(&self, request: Request, number: u32) -> Result<bool> {
        let requests = &self.delivery.requests;
        requests.peek(request)?;
        let whole = requests.whole(request);
        let Some(Channel::Receive { receive, .. }) = whole.and_then(|it| it.channel.as_ref())
        else {
            return Err(Cause::Unsuited("the request is not a partitioned receive").into());
        };
        if number >= receive.partitions {
            return Err(out_of_range(number, receive.partitions));
        }
        Ok(!requests.is_running(request) || whole.is_some_and(|whole| whole.has(number)))
    }
}

#[cold]
fn out_of_range(number: u32, partitions: u32) -> Error {
    Cause::Partition { number, partitions }.into()
}

impl Requests {
    /// Names so many partitions. Returns the number of the first one.
    fn name_partitions(&mut self, partitions: u32) -> u32 {
        let first = self.partitions;
        self.partitions = first.wrapping_add(partitions);
        first
    }

    /// Begins these partitions of a started partitioned send. It stays active until it is waited
    /// for, also when all partitions are ready.
    fn claim_partitions(
        &mut self,
        request: Request,
        numbers: impl Iterator<Item = u32> + Clone,
    ) -> Result<()> {
        let is_inactive = self.is_inactive(request)?;
        let whole = self.whole_mut(request);
        let Some((parts, Channel::Send { send, .. })) = whole.and_then(|whole| {
            let channel = whole.channel.as_ref()?;
            Some((&mut whole.parts, channel))
        }) else {
            return Err(Cause::Unsuited("the request is not a partitioned send").into());
        };
        if is_inactive {
            let why = "the partitioned send is not active: start it first";
            return Err(Cause::Unsuited(why).into());
        }
        for (claimed, number) in numbers.clone().enumerate() {
            let error = match parts.get_mut(number as usize) {
                Some(stage @ Stage::Waiting) => {
                    *stage = Stage::Begun;
                    continue;
                }
                Some(_) => Cause::Argument("the partition was marked ready before").into(),
                None => out_of_range(number, send.partitions),
            };
            for claimed in numbers.take(claimed) {
                parts[claimed as usize] = Stage::Waiting;
            }
            return Err(error);
        }
        Ok(())
    }
}

impl Engine {
    /// As [`Lane::ready`]. A thread that waits for the operation wakes when it is over.
    ///
    /// # Errors
    /// As [`Lane::ready`].
    pub fn ready(
        &self,
        request: Request,
        numbers: impl Iterator<Item = u32> + Clone,
    ) -> Result<()> {
        self.with(|lane| lane.ready(request, numbers))
    }

    /// As [`Lane::has_arrived`], after one turn.
    ///
    /// # Errors
    /// As [`Lane::has_arrived`].
    pub fn has_arrived(&self, request: Request, number: u32) -> Result<bool> {
        self.look(|lane| lane.has_arrived(request, number))
    }
}
