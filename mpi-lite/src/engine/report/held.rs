//! The messages that a lane holds and nobody has received, as a report names them.
//!
//! A partitioned message comes as a header and as many messages as the sender has partitions. For
//! the program it is one message.

use std::collections::BTreeMap;

use crate::boot::state::{HeldMessage, LISTED_MAX, MessageKind, Partitions, RankState};
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::{Body, UnexpectedMessage};
use crate::engine::lane::View;
use crate::engine::report::describe::Description;
use crate::engine::requests::{Header, Partitioned, is_partition};
use crate::ids::Context;

/// Partitions by context, sender and number: their bytes.
#[derive(Default)]
struct Loose(BTreeMap<(Context, u32, u32), u64>);

/// The messages of a report: the first ones, and how many more there are.
#[derive(Default)]
struct List {
    listed: Vec<HeldMessage>,
    left_out: u64,
}

impl List {
    fn push(&mut self, message: HeldMessage) {
        match self.listed.len() {
            LISTED_MAX => self.left_out += 1,
            _ => self.listed.push(message),
        }
    }
}

impl Loose {
    fn of(view: View<'_>) -> Self {
        let messages = view.unexpected().iter();
        let partitions = messages.filter_map(|message| {
            let envelope = &message.envelope;
            let name = (envelope.context, envelope.rank(), number(envelope)?);
            Some((name, message.len))
        });
        Self(partitions.collect())
    }

    /// Takes the partitions of this header out. Returns how many there were.
    fn take(&mut self, (context, source): (Context, u32), header: Header) -> Partitions {
        let all = header.partitions;
        let first = header.number(0);
        let last = first.saturating_add(all.saturating_sub(1));
        let range = (context, source, first)..=(context, source, last);
        let found: Vec<_> = self.0.range(range).map(|(name, _)| *name).collect();
        for name in &found {
            self.0.remove(name);
        }
        Partitions {
            ready: found.len().try_into().unwrap_or(all),
            all,
        }
    }

    /// Takes the partitions of one sender out. Returns it, with how many there are and their bytes.
    fn take_any(&mut self) -> Option<((Context, u32), u32, u64)> {
        let (&(context, source, _), _) = self.0.first_key_value()?;
        let mut taken = (0, 0);
        self.0.retain(|(of, from, _), bytes| {
            let is_other = (*of, *from) != (context, source);
            if !is_other {
                taken = (taken.0 + 1, taken.1 + *bytes);
            }
            is_other
        });
        Some(((context, source), taken.0, taken.1))
    }
}

/// The number of the partition with this envelope; `None` if the message is none.
fn number(envelope: &Envelope) -> Option<u32> {
    is_partition(envelope).then(|| Header::number_in(envelope.tag))
}

/// The header that a message is, if it is one and here.
fn header(message: &UnexpectedMessage) -> Option<Header> {
    match &message.body {
        Body::Whole(body) if message.envelope.context.is_partitioned() => {
            Header::decode(body.bytes())
        }
        _ => None,
    }
}

impl Description<'_> {
    /// What the lane holds that nobody has received.
    pub(crate) fn unreceived(self) -> RankState {
        let mut loose = Loose::of(self.view());
        let mut list = List::default();
        let messages = self.view().unexpected().iter();
        for message in messages.filter(|message| number(&message.envelope).is_none()) {
            let is_with_sender = matches!(message.body, Body::Held(_));
            let mut held = self.held((&message.envelope, message.len), is_with_sender);
            if let Some(header) = header(message) {
                let of = (message.envelope.context, message.envelope.rank());
                held.kind = MessageKind::Partitioned(loose.take(of, header));
                held.bytes = header.all().unwrap_or(held.bytes);
            }
            list.push(held);
        }
        for held in self.partitions_of_receives(&mut loose) {
            list.push(held);
        }
        // Their receives have been freed.
        while let Some(((context, source), ready, bytes)) = loose.take_any() {
            list.push(HeldMessage {
                bytes,
                kind: MessageKind::Partitioned(Partitions { ready, all: 0 }),
                ..self.partitioned((context, source), None)
            });
        }
        RankState {
            unexpected: list.listed,
            unexpected_left_out: list.left_out,
            awaited: self.awaited_beside(),
            ..RankState::default()
        }
    }

    /// The partitions that wait for receives which have matched their send and are not started.
    fn partitions_of_receives(self, loose: &mut Loose) -> Vec<HeldMessage> {
        let receives = self.view().requests().iter().filter_map(|operation| {
            match operation.whole()?.partitioned()? {
                Partitioned::Receive(receive, Some(header)) => Some((receive, header)),
                _ => None,
            }
        });
        let held = receives.filter_map(|(receive, header)| {
            let of = (receive.context, receive.source?);
            let partitions = loose.take(of, header);
            (partitions.ready > 0).then(|| HeldMessage {
                bytes: header.all().unwrap_or_default(),
                kind: MessageKind::Partitioned(partitions),
                ..self.partitioned(of, Some(receive.tag))
            })
        });
        held.collect()
    }

    /// A partitioned message.
    pub(crate) fn partitioned(
        self,
        (context, source): (Context, u32),
        tag: Option<i32>,
    ) -> HeldMessage {
        HeldMessage {
            context: context.point_to_point().0,
            source: self.peer_in(context, source),
            tag,
            bytes: 0,
            is_with_sender: false,
            collective: String::new(),
            kind: context.message_kind(),
        }
    }
}

impl Context {
    /// What its messages are.
    pub(crate) fn message_kind(self) -> MessageKind {
        if self.is_partitioned() {
            MessageKind::Partitioned(Partitions::default())
        } else if self.is_of_groups() {
            MessageKind::Creation
        } else {
            MessageKind::Ordinary
        }
    }
}
