//! A guest that is made of a protocol of streams ([`Pipe`]) and the messages on them
//! ([`Streams`]).

use core::ops::Deref;
use core::time::Duration;
use std::collections::VecDeque;

use super::pipe::{Notice, Pipe, Setup};
use crate::clock::Instant;
use crate::config::Acks;
use crate::data::{Area, AreaPart};
use crate::transport::streams::{BODY_LIMIT, ChannelId, GARBLED, Streams};
use crate::transport::udp::protocol::{
    Agreed, Expected, OutgoingHeader, Parcel, Protocol, Route, Run, Shortcuts, silence,
};
use crate::transport::{Arrival, Landing, Outbound, PeerId, Refusal, Sink, Tallies, Unheard};

/// The least time until a packet is repeated, where each rank has a core.
const MIN_TIMEOUT: Duration = Duration::from_millis(2);

/// The greatest time until a packet is repeated.
const MAX_TIMEOUT: Duration = Duration::from_millis(250);

/// A peer that has never answered is reported after this time.
const UNHEARD_AFTER: Duration = Duration::from_secs(3);

/// Why a peer is lost that does not answer any more in `MPI_Finalize`. (MPI over U-Net: the process
/// ends with a warning.)
const UNSURE: &str = "it has not acknowledged the last messages in MPI_Finalize; it may have \
                      received them, and be gone";

/// A protocol of streams, and the messages on them.
pub struct Piped<P> {
    pipe: P,
    streams: Streams,
    /// Channels with something to be written, each once.
    writing: VecDeque<ChannelId>,
    /// Fragments whose messages wait for an earlier one, by channel, in their order. They have no
    /// bound, for the earlier one may be behind them; it was sent before they were.
    held: Vec<(ChannelId, VecDeque<Vec<u8>>)>,
    notices: VecDeque<Notice>,
    has_moved: bool,
    /// `MPI_Finalize` has begun.
    is_closing: bool,
}

impl<P> core::fmt::Debug for Piped<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Piped")
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

#[expect(private_bounds, reason = "the protocols are ours alone")]
impl<P: Pipe> Piped<P> {
    /// The end of one process.
    pub(crate) fn with_setup(setup: &Setup) -> Self {
        Self {
            pipe: P::new(setup),
            streams: Streams::new(setup.nodes, P::SHORT_MOST),
            writing: VecDeque::new(),
            held: Vec::new(),
            notices: VecDeque::new(),
            has_moved: false,
            is_closing: false,
        }
    }

    /// Gives the pipe what it has room for.
    fn write(&mut self, now: Instant) {
        while let Some(on) = self.streams.next_begun() {
            self.writing.push_back(on);
        }
        let most = self.pipe.fragment_bytes();
        for _ in 0..self.writing.len() {
            let Some(on) = self.writing.pop_front() else {
                return;
            };
            let (peer, channel) = self.streams.ends(on);
            while self.streams.has_output(on) && self.pipe.has_room(peer, channel) {
                let streams = &mut self.streams;
                let fill = |packet: &mut Vec<u8>| streams.take(on, most, packet);
                self.pipe.push(peer, channel, now, fill);
                self.has_moved = true;
            }
            if self.streams.has_output(on) {
                self.writing.push_back(on);
            }
        }
    }

    /// Takes in the fragments that have come. Returns true if the sink was called.
    fn read(&mut self, now: Instant, sink: &mut impl Sink) -> bool {
        let mut has_told = false;
        // A message may let one pass that waits for it, on another channel.
        while self.read_held(sink) | self.read_new(sink) {
            has_told = true;
        }
        self.write(now);
        has_told
    }

    /// Takes in new fragments. Returns true if there were any.
    fn read_new(&mut self, sink: &mut impl Sink) -> bool {
        let mut has_read = false;
        while sink.wants_more()
            && let Some(fragment) = self.pipe.next_fragment()
        {
            let from = fragment.from;
            let on = self.streams.channel_to(from, fragment.channel);
            has_read = true;
            if self.streams.is_lost(from) {
                continue;
            }
            let bytes = fragment.bytes;
            let is_behind = self.held.iter_mut().find(|(held, _)| *held == on);
            if let Some((_, queue)) = is_behind {
                queue.push_back(bytes.to_vec());
                continue;
            }
            match self.streams.feed(on, bytes, sink) {
                Ok(taken) if taken == bytes.len() => {}
                Ok(taken) => {
                    let rest = bytes[taken..].to_vec();
                    self.held.push((on, VecDeque::from([rest])));
                }
                Err(_) => self.streams.lose(from, None, GARBLED.into()),
            }
        }
        has_read
    }

    /// Takes in fragments whose messages had to wait. Returns true if the sink was called.
    fn read_held(&mut self, sink: &mut impl Sink) -> bool {
        let mut has_told = false;
        let mut place = 0;
        while place < self.held.len() {
            let (on, queue) = &mut self.held[place];
            let on = *on;
            while sink.wants_more()
                && let Some(bytes) = queue.front_mut()
            {
                let before = bytes.len();
                let peer = self.streams.ends(on).0;
                if self.streams.is_lost(peer) {
                    bytes.clear();
                } else if let Ok(taken) = self.streams.feed(on, bytes, sink) {
                    bytes.drain(..taken);
                } else {
                    self.streams.lose(peer, None, GARBLED.into());
                    bytes.clear();
                }
                has_told |= bytes.len() < before;
                if !bytes.is_empty() {
                    break;
                }
                queue.pop_front();
            }
            if queue.is_empty() {
                self.held.swap_remove(place);
            } else {
                place += 1;
            }
        }
        has_told
    }

    /// Takes the notices of the pipe.
    fn note(&mut self) {
        while let Some(notice) = self.pipe.next_notice() {
            self.notices.push_back(notice);
        }
    }
}

impl<P: Pipe> Protocol for Piped<P> {
    const NUMBER: u8 = P::NUMBER;
    const HEADER_BYTES: usize = P::HEADER_BYTES;

    fn new(agreed: &Agreed<'_>) -> Self {
        let lost_s = agreed.settings.lost_s;
        let ranks_per_core = agreed.ranks_per_core();
        Self::with_setup(&Setup {
            me: agreed.me,
            nodes: agreed.nodes(),
            packet_bytes: P::HEADER_BYTES + agreed.packet_bytes(),
            buffer_bytes: agreed.buffer_bytes,
            lost_after: (lost_s > 0).then(|| Duration::from_secs(lost_s)),
            unheard_after: UNHEARD_AFTER,
            min_timeout: (MIN_TIMEOUT * ranks_per_core).min(MAX_TIMEOUT),
            max_timeout: MAX_TIMEOUT,
            acks_eagerly: agreed.settings.rmpp_ack == Acks::Eager,
        })
    }

    fn count(&self, tallies: &mut Tallies) {
        self.pipe.count(tallies);
        self.streams.count(tallies);
    }

    fn body_limit(&self) -> u64 {
        BODY_LIMIT
    }

    fn send(&mut self, to: PeerId, message: Outbound<'_>, _now: Instant) -> Result<(), Refusal> {
        let channel = self.pipe.channel_of(message.channel());
        let on = self.streams.channel_to(to, channel);
        self.streams.send(on, message)
    }

    fn transmit(
        &mut self,
        now: Instant,
        mut room: u32,
        mut send: impl FnMut(&Parcel<'_, [u8]>) -> u32,
    ) -> bool {
        loop {
            self.write(now);
            let mut has_sent = false;
            self.pipe.transmit(now, |to, packet| {
                if room == 0 {
                    return false;
                }
                has_sent = true;
                room = send(&Parcel {
                    to,
                    header: packet,
                    packets: 1,
                    envelope: &[],
                    body: AreaPart::EMPTY,
                });
                true
            });
            if room == 0 || !has_sent {
                return room == 0;
            }
        }
    }

    fn take_packet(
        &mut self,
        from: PeerId,
        left: &[u8],
        now: Instant,
        sink: &mut impl Sink,
    ) -> (usize, bool) {
        self.pipe.handle(from, left, now);
        self.has_moved = true;
        let is_told = self.read(now, sink);
        (left.len(), is_told)
    }

    fn land(&mut self, arrival: Arrival, area: Area, now: Instant) -> bool {
        let is_complete = self.streams.land(arrival, Landing::Into(area));
        self.write(now);
        is_complete
    }

    fn tell(
        &mut self,
        now: Instant,
        sink: &mut impl Sink,
        route: impl Fn(PeerId) -> Route,
    ) -> bool {
        self.note();
        let mut has_told = false;
        while sink.wants_more()
            && let Some(notice) = self.notices.pop_front()
        {
            match notice {
                Notice::Lost(peer) => {
                    let Route { address, hindrance } = route(peer);
                    let reason = if self.is_closing {
                        UNSURE.into()
                    } else {
                        silence(hindrance)
                    };
                    self.streams.lose(peer, address, reason);
                }
                Notice::Unheard(peer, since) => {
                    let Route { address, hindrance } = route(peer);
                    has_told = true;
                    sink.unheard(Unheard {
                        peer,
                        address,
                        carrier: "UDP",
                        waited: now.since(since),
                        hindrance,
                    });
                }
            }
        }
        has_told |= self.streams.tell(sink);
        if sink.wants_more() {
            has_told |= self.read(now, sink);
            has_told |= self.streams.tell(sink);
        }
        has_told
    }

    fn has_news(&self) -> bool {
        // What is held waits for a packet, or for a receive: each call looks again.
        self.pipe.has_fragment() || self.streams.has_news() || !self.notices.is_empty()
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.pipe.next_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) -> bool {
        let was_due = self.pipe.handle_timeout(now);
        self.note();
        was_due
    }

    fn is_quiet(&self) -> bool {
        self.streams.is_quiet() && self.pipe.is_quiet()
    }
}

impl<P: Pipe> Shortcuts for Piped<P> {
    type Message = ();
    type Header = [u8];
    type Expected = Never;
    type Run = Never;

    fn push_back(&mut self, away: bool) {
        self.streams.push_back(away);
    }

    fn close(&mut self, now: Instant) {
        self.is_closing = true;
        self.pipe.close(now);
    }

    fn has_moved(&mut self) -> bool {
        core::mem::take(&mut self.has_moved)
    }
}

impl Agreed<'_> {
    /// The most ranks that share a core.
    fn ranks_per_core(&self) -> u32 {
        let ranks = self.cards.iter().map(|card| card.ranks_per_core);
        ranks.max().unwrap_or(1).max(1)
    }

    /// Processes of the job.
    fn nodes(&self) -> u32 {
        u32::try_from(self.cards.len()).expect("ranks are counted in 32 bits")
    }
}

/// A packet that is never in a run: its header is all that is known of it.
impl OutgoingHeader for [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn behind(&self, _count: u32) -> impl Deref<Target = [u8]> {
        self
    }
}

/// A kind of packet that a protocol does not have.
#[derive(Debug)]
pub(crate) enum Never {}

impl Expected for Never {
    fn header_bytes(&self) -> usize {
        match *self {}
    }

    fn payload_bytes(&self) -> usize {
        match *self {}
    }

    fn is(&self, _from: PeerId, _packet: &[u8]) -> bool {
        match *self {}
    }
}

impl Run for Never {
    fn count(&self) -> u32 {
        match *self {}
    }

    fn header_bytes(&self) -> usize {
        match *self {}
    }

    fn payload_bytes(&self) -> usize {
        match *self {}
    }

    fn add(&mut self, _datagram: &[u8]) -> bool {
        match *self {}
    }
}
