//! Messages and receives that match, and those that nearly do.

use std::collections::{HashMap, HashSet};
use std::mem::{Discriminant, discriminant};

use mpi_boot::state::{HeldMessage, LISTED_MAX, MessageKind, Operation, Peer, RankState, Wanted};

use super::collectives::Meeting;
use super::communicators::{Communicators, Id};
use super::waits::{Wait, all, operations, threads};
use super::words::collective;
use super::{Snapshot, communicators};

/// The most sends to one rank that are compared with its receives.
const SENDS_MAX: usize = 64;

/// What keeps a message and a receive apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    Tag,
    Communicator,
    /// They match, but the message is longer than the receive has room for.
    Room,
    /// One of them is partitioned.
    Kind,
}

/// A message that a receive nearly takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near<'a> {
    pub(super) source: Peer,
    pub(super) communicator: Id,
    pub(super) tag: i32,
    pub(super) bytes: u64,
    pub(super) kind: MessageKind,
    pub(super) difference: Difference,
    /// The sender waits for it.
    pub(super) sender: Option<Wait<'a>>,
}

/// The messages of one kind on one communicator.
type Queue = (Id, Discriminant<MessageKind>);

/// What a message and a receive must agree in: the receiver, the queue, the sender and the tag;
/// `None` for any.
type Envelope = (u32, Queue, Option<u32>, Option<i32>);

/// A message on its way, as a receiver sees it.
#[derive(Clone, Copy)]
struct Message<'a> {
    source: Peer,
    communicator: Id,
    tag: i32,
    bytes: u64,
    kind: MessageKind,
    sender: Option<Wait<'a>>,
}

/// The messages and receives of all ranks.
pub(super) struct Messages<'a> {
    /// By receiver: sends that wait.
    sends: HashMap<u32, Vec<Message<'a>>>,
    /// Envelopes of receives and probes.
    posted: HashSet<Envelope>,
    /// Envelopes that take one of the sends.
    sent: HashSet<Envelope>,
    /// By receiver: what it holds.
    states: HashMap<u32, &'a RankState>,
}

impl<'a> Messages<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, communicators: &Communicators<'a>) -> Messages<'a> {
        let mut messages = Messages {
            sends: HashMap::new(),
            posted: HashSet::new(),
            sent: HashSet::new(),
            states: communicators::states(snapshot).collect(),
        };
        for wait in all(snapshot) {
            match wait.operation {
                Operation::Receive(wanted) | Operation::Probe(wanted) => {
                    let envelope = envelope(wait.rank, wanted, communicators);
                    messages.posted.insert(envelope);
                }
                // A partitioned receive has matched its message before the partitions come.
                Operation::Incoming(held) => {
                    let envelope = envelope_of(wait.rank, held, communicators);
                    messages.posted.insert(envelope);
                }
                Operation::Send { .. } => messages.add_send(wait, communicators),
                _ => (),
            }
        }
        messages
    }

    fn add_send(&mut self, wait: Wait<'a>, communicators: &Communicators<'a>) {
        let Operation::Send {
            context,
            dest: Peer {
                world: Some(dest), ..
            },
            tag,
            kind,
            ..
        } = wait.operation
        else {
            return;
        };
        if kind.is_ready() {
            let queue = (communicators.id(wait.rank, *context), discriminant(kind));
            for source in [None, Some(wait.rank)] {
                self.sent.insert((*dest, queue, source, None));
                self.sent.insert((*dest, queue, source, Some(*tag)));
            }
        }
        let sends = self.sends.entry(*dest).or_default();
        if sends.len() < SENDS_MAX {
            sends.extend(as_message(wait, communicators));
        }
    }

    /// Returns true if the other side of this operation is there.
    pub(super) fn have_met(&self, wait: Wait<'_>, communicators: &Communicators<'_>) -> bool {
        match wait.operation {
            Operation::Receive(wanted) | Operation::Probe(wanted) => {
                self.sent
                    .contains(&envelope(wait.rank, wanted, communicators))
            }
            Operation::Send {
                context,
                dest,
                tag,
                kind,
                ..
            } => {
                let Some(dest) = dest.world.filter(|_| kind.is_ready()) else {
                    return false;
                };
                let queue = (communicators.id(wait.rank, *context), discriminant(kind));
                [None, Some(wait.rank)].into_iter().any(|source| {
                    self.posted.contains(&(dest, queue, source, None))
                        || self.posted.contains(&(dest, queue, source, Some(*tag)))
                })
            }
            Operation::Incoming(held) => match held.kind {
                MessageKind::Partitioned(_) => {
                    self.sent
                        .contains(&envelope_of(wait.rank, held, communicators))
                }
                _ => true,
            },
            _ => false,
        }
    }

    /// A message that a rank in a collective holds, and that belongs to another one.
    pub(super) fn other_collective(
        &self,
        wait: Wait<'a>,
        communicators: &Communicators<'_>,
    ) -> Option<&'a HeldMessage> {
        let Operation::Collective {
            context,
            is_blocking: true,
            ..
        } = wait.operation
        else {
            return None;
        };
        let id = communicators.id(wait.rank, *context);
        let own = collective(wait);
        let state = self.states.get(&wait.rank)?;
        state.unexpected.iter().take(LISTED_MAX).find(|held| {
            let is_other = !held.collective.is_empty() && held.collective != own;
            is_other && communicators.id(wait.rank, held.context) == id
        })
    }

    /// Returns true if a message that a rank holds belongs to a collective in which its sender
    /// still waits for other members to come. Once all have come, the message may be what shows why
    /// it does not end.
    pub(super) fn is_of_a_wait(
        &self,
        rank: u32,
        held: &HeldMessage,
        communicators: &Communicators<'_>,
    ) -> bool {
        let Some((source, state)) = held
            .source
            .world
            .and_then(|source| Some((source, self.states.get(&source)?)))
        else {
            return false;
        };
        let id = communicators.id(rank, held.context);
        threads(state).iter().any(|thread| {
            operations(thread).iter().any(|operation| {
                let rank = source;
                let wait = Wait {
                    rank,
                    thread,
                    operation,
                };
                let Operation::Collective { context, .. } = operation else {
                    return false;
                };
                let is_its =
                    collective(wait) == held.collective && communicators.id(rank, *context) == id;
                let meeting = is_its.then(|| Meeting::of(wait, communicators)).flatten();
                meeting.is_some_and(|meeting| !meeting.missing(communicators).is_empty())
            })
        })
    }

    /// What a receive or a probe of a rank nearly takes.
    pub(super) fn near(
        &self,
        rank: u32,
        wanted: &Wanted,
        communicators: &Communicators<'a>,
    ) -> Vec<Near<'a>> {
        let mut sends = self.sends.get(&rank).cloned().unwrap_or_default();
        let held = self.states.get(&rank).map_or(&[][..], |state| {
            let listed = state.unexpected.len().min(LISTED_MAX);
            &state.unexpected[..listed]
        });
        let held = held.iter().filter(|held| held.collective.is_empty());
        let mut messages: Vec<Message<'_>> = held
            .filter_map(|held| {
                Some(Message {
                    source: held.source,
                    communicator: communicators.id(rank, held.context),
                    tag: held.tag?,
                    bytes: held.bytes,
                    kind: held.kind,
                    sender: None,
                })
            })
            .collect();
        for message in &mut messages {
            let same = sends.iter().position(|send| send.is(message));
            message.sender = same.and_then(|same| sends.remove(same).sender);
        }
        let id = communicators.id(rank, wanted.context);
        let messages = messages.into_iter().chain(sends);
        messages
            .filter_map(|message| message.nearly_fits(wanted, id))
            .collect()
    }
}

impl<'a> Message<'a> {
    fn is(&self, other: &Message<'_>) -> bool {
        let is_one = |message: &Message<'_>| {
            let kind = discriminant(&message.kind);
            (
                message.source.world,
                message.communicator,
                message.tag,
                kind,
            )
        };
        is_one(self) == is_one(other)
    }

    fn nearly_fits(self, wanted: &Wanted, communicator: Id) -> Option<Near<'a>> {
        let is_other = |source: Peer| source.world.is_none() || source.world != self.source.world;
        if wanted.source.is_some_and(is_other) {
            return None;
        }
        let has_tag = wanted.tag.is_none_or(|tag| tag == self.tag);
        let has_communicator = communicator == self.communicator;
        let difference = match (has_communicator, has_tag) {
            _ if discriminant(&wanted.kind) != discriminant(&self.kind) => {
                let is_creation = [wanted.kind, self.kind].contains(&MessageKind::Creation);
                if is_creation || !has_communicator || !has_tag {
                    return None;
                }
                Difference::Kind
            }
            (true, false) => Difference::Tag,
            (false, true) => Difference::Communicator,
            (true, true) if wanted.room.is_some_and(|room| room < self.bytes) => Difference::Room,
            _ => return None,
        };
        Some(Near {
            source: self.source,
            communicator: self.communicator,
            tag: self.tag,
            bytes: self.bytes,
            kind: self.kind,
            difference,
            sender: self.sender,
        })
    }
}

fn as_message<'a>(send: Wait<'a>, communicators: &Communicators<'_>) -> Option<Message<'a>> {
    let Operation::Send {
        context,
        tag,
        bytes,
        kind,
        ..
    } = send.operation
    else {
        return None;
    };
    let communicator = communicators.id(send.rank, *context);
    let mut members = communicators.in_order(communicator);
    let place = members.position(|member| member == send.rank);
    let place = place.and_then(|place| u32::try_from(place).ok());
    Some(Message {
        source: Peer {
            rank: place,
            world: Some(send.rank),
        },
        communicator,
        tag: *tag,
        bytes: *bytes,
        kind: *kind,
        sender: Some(send),
    })
}

fn envelope(rank: u32, wanted: &Wanted, communicators: &Communicators<'_>) -> Envelope {
    // A sender that is not known sends nothing that is known.
    let source = wanted.source.map(|source| source.world.unwrap_or(u32::MAX));
    let id = communicators.id(rank, wanted.context);
    (rank, (id, discriminant(&wanted.kind)), source, wanted.tag)
}

/// The envelope of a message that has met its receive.
fn envelope_of(rank: u32, held: &HeldMessage, communicators: &Communicators<'_>) -> Envelope {
    let id = communicators.id(rank, held.context);
    let source = held.source.world.unwrap_or(u32::MAX);
    (rank, (id, discriminant(&held.kind)), Some(source), held.tag)
}
