//! What a lane holds, in the words of the boot protocol: unfinished operations, messages that
//! nobody has received, communicators. Only for the report of a job that hangs.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::boot::state::{
    COMMUNICATORS_MAX, CommunicatorState, HeldMessage, LISTED_MAX, MessageKind, Operation, Peer,
    RankState, Run, ThreadState, Wanted,
};
use crate::engine::envelope::{Envelope, RANK_BITS};
use crate::engine::inbox::matching::Pattern;
use crate::engine::lane::Lane;
use crate::engine::lane::View;
use crate::engine::outbox::Sending;
use crate::engine::report::waits::{Describe, Subject, Waits};
use crate::engine::requests::{Operation as Pending, Partitioned, Request};
use crate::engine::tasks::{Purpose, Tasks};
use crate::ids::{Context, ContextKind, PeerId};

/// The part of an envelope's source that is the rank.
const RANK: u32 = (1 << RANK_BITS) - 1;

/// What a lane holds, to be described, and what names it.
#[derive(Clone, Copy)]
pub(crate) struct Description<'a> {
    lane: &'a Lane,
    view: View<'a>,
    waits: &'a Waits,
    tasks: &'a Tasks,
}

impl<'a> Description<'a> {
    pub(crate) fn new(lane: &'a Lane, waits: &'a Waits, tasks: &'a Tasks) -> Self {
        Self {
            lane,
            view: lane.view(),
            waits,
            tasks,
        }
    }

    pub(in crate::engine) fn view(self) -> View<'a> {
        self.view
    }

    /// Answers the open question for this thread, which waits for `subject` and has been `blocked`
    /// so long.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer(self, subject: Describe<'_>, blocked: Duration) {
        let me = rustix::thread::gettid().as_raw_nonzero().get();
        if self.waits.is_answered(me) {
            return;
        }
        let mut thread = ThreadState {
            blocked_ms: u64::try_from(blocked.as_millis()).unwrap_or(u64::MAX),
            ..ThreadState::default()
        };
        self.enter(&subject(self.lane), &mut thread);
        if let Some(program) = self.waits.program() {
            program.describe_call(&mut thread);
            name_own_collective(&mut thread);
        }
        let mut held = self.state(vec![thread]);
        let thread = held.threads.pop().unwrap_or_default();
        self.waits.answer((me, thread), held);
    }

    /// What these threads do and the lane holds.
    pub(crate) fn state(self, threads: Vec<ThreadState>) -> RankState {
        let mut state = RankState {
            threads,
            ..self.unreceived()
        };
        state.communicators = self.communicators(&state);
        state
    }

    /// Enters into `thread` what it waits for.
    pub(crate) fn enter(self, subject: &Subject, thread: &mut ThreadState) {
        match subject {
            Subject::Requests {
                ends_with,
                pending,
                left_out,
            } => {
                thread.ends_with = *ends_with;
                let found = pending.iter().map(|request| self.operation(*request));
                thread.operations = found.collect();
                thread.left_out = *left_out;
            }
            Subject::Probe(pattern) => {
                thread.operations = vec![Operation::Probe(self.wanted(pattern, None))];
            }
            Subject::Collective(context) => {
                thread.operations = vec![self.blocking_collective(*context)];
            }
            Subject::AllSent => {
                let sends = self.view.sends();
                // What engines report to each other is no send of the program.
                let sends = sends.filter(|sending| !sending.is_of_service());
                let mut all: Vec<Operation> = Vec::new();
                for operation in sends.map(|sending| self.sending(sending)) {
                    match all.len() {
                        // One partitioned send is many messages.
                        _ if all.contains(&operation) => {}
                        LISTED_MAX => thread.left_out += 1,
                        _ => all.push(operation),
                    }
                }
                thread.operations = all;
            }
            Subject::Words(words) => {
                thread.operations = vec![Operation::Other(words.clone().into_owned())];
            }
        }
    }

    /// The operation that completes this request.
    fn operation(self, request: Request) -> Operation {
        let (view, requests) = (self.view, self.view.requests());
        if let Some(pattern) = view.posted().pattern_of(request) {
            return match pattern.context.is_collective() {
                true => self.blocking_collective(pattern.context),
                false => Operation::Receive(
                    self.wanted(&pattern, requests.get(request).and_then(Pending::room)),
                ),
            };
        }
        if let Some(partitioned) = self.partitioned_operation(request) {
            return partitioned;
        }
        if let Some(sending) = view.sends().find(|sending| sending.is_of(request)) {
            return self.sending(sending);
        }
        if let Some((envelope, len)) = self.view.incoming(request) {
            return Operation::Incoming(self.held((&envelope, len), false));
        }
        if let Some(purpose) = self.tasks.purpose_of(request) {
            let (tag, number) = match purpose {
                Purpose::Collective { tag, number } => (tag, number),
                Purpose::Other(words) => return Operation::Other(words.into()),
            };
            let (name, root) = self.waits.collective(tag);
            let Some(context) = requests.get(request).and_then(Pending::context) else {
                return Operation::Other(name);
            };
            return Operation::Collective {
                context: context.point_to_point().0,
                name,
                root,
                number,
                is_blocking: false,
            };
        }
        if let Some(whole) = requests.whole(request) {
            return match whole.active().next() {
                Some(part) => self.operation(part),
                None => Operation::Other("parts that have not begun".into()),
            };
        }
        if view.buffers().has_flush(request) {
            return Operation::Other("the end of buffered sends (MPI_Buffer_iflush)".into());
        }
        if requests.get(request).is_some_and(Pending::is_generalized) {
            return Operation::Other("a generalized request (MPI_Grequest_complete)".into());
        }
        let context = requests.get(request).and_then(Pending::context);
        let is_of_port = context.is_some_and(|it| it.kind() != ContextKind::Matching);
        Operation::Other(match is_of_port {
            true => "the answer of a peer's port".into(),
            false => "a request that nobody completes".into(),
        })
    }

    fn sending(self, sending: &Sending) -> Operation {
        let envelope = sending.envelope();
        if envelope.context == envelope.context.point_to_point().collective() {
            return self.blocking_collective(envelope.context);
        }
        let dest = self.member(envelope.context, sending.receiver());
        if let (true, Some(world)) = (envelope.context.is_collective(), dest.world) {
            let (name, _) = self.waits.collective(envelope.tag);
            return Operation::Other(format!("rank {world} to receive a message of {name}"));
        }
        let requests = self.view.requests();
        let whole = sending.request().and_then(|part| {
            let part = requests.get(part)?.part()?;
            Some(part.whole)
        });
        if let Some(partitioned) = whole.and_then(|whole| self.partitioned_operation(whole)) {
            return partitioned;
        }
        Operation::Send {
            context: envelope.context.point_to_point().0,
            dest,
            tag: envelope.tag,
            bytes: sending.bytes(),
            is_synchronous: envelope.flags.is_synchronous(),
            kind: envelope.context.message_kind(),
        }
    }

    pub(crate) fn held(
        self,
        (envelope, bytes): (&Envelope, u64),
        is_with_sender: bool,
    ) -> HeldMessage {
        let context = envelope.context;
        let collective = match context.is_collective() {
            true => match self.waits.collective(envelope.tag) {
                (name, Some(root)) => format!("{name}(root {root})"),
                (name, None) => name,
            },
            false => String::new(),
        };
        HeldMessage {
            context: context.point_to_point().0,
            source: self.peer_in(context, envelope.rank()),
            tag: Some(envelope.tag),
            bytes,
            is_with_sender,
            collective,
            kind: context.message_kind(),
        }
    }

    /// The communicators that the state names, and some others.
    pub(crate) fn communicators(self, state: &RankState) -> Vec<CommunicatorState> {
        let mut contexts = vec![Context::WORLD];
        let of_threads = state.threads.iter().flat_map(|thread| &thread.operations);
        contexts.extend(of_threads.filter_map(context_of).map(Context));
        let of_messages = state.unexpected.iter();
        contexts.extend(of_messages.map(|message| Context(message.context)));
        // The one of all processes is the library's own: shown only if something waits there.
        let others = self.view.ports().contexts(COMMUNICATORS_MAX + 1);
        contexts.extend(others.into_iter().filter(|context| !context.is_of_all()));
        let mut seen = BTreeSet::new();
        contexts.retain(|context| seen.insert(*context));
        contexts.truncate(COMMUNICATORS_MAX);
        let described = contexts.iter().filter_map(|it| self.communicator(*it));
        described.collect()
    }

    /// The process with this rank in the communicator of a context.
    pub(crate) fn peer_in(self, context: Context, rank: u32) -> Peer {
        let members = self.view.ports().members(context);
        let member = members.and_then(|all| all.get(rank as usize).copied());
        Peer {
            rank: Some(rank),
            world: member.map(|member| self.view.peers().rank(member)),
        }
    }

    /// This process, as the communicator of a context numbers it.
    fn member(self, context: Context, process: PeerId) -> Peer {
        let members = self.view.ports().members(context);
        let rank = members.and_then(|all| all.iter().position(|member| *member == process));
        Peer {
            rank: rank.and_then(|rank| u32::try_from(rank).ok()),
            world: Some(self.view.peers().rank(process)),
        }
    }

    /// What a partitioned operation waits for.
    fn partitioned_operation(self, request: Request) -> Option<Operation> {
        let whole = self.view.requests().whole(request)?;
        let partitioned = whole.partitioned()?;
        let context = partitioned.context();
        let partitions = whole.partitions();
        let kind = MessageKind::Partitioned(partitions);
        Some(match partitioned {
            Partitioned::Send(send, header) => Operation::Send {
                context: context.point_to_point().0,
                dest: send
                    .to
                    .map_or_else(Peer::default, |to| self.member(context, to)),
                tag: send.tag,
                bytes: header.all().unwrap_or_default(),
                is_synchronous: false,
                kind,
            },
            Partitioned::Receive(receive, None) => Operation::Receive(Wanted {
                context: context.point_to_point().0,
                source: receive.source.map(|source| self.peer_in(context, source)),
                tag: Some(receive.tag),
                room: Some(receive.area.len()),
                kind,
            }),
            Partitioned::Receive(receive, Some(header)) => Operation::Incoming(HeldMessage {
                bytes: header.all().unwrap_or_default(),
                kind,
                ..self.partitioned((context, receive.source?), Some(receive.tag))
            }),
        })
    }

    /// The first receives of collectives beside the program that no message has matched.
    pub(crate) fn awaited_beside(self) -> Vec<Wanted> {
        let is_beside =
            |pattern: &Pattern| pattern.context == pattern.context.point_to_point().nonblocking();
        let receives = self.view.posted().iter();
        let receives = receives.filter(|(_, pattern)| is_beside(pattern));
        let wanted = receives.map(|(request, pattern)| {
            let room = self.view.requests().get(request).and_then(Pending::room);
            self.wanted(pattern, room)
        });
        wanted.take(LISTED_MAX).collect()
    }

    fn wanted(self, pattern: &Pattern, room: Option<u64>) -> Wanted {
        let source = pattern.source.map(|source| source & RANK);
        Wanted {
            context: pattern.context.point_to_point().0,
            source: source.map(|source| self.peer_in(pattern.context, source)),
            tag: pattern.tag,
            room,
            kind: pattern.context.message_kind(),
        }
    }

    /// The blocking collective that has begun last in this context.
    fn blocking_collective(self, context: Context) -> Operation {
        let communicator = context.point_to_point();
        Operation::Collective {
            context: communicator.0,
            name: String::new(),
            root: None,
            number: self.view.ports().calls(communicator.collective()),
            is_blocking: true,
        }
    }

    /// The communicator of this context, if it is open.
    fn communicator(self, context: Context) -> Option<CommunicatorState> {
        let ports = self.view.ports();
        let members = ports.members(context)?;
        let world = |member| self.view.peers().rank(member);
        Some(CommunicatorState {
            context: context.0,
            size: members.len() as u32,
            first: world(*members.first()?),
            members: Run::of(members.iter().map(|member| world(*member))),
            begun: ports.calls(context.collective()),
            begun_nonblocking: ports.calls(context.nonblocking()),
            ..CommunicatorState::default()
        })
    }
}

/// The context of the communicator of an operation.
fn context_of(operation: &Operation) -> Option<u32> {
    match operation {
        Operation::Receive(wanted) | Operation::Probe(wanted) => Some(wanted.context),
        Operation::Incoming(message) => Some(message.context),
        Operation::Send { context, .. } | Operation::Collective { context, .. } => Some(*context),
        Operation::Job | Operation::Other(_) => None,
    }
}

/// A blocking collective has the name of the call that is in it.
fn name_own_collective(thread: &mut ThreadState) {
    let said = |argument: &String| argument.strip_prefix("root=")?.parse().ok();
    let said_root = thread.arguments.iter().find_map(said);
    for operation in &mut thread.operations {
        if let Operation::Collective {
            name,
            root,
            is_blocking: true,
            ..
        } = operation
            && name.is_empty()
        {
            name.clone_from(&thread.call);
            *root = root.or(said_root);
        }
    }
}
