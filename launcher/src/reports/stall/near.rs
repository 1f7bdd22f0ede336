//! Messages and receives that match, and those that nearly do.

use std::collections::{HashMap, HashSet};
use std::mem::{Discriminant, discriminant};

use mpi_boot::state::{MessageKind, Operation, Peer};

use super::facts::Facts;
use super::waits::{Id, Mail, Wait};

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

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    /// As a receiver sees it.
    pub(super) mail: Mail,
    /// The sender waits for it.
    pub(super) sender: Option<Wait<'a>>,
}

/// A message that a receive nearly takes.
pub(super) type Near<'a> = (Message<'a>, Difference);

/// What a message and a receive must agree in: the receiver, the communicator, the kind, the sender
/// and the tag; `None` for any.
type Envelope = (u32, Id, Discriminant<MessageKind>, Option<u32>, Option<i32>);

/// The messages and receives of all ranks.
#[derive(Default)]
pub(super) struct Messages<'a> {
    /// By receiver: sends that wait.
    sends: HashMap<u32, Vec<Message<'a>>>,
    /// Envelopes of receives and probes.
    posted: HashSet<Envelope>,
    /// Envelopes that take one of the sends.
    sent: HashSet<Envelope>,
}

impl<'a> Messages<'a> {
    pub(super) fn new(facts: &Facts<'a>) -> Messages<'a> {
        let mut messages = Messages::default();
        for &wait in &facts.waits {
            let Operation::Send { dest, .. } = wait.operation else {
                // A partitioned receive has matched its message before the partitions come.
                messages.posted.extend(envelopes(wait));
                continue;
            };
            messages.sent.extend(envelopes(wait));
            let sends = dest
                .world
                .map(|dest| messages.sends.entry(dest).or_default());
            if let Some(sends) = sends
                && sends.len() < SENDS_MAX
            {
                sends.extend(as_message(wait, facts));
            }
        }
        messages
    }

    /// Returns true if the other side of this operation is there.
    pub(super) fn have_met(&self, wait: Wait<'_>) -> bool {
        let others = match wait.operation {
            Operation::Incoming(held) if !matches!(held.kind, MessageKind::Partitioned(_)) => {
                return true;
            }
            Operation::Send { .. } => &self.posted,
            _ => &self.sent,
        };
        envelopes(wait).iter().any(|it| others.contains(it))
    }

    /// What a receive or a probe nearly takes.
    pub(super) fn near(&self, wait: Wait<'_>, facts: &Facts<'a>) -> Vec<Near<'a>> {
        let Some(wanted) = wait.mail().filter(|_| wait.is_for_message()) else {
            return Vec::new();
        };
        let rank = wait.rank;
        let mut sends = self.sends.get(&rank).cloned().unwrap_or_default();
        let held = facts.state(rank).map_or(&[][..], |it| &it.unexpected);
        let held = held
            .iter()
            .filter(|it| it.collective.is_empty() && it.tag.is_some());
        let messages = held.map(|held| {
            let mail = Mail::held(facts.id(rank, held.context), held);
            let same = sends.iter().position(|send| send.is(&mail));
            let sender = same.and_then(|same| sends.remove(same).sender);
            Message { mail, sender }
        });
        let mut messages: Vec<Message<'a>> = messages.collect();
        messages.extend(sends);
        let near = messages.into_iter();
        near.filter_map(|message| Some((message, difference(&message.mail, &wanted)?)))
            .collect()
    }
}

impl Message<'_> {
    fn is(&self, other: &Mail) -> bool {
        let key = |mail: &Mail| (mail.world(), mail.id, mail.tag, discriminant(&mail.kind));
        key(&self.mail) == key(other)
    }
}

/// What keeps a message and a receive apart, if it is one thing.
fn difference(message: &Mail, wanted: &Mail) -> Option<Difference> {
    let is_any = wanted.peer.is_none();
    if !is_any && (wanted.world().is_none() || wanted.world() != message.world()) {
        return None;
    }
    let has_tag = wanted.tag.is_none() || wanted.tag == message.tag;
    let has_communicator = wanted.id == message.id;
    if discriminant(&wanted.kind) != discriminant(&message.kind) {
        let is_creation = [wanted.kind, message.kind].contains(&MessageKind::Creation);
        let is_it = !is_creation && has_communicator && has_tag;
        return is_it.then_some(Difference::Kind);
    }
    match (has_communicator, has_tag) {
        (true, false) => Some(Difference::Tag),
        (false, true) => Some(Difference::Communicator),
        (true, true) if wanted.bytes.is_some_and(|room| Some(room) < message.bytes) => {
            Some(Difference::Room)
        }
        _ => None,
    }
}

/// A message as its receiver sees it.
fn as_message<'a>(send: Wait<'a>, facts: &Facts<'a>) -> Option<Message<'a>> {
    let mail = send.mail()?;
    let place = facts.in_order(mail.id).position(|it| it == send.rank);
    let source = Peer {
        rank: place.and_then(|place| u32::try_from(place).ok()),
        world: Some(send.rank),
    };
    let peer = Some(source);
    Some(Message {
        mail: Mail { peer, ..mail },
        sender: Some(send),
    })
}

/// The envelope of a receive, or of all receives that take a send.
fn envelopes(wait: Wait<'_>) -> Vec<Envelope> {
    let Some(mail) = wait.mail() else {
        return Vec::new();
    };
    let (id, kind) = (mail.id, discriminant(&mail.kind));
    let Operation::Send { dest, .. } = wait.operation else {
        // A sender that is not known sends nothing that is known.
        let source = mail.peer.map(|source| source.world.unwrap_or(u32::MAX));
        return vec![(wait.rank, id, kind, source, mail.tag)];
    };
    let Some(dest) = dest.world.filter(|_| mail.kind.is_ready()) else {
        return Vec::new();
    };
    let sources = [None, Some(wait.rank)];
    let both = sources.map(|source| [None, mail.tag].map(|tag| (dest, id, kind, source, tag)));
    both.concat()
}
