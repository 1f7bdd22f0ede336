//! What a lane holds, in the words of the boot protocol: unfinished operations, messages that
//! nobody has received, communicators. Only for the report of a job that hangs.

use std::collections::BTreeSet;

use crate::boot::state::{
    COMMUNICATORS_MAX, CommunicatorState, HeldMessage, LISTED_MAX, MessageKind, Operation, Peer,
    RankState, Run, ThreadState, Wanted,
};
use crate::engine::Engine;
use crate::engine::envelope::{Envelope, RANK_BITS};
use crate::engine::inbox::matching::Pattern;
use crate::engine::lane::Lane;
use crate::engine::lane::delivery::Target;
use crate::engine::outbox::sends::Sending;
use crate::engine::report::waits::Subject;
use crate::engine::requests::channel::Channel;
use crate::engine::requests::request::Request;
use crate::ids::{Context, PeerId};
use crate::slab::SlotMap;

/// The part of an envelope's source that is the rank.
const RANK: u32 = (1 << RANK_BITS) - 1;

impl Engine {
    /// Enters into `thread` what it waits for.
    pub(crate) fn describe_subject(
        &self,
        lane: &Lane,
        subject: &Subject,
        thread: &mut ThreadState,
    ) {
        match subject {
            Subject::Requests {
                ends_with,
                pending,
                left_out,
            } => {
                thread.ends_with = *ends_with;
                let found = pending.iter().map(|request| self.operation(lane, *request));
                thread.operations = found.collect();
                thread.left_out = *left_out;
            }
            Subject::Probe(pattern) => {
                thread.operations = vec![Operation::Probe(lane.wanted(pattern, None))];
            }
            Subject::Collective(context) => {
                thread.operations = vec![lane.blocking_collective(*context)];
            }
            Subject::AllSent => {
                let sends = lane.delivery.sends.iter().map(|(_, sending)| sending);
                // What engines tell each other is no send of the program.
                let sends = sends.filter(|sending| !sending.is_between_engines());
                let mut all: Vec<Operation> = Vec::new();
                for operation in sends.map(|sending| self.sending(lane, sending)) {
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
                thread.operations = vec![Operation::Other((*words).into())];
            }
        }
    }

    /// The operation that completes this request.
    fn operation(&self, lane: &Lane, request: Request) -> Operation {
        let delivery = &lane.delivery;
        if let Some(pattern) = delivery.posted.pattern_of(request) {
            return match pattern.context.is_collective() {
                true => lane.blocking_collective(pattern.context),
                false => {
                    Operation::Receive(lane.wanted(&pattern, delivery.requests.room_of(request)))
                }
            };
        }
        if let Some(partitioned) = lane.partitioned_operation(request) {
            return partitioned;
        }
        let mut sends = delivery.sends.iter().map(|(_, sending)| sending);
        if let Some(sending) = sends.find(|sending| sending.is_of(request)) {
            return self.sending(lane, sending);
        }
        if let Some((envelope, len)) = lane.incoming(request) {
            return Operation::Incoming(self.held(lane, (&envelope, len), false));
        }
        if let Some(call) = self.tasks.call_of(request) {
            let (name, root) = self.waits.collective(call.tag);
            let Some(context) = delivery.requests.context(request) else {
                return Operation::Other(name);
            };
            return Operation::Collective {
                context: context.point_to_point().0,
                name,
                root,
                number: call.number,
                is_blocking: false,
            };
        }
        if let Some(whole) = delivery.requests.whole(request) {
            return match whole.active().next() {
                Some(part) => self.operation(lane, part),
                None => Operation::Other("parts that have not begun".into()),
            };
        }
        if delivery.buffers.has_flush(request) {
            return Operation::Other("the end of buffered sends (MPI_Buffer_iflush)".into());
        }
        if delivery.requests.is_generalized(request) {
            return Operation::Other("a generalized request (MPI_Grequest_complete)".into());
        }
        Operation::Other("a request that nobody completes".into())
    }

    fn sending(&self, lane: &Lane, sending: &Sending) -> Operation {
        let envelope = Envelope::decode(&sending.envelope);
        if envelope.context == envelope.context.point_to_point().collective() {
            return lane.blocking_collective(envelope.context);
        }
        let dest = lane.member(envelope.context, sending.to);
        if let (true, Some(world)) = (envelope.context.is_collective(), dest.world) {
            let (name, _) = self.waits.collective(envelope.tag);
            return Operation::Other(format!("rank {world} to receive a message of {name}"));
        }
        let requests = &lane.delivery.requests;
        let whole = sending.request.and_then(|part| requests.whole_of(part));
        if let Some(partitioned) = whole.and_then(|whole| lane.partitioned_operation(whole)) {
            return partitioned;
        }
        Operation::Send {
            context: envelope.context.point_to_point().0,
            dest,
            tag: envelope.tag,
            bytes: sending.len,
            is_synchronous: envelope.flags.is_synchronous(),
            kind: envelope.context.kind(),
        }
    }

    pub(crate) fn held(
        &self,
        lane: &Lane,
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
            source: lane.peer_in(context, envelope.rank()),
            tag: Some(envelope.tag),
            bytes,
            is_with_sender,
            collective,
            kind: context.kind(),
        }
    }

    /// How many blocking and nonblocking collectives the communicator of this context has
    /// begun here.
    #[must_use]
    pub fn begun(&self, context: Context) -> (u32, u32) {
        self.with(|lane| {
            let calls = |context| lane.delivery.ports.calls(context);
            (calls(context.collective()), calls(context.nonblocking()))
        })
    }

    /// The communicators that the state names, and some others.
    pub(crate) fn communicators(&self, lane: &Lane, state: &RankState) -> Vec<CommunicatorState> {
        let mut contexts = vec![Context::WORLD];
        let of_threads = state.threads.iter().flat_map(|thread| &thread.operations);
        contexts.extend(of_threads.filter_map(context_of).map(Context));
        let of_messages = state.unexpected.iter();
        contexts.extend(of_messages.map(|message| Context(message.context)));
        // The one of all processes is the library's own: shown only if something waits there.
        let others = lane.delivery.ports.contexts(COMMUNICATORS_MAX + 1);
        contexts.extend(others.into_iter().filter(|context| !context.is_of_all()));
        let mut seen = BTreeSet::new();
        contexts.retain(|context| seen.insert(*context));
        contexts.truncate(COMMUNICATORS_MAX);
        let described = contexts.iter().filter_map(|it| lane.communicator(*it));
        described.collect()
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

impl Lane {
    /// The process with this rank in the communicator of a context.
    pub(crate) fn peer_in(&self, context: Context, rank: u32) -> Peer {
        let members = self.delivery.ports.members(context);
        let member = members.and_then(|all| all.get(rank as usize).copied());
        Peer {
            rank: Some(rank),
            world: member.map(|member| self.delivery.peers.rank(member)),
        }
    }

    /// This process, as the communicator of a context numbers it.
    fn member(&self, context: Context, process: PeerId) -> Peer {
        let members = self.delivery.ports.members(context);
        let rank = members.and_then(|all| all.iter().position(|member| *member == process));
        Peer {
            rank: rank.and_then(|rank| u32::try_from(rank).ok()),
            world: Some(self.delivery.peers.rank(process)),
        }
    }

    /// What a partitioned operation waits for.
    fn partitioned_operation(&self, request: Request) -> Option<Operation> {
        let whole = self.delivery.requests.whole(request)?;
        let (channel, context) = (whole.channel.as_ref()?, whole.context()?);
        let partitions = whole.partitions();
        let kind = MessageKind::Partitioned(partitions);
        Some(match channel {
            Channel::Send { send, header } => Operation::Send {
                context: context.point_to_point().0,
                dest: send
                    .to
                    .map_or_else(Peer::default, |to| self.member(context, to)),
                tag: send.tag,
                bytes: header.all().unwrap_or_default(),
                is_synchronous: false,
                kind,
            },
            Channel::Receive {
                receive,
                header: None,
                ..
            } => Operation::Receive(Wanted {
                context: context.point_to_point().0,
                source: receive.source.map(|source| self.peer_in(context, source)),
                tag: Some(receive.tag),
                room: Some(receive.area.len()),
                kind,
            }),
            Channel::Receive {
                receive,
                header: Some(header),
                ..
            } => Operation::Incoming(HeldMessage {
                bytes: header.all().unwrap_or_default(),
                kind,
                ..self.partitioned((context, receive.source?), Some(receive.tag))
            }),
        })
    }

    /// The first receives of collectives beside the program that no message has matched.
    pub(crate) fn awaited_beside(&self) -> Vec<Wanted> {
        let is_beside =
            |pattern: &Pattern| pattern.context == pattern.context.point_to_point().nonblocking();
        let receives = self.delivery.posted.iter();
        let receives = receives.filter(|(_, pattern)| is_beside(pattern));
        let wanted = receives.map(|(request, pattern)| {
            let room = self.delivery.requests.room_of(request);
            self.wanted(pattern, room)
        });
        wanted.take(LISTED_MAX).collect()
    }

    fn wanted(&self, pattern: &Pattern, room: Option<u64>) -> Wanted {
        let source = pattern.source.map(|source| source & RANK);
        Wanted {
            context: pattern.context.point_to_point().0,
            source: source.map(|source| self.peer_in(pattern.context, source)),
            tag: pattern.tag,
            room,
            kind: pattern.context.kind(),
        }
    }

    /// The blocking collective that has begun last in this context.
    fn blocking_collective(&self, context: Context) -> Operation {
        let communicator = context.point_to_point();
        Operation::Collective {
            context: communicator.0,
            name: String::new(),
            root: None,
            number: self.delivery.ports.calls(communicator.collective()),
            is_blocking: true,
        }
    }

    /// The message that this receive has matched, and its length.
    fn incoming(&self, request: Request) -> Option<(Envelope, u64)> {
        let its = |target: &Target| match target {
            Target::Receive {
                request: receive,
                envelope,
                len,
            } if *receive == request => Some((*envelope, *len)),
            _ => None,
        };
        let mut targets = self.delivery.targets.iter().flat_map(SlotMap::iter);
        let claimed = || self.delivery.unexpected.claimed_by(request);
        let claimed = || claimed().map(|message| (message.envelope, message.len));
        targets.find_map(its).or_else(claimed)
    }

    /// The communicator of this context, if it is open.
    fn communicator(&self, context: Context) -> Option<CommunicatorState> {
        let ports = &self.delivery.ports;
        let members = ports.members(context)?;
        let world = |member| self.delivery.peers.rank(member);
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
