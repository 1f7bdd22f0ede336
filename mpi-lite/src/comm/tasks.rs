//! Collectives that go on beside the program: nonblocking and persistent ones. Decision 0042.
//!
//! Their messages have a context of their own, so blocking collectives pay nothing for them. Which
//! of the nonblocking ones a message belongs to, its envelope says beside the sender's rank, in
//! eight bits: the processes count the calls, which come in the same order everywhere. So 256 are
//! active at a time; the next one begins when the one before it with the same number has ended
//! here. By then all that this process sends for that one is sent, and messages do not overtake.
//!
//! Persistent ones may be started in any order, so each has a context, on which the processes agree
//! when it is made. Source: MPI 5.0, 6.12 and 6.13.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use super::peers::{Participant, drive};
use super::point::check_length;
use super::{Call, Communicator, Form, mismatch, open_port};
use crate::data::Buffer;
use crate::engine::envelope::RANK_BITS;
use crate::engine::matching::Pattern;
use crate::engine::{
    Calls, Completion, Job, OpenPort, Plan, Purpose, ReceivePlan, Recipe, Request, SendPlan,
    Submissions, Submitted, TaskId, Work,
};
use crate::error::{Error, Result};
use crate::ids::{Context, Mode, TagSelector};

/// How many nonblocking collectives of a communicator are active at a time, at most.
const ACTIVE_MOST: usize = 1 << (u32::BITS - RANK_BITS);

/// The nonblocking collectives of a communicator.
#[derive(Debug, Default)]
pub(super) struct CallNumbers {
    /// How many have been called.
    calls: u64,
    /// The last one of each number.
    last: Vec<TaskId>,
}

impl CallNumbers {
    /// The number of the next call, and the one that had it before.
    fn next(&mut self) -> (usize, Option<TaskId>) {
        let number = (self.calls % ACTIVE_MOST as u64) as usize;
        self.calls += 1;
        (number, self.last.get(number).copied())
    }

    fn note(&mut self, number: usize, id: TaskId) {
        match self.last.get_mut(number) {
            Some(last) => *last = id,
            None => self.last.push(id),
        }
    }
}

/// The calls beside the program of this context that have this number.
fn numbered(context: Context, number: u32) -> Calls {
    Calls {
        context: context.nonblocking(),
        number: number << RANK_BITS,
    }
}

/// A process of a communicator in a collective that goes on beside the program.
#[derive(Debug)]
pub struct TaskPeers {
    communicator: Communicator,
    call: Call,
    calls: Calls,
    /// The number of the call among the nonblocking ones of the communicator; of others 0.
    from: u32,
    submissions: Submissions,
    /// Of an inter-communicator: the context of the same call on this side.
    local: Option<Context>,
}

impl TaskPeers {
    /// This process among the others.
    pub(crate) fn participant(&self) -> Participant<'_> {
        Participant::of_task(self)
    }

    /// The local side, if the communicator is an inter-communicator.
    pub(crate) fn local_side(&self) -> Option<Self> {
        let (communicator, context) = (self.communicator.local()?.clone(), self.local?);
        let number = self.calls.number;
        Some(Self {
            communicator,
            call: self.call,
            calls: Calls { context, number },
            from: self.from,
            submissions: self.submissions.clone(),
            local: None,
        })
    }

    pub(super) fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    fn send_plan(&self, to: usize, buffer: &Buffer) -> Result<Plan> {
        let peer = u32::try_from(to)
            .ok()
            .and_then(|rank| self.communicator.group().peer(rank));
        Ok(Plan::Send(SendPlan {
            to: Some(peer.expect("a collective sends to its members")),
            context: self.calls.context,
            source: self.calls.number | self.communicator.rank(),
            tag: self.call.tag(),
            mode: Mode::Standard,
            area: buffer.area()?,
        }))
    }

    fn receive_plan(&self, from: usize, buffer: &Buffer) -> Result<Plan> {
        let pattern = Pattern {
            context: self.calls.context,
            source: Some(self.calls.number | from as u32),
            tag: None,
        };
        Ok(Plan::Receive(ReceivePlan {
            pattern: Some(pattern),
            area: buffer.area()?,
        }))
    }

    pub(super) fn give_up(&self, error: Error) -> Error {
        let name = (self.calls, self.from);
        self.communicator.give_up((self.call, name), error)
    }

    /// The message must be of the same call and of the length that is expected. If it belongs to
    /// another call, that is the error, whatever else is wrong with it.
    fn check(&self, (buffer, from): (&Buffer, usize), received: Completion) -> Result<()> {
        match received.status.tag {
            TagSelector::Tag(tag) if tag != self.call.tag() => {
                Err(self.call.met(self.communicator.rank(), (from as u32, tag)))
            }
            _ => check_length(received.into_result()?.bytes, (buffer, from), self.call),
        }
    }
}

/// The same as those of `Peers`.
impl TaskPeers {
    pub(super) async fn aside<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.submissions.call(call).await
    }

    pub(super) async fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        let sent = self.submissions.submit(self.send_plan(to, buffer)?).await;
        sent.and_then(Completion::into_result)
            .map(drop)
            .map_err(|error| self.give_up(error))
    }

    pub(super) async fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        let received = self
            .submissions
            .submit(self.receive_plan(from, buffer)?)
            .await;
        received
            .and_then(|received| self.check((buffer, from), received))
            .map_err(|error| self.give_up(error))
    }

    pub(super) async fn exchange(
        &self,
        (to, send): (usize, &Buffer),
        (from, into): (usize, &Buffer),
    ) -> Result<()> {
        let (send, receive) = (self.send_plan(to, send)?, self.receive_plan(from, into)?);
        let (mut receiving, mut sending) = (
            self.submissions.submit(receive),
            self.submissions.submit(send),
        );
        let (mut received, mut sent) = (None, None);
        // Whichever fails first has the other one withdrawn. Both are awaited: they must
        // not outlive their buffers.
        poll_fn(|context| {
            for _ in 0..2 {
                if received.is_none()
                    && let Poll::Ready(ended) = Pin::new(&mut receiving).poll(context)
                {
                    let ended = ended.and_then(|it| self.check((into, from), it));
                    ended.is_err().then(|| sending.withdraw());
                    received = Some(ended);
                }
                if sent.is_none()
                    && let Poll::Ready(ended) = Pin::new(&mut sending).poll(context)
                {
                    let ended = ended.and_then(Completion::into_result).map(drop);
                    ended.is_err().then(|| receiving.withdraw());
                    sent = Some(ended);
                }
            }
            match received.is_some() && sent.is_some() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        let outcomes = [received, sent].into_iter().flatten();
        let outcome = outcomes.fold(Ok(()), Result::and);
        outcome.map_err(|error| self.give_up(error))
    }

    pub(super) async fn exchange_all(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
    ) -> Result<()> {
        let plans = receives.iter();
        let plans = plans.map(|(from, buffer)| self.receive_plan(*from, buffer));
        let receive_plans: Vec<_> = plans.collect::<Result<_>>()?;
        let plans = sends.iter();
        let send_plans: Vec<_> = plans
            .map(|(to, buffer)| self.send_plan(*to, buffer))
            .collect::<Result<_>>()?;
        let submit = |plan| self.submissions.submit(plan);
        let mut receiving: VecDeque<_> = receive_plans.into_iter().map(submit).collect();
        let sending: Vec<_> = send_plans.into_iter().map(submit).collect();
        let mut outcome = Ok(());
        for (from, buffer) in receives {
            let Some(first) = receiving.pop_front() else {
                break;
            };
            let ended = first.await;
            if outcome.is_ok() {
                outcome = ended.and_then(|received| self.check((buffer, *from), received));
                if outcome.is_err() {
                    receiving
                        .iter()
                        .chain(&sending)
                        .for_each(Submitted::withdraw);
                }
            }
        }
        for submitted in sending {
            let ended = submitted.await.and_then(Completion::into_result);
            outcome = outcome.and(ended.map(drop));
        }
        outcome.map_err(|error| self.give_up(error))
    }
}

impl Communicator {
    fn task_peers(
        &self,
        call: Call,
        (calls, from): (Calls, u32),
        submissions: Submissions,
        local: Option<Context>,
    ) -> TaskPeers {
        TaskPeers {
            communicator: self.clone(),
            call,
            calls,
            from,
            submissions,
            local,
        }
    }

    /// Starts a nonblocking collective, whose arguments are checked: `algorithm` makes its future.
    /// The request completes with it.
    pub(crate) fn start_call(
        &self,
        call: Call,
        calls_program: bool,
        algorithm: impl FnOnce(TaskPeers) -> Work,
    ) -> Request {
        let (engine, submissions) = (self.engine(), Submissions::default());
        let request = {
            let mut window = self.inner.numbers.lock();
            let (number, before) = window.next();
            let calls = numbered(self.context(), number as u32);
            let name = (calls, self.inner.port.count_nonblocking_call());
            if before.is_some() {
                engine.with(|lane| lane.renew_call(name));
            }
            let local = self.local().map(|local| {
                let calls = numbered(local.context(), number as u32);
                let from = local.inner.port.count_nonblocking_call();
                engine.with(|lane| lane.renew_call((calls, from)));
                calls.context
            });
            let call = call.in_form(Form::Nonblocking);
            let peers = self.task_peers(call, name, submissions.clone(), local);
            let job = Job {
                context: self.context(),
                calls_program,
                purpose: Purpose::Collective {
                    tag: call.tag(),
                    number: name.1,
                },
                submissions,
                work: algorithm(peers),
            };
            let (request, id) = engine.enter_task(job, before);
            window.note(number, id);
            request
        };
        engine.run_tasks();
        request
    }

    /// A persistent collective, not started, whose arguments are checked: `algorithm` makes its
    /// future each time. Collective: returns when all processes have called it.
    ///
    /// # Errors
    /// `Cause::Mismatch` if another process called something else; `Cause::Lost`.
    pub(crate) fn plan_call(
        &self,
        call: Call,
        calls_program: bool,
        algorithm: impl Fn(TaskPeers) -> Work + Send + Sync + 'static,
    ) -> Result<Request> {
        let call = call.in_form(Form::Persistent);
        let (context, local) = self.agree_on_call(call)?;
        let communicator = self.clone();
        let ports = self.open_ports(context, local);
        let make = move |submissions: Submissions| -> Work {
            // They stay open as long as the request is there.
            let _ = &ports;
            let name = (numbered(context, 0), 0);
            let local = local.map(Context::nonblocking);
            algorithm(communicator.task_peers(call, name, submissions, local))
        };
        let plan = Plan::Task(Recipe {
            context: self.context(),
            calls_program,
            tag: call.tag(),
            make: Arc::new(make),
        });
        Ok(self.engine().with(|lane| lane.plan(plan)))
    }

    /// Agrees with all processes that they make the same call, and on a context for it. Of an
    /// inter-communicator the second result is a context for this side.
    fn agree_on_call(&self, call: Call) -> Result<(Context, Option<Context>)> {
        let words = [call.tag().cast_unsigned(), 0];
        if let Some(local) = self.local() {
            let pact = self.make_pact(local, words)?;
            self.all_call(call, pact.agreement.words())?;
            self.all_call(call, pact.words.iter().copied())?;
            return Ok((pact.context, Some(pact.agreement.context())));
        }
        let agreement = drive(self.agree(&self.within(Call::CREATE), words))?;
        self.all_call(call, agreement.words())?;
        Ok((agreement.context(), None))
    }

    /// Checks that the processes with these words, by rank, make the same call.
    fn all_call(&self, call: Call, words: impl Iterator<Item = [u32; 2]>) -> Result<()> {
        let mut others = words.zip(0..);
        let other = others.find(|&([tag, _], _)| tag.cast_signed() != call.tag());
        let Some(([tag, _], rank)) = other else {
            return Ok(());
        };
        let theirs = Call::name_of(tag.cast_signed());
        Err(mismatch((self.rank(), &call.to_string()), (rank, &theirs)))
    }

    /// Makes the contexts of a persistent call lead to its processes.
    fn open_ports(&self, context: Context, local: Option<Context>) -> (OpenPort, Option<OpenPort>) {
        let engine = self.engine();
        match (self.local(), local) {
            (Some(side), Some(local)) => (
                side.open_port_between(self.group(), context),
                Some(open_port(engine, local, side.group())),
            ),
            _ => (open_port(engine, context, self.group()), None),
        }
    }
}
