//! Partitioned sends and receives. Source: MPI 5.0, 4.
//!
//! They match by a message of their own, the header, which the sender sends when it makes its
//! request: so they match once, in the order in which they are made. The header says how the sender
//! splits its data, and by which tags its partitions come. Each partition is one message. The
//! receiver posts a receive for each at every start, as soon as it knows the header.
//!
//! All of these messages have a context of their own (`Context::partitioned`). Headers have the
//! tags of the program, partitions have negative ones.

use super::{Lane, Traffic};
use crate::data::Area;
use crate::engine::inbox::matching::Pattern;
use crate::engine::requests::{
    HEADER_BYTES, Header, Operation, Part, PartitionedReceive, PartitionedSend, Request, Start,
    Status, Whole,
};
use crate::engine::tasks::{Plan, ReceivePlan, SendPlan};
use crate::error::Result;
use crate::ids::Mode;
use crate::memory::Span;

impl Lane {
    /// Makes a partitioned send, not started, and tells the receiver about it.
    ///
    /// # Errors
    /// As [`Traffic::send`](crate::engine::Traffic::send), and of the arguments:
    /// [`Cause::Count`](crate::error::Cause::Count).
    pub fn plan_partitioned_send(&mut self, send: PartitionedSend) -> Result<Request> {
        let bytes = send.first.check()?;
        let header = Header {
            first: self.requests_mut().name_partitions(send.partitions),
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
        let requests = self.requests_mut();
        if let Some(telling) = requests.get_mut(telling) {
            telling.keep(body);
            telling.disown();
        }
        let plan = Plan::Partitioned(send.context);
        Ok(requests.insert(Operation::persistent(
            plan,
            Some(Whole::of_send(send, header)),
        )))
    }

    /// Makes a partitioned receive, not started, which matches the next send that nobody has
    /// matched.
    pub fn plan_partitioned_receive(&mut self, receive: PartitionedReceive) -> Request {
        let (context, source, tag) = (receive.context, receive.source, Some(receive.tag));
        let (plan, whole) = (Plan::Partitioned(context), Whole::of_receive(receive));
        let request = self
            .requests_mut()
            .insert(Operation::persistent(plan, Some(whole)));
        if source.is_some() {
            let pattern = Pattern {
                context,
                source,
                tag,
            };
            self.receive_part((pattern, None, HEADER_BYTES), request, Whole::HEADER);
            self.run_errands();
        }
        request
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
        let requests = self.requests_mut();
        let is_inactive = requests.is_inactive(request)?;
        let whole = requests.whole_mut(request).ok_or_else(Whole::no_send)?;
        whole.claim(is_inactive, numbers.clone())?;
        for number in numbers {
            let whole = self.requests().whole(request);
            let Some(plan) = whole.and_then(|whole| whole.send_plan(number)) else {
                return Ok(());
            };
            let sent = self.send(&plan?);
            let part = Part {
                whole: request,
                number,
            };
            let requests = self.requests_mut();
            match sent {
                Ok(sending) => requests.adopt(sending, part),
                Err(error) => requests.note_part(part, (Status::EMPTY, Some(error)), Vec::new()),
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
        let requests = self.requests();
        requests.peek(request)?;
        let whole = requests.whole(request);
        let has = whole.ok_or_else(Whole::no_receive)?.has(number)?;
        Ok(has || !requests.get(request).is_some_and(Operation::is_active))
    }
}

impl Traffic {
    /// Posts the receive of a part, into memory of its own if it has no `area`.
    fn receive_part(
        &mut self,
        (pattern, area, len): (Pattern, Option<Area>, usize),
        whole: Request,
        number: u32,
    ) {
        let mut kept = Vec::new();
        let area = area.unwrap_or_else(|| {
            kept.resize(len, 0);
            Span::held(&mut kept).into()
        });
        let receiving = self.receive(ReceivePlan {
            pattern: Some(pattern),
            area,
        });
        let requests = self.requests_mut();
        if let Some(receiving) = requests.get_mut(receiving) {
            receiving.keep(kept);
        }
        requests.adopt(receiving, Part { whole, number });
    }

    /// Starts a partitioned operation, which is inactive.
    pub(crate) fn start_partitioned(&mut self, request: Request) {
        let requests = self.requests_mut();
        requests.activate(request, Area::EMPTY);
        match requests.whole_mut(request).map(Whole::start) {
            Some(Start::Over) => requests.end_whole(request),
            Some(Start::Receives) => {
                self.receive_partitions(request);
                self.run_errands();
            }
            Some(Start::Waits) | None => {}
        }
    }

    /// Posts the receives of a started partitioned receive that knows its header.
    fn receive_partitions(&mut self, request: Request) {
        let whole = self.requests_mut().whole_mut(request);
        let Some(receives) = whole.and_then(Whole::receives) else {
            return;
        };
        if receives.len() == 0 {
            self.requests_mut().end_whole(request);
        }
        for (receive, number) in receives.zip(0..) {
            self.receive_part(receive, request, number);
        }
    }

    /// Takes notice of what has landed for partitioned receives; those begin that have learned how
    /// their senders split the data.
    #[cold]
    pub(crate) fn note_landings(&mut self) {
        while let Some(request) = self.requests_mut().next_landed() {
            self.receive_partitions(request);
        }
    }
}
