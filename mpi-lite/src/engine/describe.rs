//! What a lane holds, in the words of the boot protocol: unfinished operations, messages that
//! nobody has received, communicators. Only for the report of a job that hangs.

use std::collections::BTreeSet;

use super::Engine;
use super::delivery::Target;
use super::envelope::{Envelope, RANK_BITS};
use super::lane::Lane;
use super::matching::{Body, Pattern, UnexpectedMessage};
use super::operation::Request;
use super::sends::Sending;
use super::waits::Subject;
use crate::boot::state::{
    COMMUNICATORS_MAX, CommunicatorState, HeldMessage, LISTED_MAX, Operation, Peer, RankState, Run,
    ThreadState, Wanted,
};
use crate::ids::Context;
use crate::slab::SlotMap;

/// The part of an envelope's source that is the rank.
const RANK: u32 = (1 << RANK_BITS) - 1;

impl Engine {
    /// Enters into `thread` what it waits for.
    pub(super) fn describe_subject(
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
                let mut sends = sends.map(|sending| self.sending(lane, sending));
                thread.operations = sends.by_ref().take(LISTED_MAX).collect();
                thread.left_out = sends.count() as u64;
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
        let mut sends = delivery.sends.iter().map(|(_, sending)| sending);
        if let Some(sending) = sends.find(|sending| sending.is_of(request)) {
            return self.sending(lane, sending);
        }
        if let Some((envelope, len)) = lane.incoming(request) {
            return Operation::Incoming(self.held(lane, (&envelope, len), false));
        }
        if let Some(call) = self.tasks.call_of(request) {
            let (name, root) = self.waits.collective(call.tag);
            let context = delivery.requests.context(request);
            return Operation::Collective {
                context: context.map_or(u32::MAX, |context| context.point_to_point().0),
                name,
                root,
                number: call.number,
                is_blocking: false,
            };
        }
        if let Some(whole) = delivery.requests.whole(request) {
            return match whole.active().next() {
                Some(part) => self.operation(lane, part),
                None => Operation::Other("partitions that are not ready".into()),
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
        let context = envelope.context.point_to_point();
        let members = lane.delivery.ports.members(context);
        let rank = members.and_then(|all| all.iter().position(|member| *member == sending.to));
        Operation::Send {
            context: context.0,
            dest: Peer {
                rank: rank.map_or(u32::MAX, |rank| rank as u32),
                world: lane.delivery.peers.rank(sending.to),
            },
            tag: envelope.tag,
            bytes: sending.len,
            is_synchronous: envelope.flags.is_synchronous(),
        }
    }

    fn held(
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
            tag: envelope.tag,
            bytes,
            is_with_sender,
            collective,
        }
    }

    /// What the lane holds that nobody has received.
    pub(super) fn describe_lane(&self, lane: &Lane) -> RankState {
        let mut waiting = lane.delivery.unexpected.iter();
        let held = |message: &UnexpectedMessage| {
            let is_with_sender = matches!(message.body, Body::Held(_));
            self.held(lane, (&message.envelope, message.len), is_with_sender)
        };
        RankState {
            unexpected: waiting.by_ref().take(LISTED_MAX).map(held).collect(),
            unexpected_left_out: waiting.count() as u64,
            awaited: lane.awaited_beside(),
            ..RankState::default()
        }
    }

    /// The communicators that the state names, and some others.
    pub(super) fn communicators(&self, lane: &Lane, state: &RankState) -> Vec<CommunicatorState> {
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
    fn peer_in(&self, context: Context, rank: u32) -> Peer {
        let members = self.delivery.ports.members(context);
        let member = members.and_then(|all| all.get(rank as usize).copied());
        Peer {
            rank,
            world: member.map_or(Peer::UNKNOWN, |member| self.delivery.peers.rank(member)),
        }
    }

    /// The first receives of collectives beside the program that no message has matched.
    fn awaited_beside(&self) -> Vec<Wanted> {
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
            first: members.first().map_or(u32::MAX, |first| world(*first)),
            members: Run::of(members.iter().map(|member| world(*member))),
            begun: ports.calls(context.collective()),
            begun_nonblocking: ports.calls(context.nonblocking()),
            ..CommunicatorState::default()
        })
    }
}
