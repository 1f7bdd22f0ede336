//! Messages over streams of bytes: what `tcp`, and the packet protocols that carry streams, have in
//! common.
//!
//! A message with a short body is written into the stream at once. A longer one is announced
//! (`Ask`), and its body follows when the receiver has a place for it (`Clear`). A receiver that is
//! short of memory has each body announced (`Hold`). Source: the thesis, 2.2: the request
//! progression interface of LAM for TCP. There, memory for unexpected messages has no bound; `Hold`
//! is ours.
//!
//! A process may have several streams to a peer. Messages on one of them arrive in their order.
//! Messages on different ones are announced in the order in which they were sent, with one
//! exception: [`Sink::may_overtake`]. So the rule of MPI 5.0, 3.5 (messages do not overtake each
//! other) holds also for receives with `MPI_ANY_TAG`, and a stream whose packet was lost delays
//! only receives that could match its message.
//!
//! The carrier moves the bytes: it takes them from [`Streams::gather`] or [`Streams::take`], and
//! gives received ones to [`Streams::feed`].

mod channel;
mod coming;
mod incoming;
mod record;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::io::IoSlice;
use std::net::SocketAddr;

pub(crate) use channel::ChannelId;
use channel::{Channel, Record};
use coming::{Coming, Destination};
pub(crate) use coming::{GARBLED, Garbled};
pub(crate) use record::HEADER_BYTES;
use record::{NOBODY, RecordHeader, RecordKind};

use super::sink::LinkEvent;
use super::{Arrival, Lost, Outbound, PeerId, Refusal, Sink, Tallies, Token};
use crate::counters;
use crate::data::Area;
use crate::slab::Slab;

/// The greatest body, in bytes.
pub(crate) const BODY_LIMIT: u64 = 1 << 62;

/// The streams of one process, and the messages on them.
#[derive(Debug)]
pub(crate) struct Streams {
    short_most: u64,
    channels: Slab<Channel>,
    keys: BTreeMap<(PeerId, u32), ChannelId>,
    /// Streams that had nothing to be written and got something.
    begun: Vec<ChannelId>,
    peers: Vec<PeerChannels>,
    /// Messages to others that wait for an answer.
    sends: Slab<Waiting>,
    arrivals: Slab<Coming>,
    events: VecDeque<LinkEvent>,
    /// This process asks others to keep bodies back.
    pushes_back: bool,
    /// Records that are not yet with their carriers.
    queued: usize,
    counters: counters::Streams,
}

#[derive(Debug, Default)]
struct PeerChannels {
    channels: Vec<ChannelId>,
    /// Messages sent to it, and messages announced from it without a gap.
    sent: u32,
    announced: u32,
    /// The orders of messages that were announced before an earlier one.
    early: Vec<u32>,
    /// It wants to be asked before each body.
    holds: bool,
    is_lost: bool,
}

/// A message to another process that waits for an answer.
#[derive(Debug)]
struct Waiting {
    channel: ChannelId,
    /// The body, if the receiver was asked for a place.
    body: Option<Area>,
    token: Token,
}

impl Streams {
    /// Messages of one process to `nodes` processes. Bodies of up to `short_most` bytes are sent
    /// without asking.
    pub(crate) fn new(nodes: u32, short_most: u64) -> Self {
        Self {
            short_most,
            channels: Slab::default(),
            keys: BTreeMap::new(),
            begun: Vec::new(),
            peers: (0..nodes).map(|_| PeerChannels::default()).collect(),
            sends: Slab::default(),
            arrivals: Slab::default(),
            events: VecDeque::new(),
            pushes_back: false,
            queued: 0,
            counters: counters::Streams::default(),
        }
    }

    /// Adds to `tallies` what was counted.
    pub(crate) fn count(&self, tallies: &mut Tallies) {
        tallies.streams = self.counters.clone();
    }

    /// The stream to and from `peer` with this key. It is opened if there is none.
    pub(crate) fn channel_to(&mut self, peer: PeerId, key: u32) -> ChannelId {
        match self.keys.get(&(peer, key)) {
            Some(on) => *on,
            None => self.open(peer, key),
        }
    }

    fn open(&mut self, peer: PeerId, key: u32) -> ChannelId {
        let index = self.channels.insert(Channel {
            peer,
            key,
            queue: VecDeque::new(),
            taken: 0,
            staged: Vec::new(),
            staged_at: 0,
            body: None,
        });
        self.counters.opened += 1;
        self.keys.insert((peer, key), ChannelId(index));
        let channels = &mut self.peers[peer.0 as usize].channels;
        channels.push(ChannelId(index));
        if self.pushes_back && channels.len() == 1 {
            self.control(ChannelId(index), RecordKind::Hold, 0, 0);
        }
        ChannelId(index)
    }

    /// Queues a message. `Sink::sent` or `Sink::lost` ends it.
    ///
    /// # Errors
    /// [`Refusal`]; nothing was queued.
    pub(crate) fn send(&mut self, on: ChannelId, message: Outbound<'_>) -> Result<(), Refusal> {
        let len = message.body.len();
        let peer = self.channel(on).peer;
        let peer = &mut self.peers[peer.0 as usize];
        if peer.is_lost {
            return Err(Refusal::Lost);
        }
        if len > BODY_LIMIT {
            return Err(Refusal::TooLong { limit: BODY_LIMIT });
        }
        let must_ask = len > self.short_most || (peer.holds && len > 0);
        self.counters.messages_sent += 1;
        self.counters.asked += u64::from(must_ask);
        let order = peer.sent;
        peer.sent = order.wrapping_add(1);
        let own = if must_ask || message.needs_match {
            self.sends.insert(Waiting {
                channel: on,
                body: must_ask.then(|| message.body.clone()),
                token: message.token,
            })
        } else {
            NOBODY
        };
        let header = RecordHeader {
            kind: if must_ask {
                RecordKind::Ask
            } else {
                RecordKind::Short
            },
            own,
            receiver: NOBODY,
            order,
            len,
            envelope: *message.envelope,
        };
        let record = Record {
            header: header.encode(),
            body: if must_ask { Area::EMPTY } else { message.body },
            token: (own == NOBODY).then_some(message.token),
        };
        self.enqueue(on, record);
        Ok(())
    }

    /// Puts a record at the end of a stream.
    fn enqueue(&mut self, on: ChannelId, record: Record) {
        self.queued += 1;
        let queue = &mut self.channel_mut(on).queue;
        queue.push_back(record);
        if queue.len() == 1 {
            self.begun.push(on);
        }
    }

    /// Takes a stream that had nothing to be written and got something.
    pub(crate) fn next_begun(&mut self) -> Option<ChannelId> {
        self.begun.pop()
    }

    /// The peer of a stream, and its key.
    pub(crate) fn ends(&self, on: ChannelId) -> (PeerId, u32) {
        let channel = self.channel(on);
        (channel.peer, channel.key)
    }

    /// Returns true if there is something to be written.
    pub(crate) fn has_output(&self, on: ChannelId) -> bool {
        !self.channel(on).queue.is_empty()
    }

    /// Gathers the next bytes of a stream in `vectors`, until they are at least `enough` bytes or
    /// `vectors` is as long as its capacity. The carrier then calls `wrote`.
    pub(crate) fn gather<'a>(
        &'a mut self,
        on: ChannelId,
        enough: usize,
        vectors: &mut Vec<IoSlice<'a>>,
    ) {
        let channel = self.channel_mut(on);
        channel.stage();
        let (mut bytes, mut taken) = (0, channel.taken as usize);
        for record in &channel.queue {
            for part in record.slices(taken, channel) {
                if part.is_empty() {
                    continue;
                }
                if bytes >= enough || vectors.len() == vectors.capacity() {
                    return;
                }
                bytes += part.len();
                vectors.push(part);
            }
            if !record.is_plain() {
                return;
            }
            taken = 0;
        }
    }

    /// Notes that the carrier has taken `bytes` bytes.
    pub(crate) fn wrote(&mut self, on: ChannelId, bytes: usize) {
        let Some(channel) = self.channels.get_mut(on.0) else {
            return;
        };
        channel.taken += bytes as u64;
        while let Some(first) = channel.queue.front()
            && channel.taken >= first.len()
        {
            channel.taken -= first.len();
            channel.staged.clear();
            let record = channel.queue.pop_front();
            self.queued -= 1;
            if let Some(token) = record.and_then(|record| record.token) {
                self.events.push_back(LinkEvent::Sent(token));
            }
        }
    }

    /// Appends the next bytes of a stream to `out`, at most `most`, and of one record only.
    pub(crate) fn take(&mut self, on: ChannelId, most: usize, out: &mut Vec<u8>) {
        let channel = self.channel_mut(on);
        let Some(record) = channel.queue.front() else {
            return;
        };
        let (taken, start) = (channel.taken as usize, out.len());
        let head = record.header.get(taken..).unwrap_or(&[]);
        out.extend_from_slice(&head[..head.len().min(most)]);
        let at = taken.saturating_sub(HEADER_BYTES);
        let left = record.body.len() as usize - at;
        let bytes = left.min(most - (out.len() - start));
        record.body.part(at, bytes).append_to(out);
        let bytes = out.len() - start;
        self.wrote(on, bytes);
    }

    /// Does what a record without a message asks for, or begins the body that it announces.
    fn obey(&mut self, on: ChannelId, header: &RecordHeader) -> Result<(), Garbled> {
        let from = self.channel(on).peer;
        match header.kind {
            RecordKind::Clear => {
                let waiting = self.answered(from, header.receiver)?;
                let body = waiting.body.ok_or(Garbled)?;
                let mut long = RecordHeader::bare(RecordKind::Long, NOBODY, header.own);
                long.len = body.len();
                let record = Record {
                    header: long.encode(),
                    body,
                    token: Some(waiting.token),
                };
                self.enqueue(waiting.channel, record);
            }
            RecordKind::Matched => {
                let waiting = self.answered(from, header.receiver)?;
                if waiting.body.is_some() {
                    return Err(Garbled);
                }
                self.events.push_back(LinkEvent::Sent(waiting.token));
            }
            RecordKind::Long => {
                let coming = self.arrivals.get(header.receiver).ok_or(Garbled)?;
                let is_its = self.channel(coming.channel).peer == from
                    && coming.len == header.len
                    && coming.here == 0
                    && matches!(coming.place, Destination::Into(_));
                if !is_its {
                    return Err(Garbled);
                }
                self.channel_mut(on).body = Some((Arrival(header.receiver), header.len));
            }
            RecordKind::Hold => self.peers[from.0 as usize].holds = true,
            RecordKind::Release => self.peers[from.0 as usize].holds = false,
            RecordKind::Short | RecordKind::Ask => {}
        }
        Ok(())
    }

    /// Takes the message that `from` has answered.
    fn answered(&mut self, from: PeerId, name: u32) -> Result<Waiting, Garbled> {
        let waiting = self.sends.get(name).ok_or(Garbled)?;
        if self.channel(waiting.channel).peer != from {
            return Err(Garbled);
        }
        self.sends.remove(name).ok_or(Garbled)
    }

    /// Queues a record without a body, in front of all that has not begun: it overtakes messages.
    fn control(&mut self, on: ChannelId, kind: RecordKind, own: u32, receiver: u32) {
        let Some(channel) = self.channels.get_mut(on.0) else {
            return;
        };
        if self.peers[channel.peer.0 as usize].is_lost {
            return;
        }
        let record = Record {
            header: RecordHeader::bare(kind, own, receiver).encode(),
            body: Area::EMPTY,
            token: None,
        };
        let is_control = |it: &Record| it.header[0] > RecordKind::Ask as u8 && it.body.is_empty();
        let begun = usize::from(channel.taken > 0 || !channel.staged.is_empty());
        let waiting = channel.queue.iter().skip(begun);
        let place = begun + waiting.take_while(|it| is_control(it)).count();
        channel.queue.insert(place.min(channel.queue.len()), record);
        self.queued += 1;
        if channel.queue.len() == 1 {
            self.begun.push(on);
        }
    }

    /// Reports events to `sink` until it wants no more. Returns true if there was any.
    pub(crate) fn tell(&mut self, sink: &mut impl Sink) -> bool {
        let mut has_told = false;
        while sink.wants_more()
            && let Some(event) = self.events.pop_front()
        {
            event.deliver(sink);
            has_told = true;
        }
        has_told
    }

    /// Returns true if `tell` has something to report.
    pub(crate) fn has_news(&self) -> bool {
        !self.events.is_empty()
    }

    /// Asks all peers to announce each body (`away`), or no longer.
    pub(crate) fn push_back(&mut self, away: bool) {
        self.pushes_back = away;
        let kind = if away {
            RecordKind::Hold
        } else {
            RecordKind::Release
        };
        let first = |peer: &PeerChannels| peer.channels.first().copied();
        for channel in self.peers.iter().filter_map(first).collect::<Vec<_>>() {
            self.control(channel, kind, NOBODY, NOBODY);
        }
    }

    /// Returns true if `peer` is lost.
    pub(crate) fn is_lost(&self, peer: PeerId) -> bool {
        self.peers[peer.0 as usize].is_lost
    }

    /// Gives a peer up: nothing more goes to it or comes from it.
    pub(crate) fn lose(
        &mut self,
        peer: PeerId,
        address: Option<SocketAddr>,
        reason: Cow<'static, str>,
    ) {
        let entry = &mut self.peers[peer.0 as usize];
        if core::mem::replace(&mut entry.is_lost, true) {
            return;
        }
        let channels = entry.channels.clone();
        let mut unsent = Vec::new();
        for on in &channels {
            let channel = self.channel_mut(*on);
            (channel.taken, channel.body) = (0, None);
            channel.staged.clear();
            let queue = core::mem::take(&mut channel.queue);
            self.queued -= queue.len();
            unsent.extend(queue.iter().filter_map(|record| record.token));
        }
        let is_its = |on: ChannelId| channels.contains(&on);
        let waiting = extract(&mut self.sends, |waiting| is_its(waiting.channel));
        unsent.extend(waiting.into_iter().map(|(_, waiting)| waiting.token));
        // A message that is here as a whole can still be received.
        let is_cut = |coming: &Coming| is_its(coming.channel) && coming.here < coming.len;
        let cut = extract(&mut self.arrivals, is_cut);
        let unfinished = cut.into_iter().map(|(name, _)| Arrival(name)).collect();
        self.events.push_back(LinkEvent::Lost(Box::new(Lost {
            peer,
            address,
            unfinished,
            unsent,
            reason,
        })));
    }

    /// Returns true if nothing is on its way to or from `peer`.
    pub(crate) fn is_idle(&self, peer: PeerId) -> bool {
        let channels = &self.peers[peer.0 as usize].channels;
        let is_its = |on: &ChannelId| channels.contains(on);
        channels.iter().all(|&on| !self.has_output(on))
            && !self
                .sends
                .iter()
                .any(|(_, waiting)| is_its(&waiting.channel))
            && !self
                .arrivals
                .iter()
                .any(|(_, coming)| is_its(&coming.channel) && coming.here < coming.len)
    }

    /// Returns true if all messages are with their carriers, and none waits for an answer.
    pub(crate) fn is_quiet(&self) -> bool {
        self.queued == 0 && self.sends.is_empty()
    }

    fn channel(&self, on: ChannelId) -> &Channel {
        self.channels.get(on.0).expect(OPEN)
    }

    fn channel_mut(&mut self, on: ChannelId) -> &mut Channel {
        self.channels.get_mut(on.0).expect(OPEN)
    }
}

/// Why a channel has an entry.
const OPEN: &str = "a stream stays open as long as the job";

/// Takes the things out of `table` for which `is_one` returns true, with their names.
fn extract<T>(table: &mut Slab<T>, is_one: impl Fn(&T) -> bool) -> Vec<(u32, T)> {
    let names = table.iter().filter(|(_, thing)| is_one(thing));
    let names: Vec<_> = names.map(|(name, _)| name).collect();
    let take = |name| table.remove(name).map(|thing| (name, thing));
    names.into_iter().filter_map(take).collect()
}
