//! Gives the payload-free protocol its bytes: which span an outgoing range is, where an incoming
//! range goes.

use core::ops::Range;
use std::collections::VecDeque;

use rmpp_core::{
    Awaited, Caps, Config, Counters, Endpoint, Event as CoreEvent, IncomingId, Kind,
    Landing as CoreLanding, NodeId, OutgoingId, Placement, Run, SendError, Transmit,
};

use super::super::{
    Arrival, Bounced, ENVELOPE_BYTES, EnvelopeBytes, Event, Landed, Landing, Lost, Outbound, Peer,
    Refusal, Token,
};
use super::parcel::Parcel;
use super::place::Place;
use crate::clock::Instant;
use crate::data::{Area, Part};
use crate::memory::Span;
use crate::slab::Beside;

/// Why a peer is lost.
const SILENT: &str = "it has answered nothing for too long (MPILITE_LOST_S); is its host up, and \
                      does a firewall between the hosts keep UDP away?";

/// The same, where a message was announced and will not come (rule N).
const ABORTED: &str = "it gave up a message that it had announced, which mpi-lite never does \
                       (decision 0031): run all ranks with the same mpi-lite";

/// What a placement is relied upon for.
const LIVING: &str = "the core places data of living messages only";

#[derive(Debug)]
struct Outgoing {
    id: OutgoingId,
    to: NodeId,
    envelope: EnvelopeBytes,
    body: Area,
    token: Token,
}

#[derive(Debug)]
struct Incoming {
    id: IncomingId,
    from: NodeId,
    body_len: u64,
    place: Place,
}

/// The endpoint and the bytes of the messages it moves.
pub(crate) struct Driver {
    core: Endpoint,
    /// Packets may share a datagram (rule J).
    coalesces: bool,
    outgoing: Beside<Outgoing>,
    incoming: Beside<Incoming>,
    /// The message that `take_packet` has just told of; most land at once and never enter.
    fresh: Option<Incoming>,
    events: VecDeque<Event>,
    /// The message that the last data was for: more of it is likely to come next.
    current: Option<IncomingId>,
    /// The payload of the packet in hand was received at its place, which is this one.
    in_place: Option<(IncomingId, u64)>,
}

impl core::fmt::Debug for Driver {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Driver")
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

fn place_in<T>(table: &mut Beside<T>, index: usize, thing: T) {
    let before = table.put(index, thing);
    assert!(before.is_none(), "the core gives out free places only");
}

fn take<T>(table: &mut Beside<T>, index: usize) -> T {
    let thing = table.take(index);
    thing.expect("the core speaks of living messages only")
}

fn arrival_of(id: IncomingId) -> Arrival {
    Arrival(u32::try_from(id.index()).expect("core indices have 32 bits"))
}

/// The envelope in the first packet of a message of `len` bytes, and the length of the body.
fn open_envelope(payload: &[u8], len: u64) -> Option<(EnvelopeBytes, u64)> {
    let envelope = payload.first_chunk::<ENVELOPE_BYTES>()?;
    Some((*envelope, len.checked_sub(ENVELOPE_BYTES as u64)?))
}

impl Driver {
    pub(crate) fn new(me: NodeId, config: Config) -> Self {
        Self {
            coalesces: config.caps.has(Caps::COALESCE),
            core: Endpoint::new(me, config),
            outgoing: Beside::default(),
            incoming: Beside::default(),
            fresh: None,
            events: VecDeque::new(),
            current: None,
            in_place: None,
        }
    }

    /// The data packet that is likely to come next, and the memory where its payload belongs.
    // Nothing else is written there, and the program looks only when the message is complete.
    #[inline]
    pub(crate) fn awaited(&self) -> Option<(Awaited, Span)> {
        let id = self.current?;
        let message = self.incoming.get(id.index());
        let Place::Into(area) = &message.filter(|message| message.id == id)?.place else {
            return None;
        };
        let span = area.span()?;
        let awaited = self.core.awaited(id)?;
        let offset = usize::try_from(awaited.offset).expect("a range of memory");
        let place = span.part(offset - ENVELOPE_BYTES, awaited.payload_bytes);
        // What does not fit is dropped, but not here.
        (place.len() == awaited.payload_bytes).then_some((awaited, place))
    }

    /// The payload of the next packet to be taken in is at its place already: it is `awaited`.
    #[inline]
    pub(crate) fn note_in_place(&mut self, awaited: &Awaited) {
        self.in_place = Some((awaited.message, awaited.offset));
    }

    pub(crate) fn body_limit(&self) -> u64 {
        self.core.longest() - ENVELOPE_BYTES as u64
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.core.counters()
    }

    /// Data packets of long messages that went or came.
    pub(crate) fn moved(&self) -> u64 {
        let Counters { sent, received, .. } = self.core.counters();
        let data = [Kind::Data, Kind::StopData, Kind::LastData];
        let packets = data.map(|kind| sent[kind.index()] + received[kind.index()]);
        packets.into_iter().sum()
    }

    pub(crate) fn shrink(&mut self) {
        self.outgoing.shrink();
        self.incoming.shrink();
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.core.is_quiet()
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.core.next_timeout()
    }

    /// The system has dropped datagrams of ours: the receive buffer was full.
    pub(crate) fn note_overflow(&mut self) {
        self.core.note_overflow();
    }

    /// Does what is due; answers whether anything was.
    #[inline]
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        let is_due = self.core.next_timeout().is_some_and(|due| due <= now);
        if is_due {
            self.core.handle_timeout(now);
        }
        is_due
    }

    /// Begins a message; `transmit` sends it, or `transmit_first` its beginning.
    #[inline]
    pub(crate) fn send(
        &mut self,
        to: NodeId,
        message: Outbound<'_>,
        now: Instant,
    ) -> Result<OutgoingId, Refusal> {
        let Outbound {
            envelope,
            body,
            token,
            is_awaited,
            // Whoever needs a match is told by the landing: what is held is not acknowledged.
            needs_match: _,
        } = message;
        // Whose places the core gives out again must have left the table.
        while let Some(event) = self.core.event_at_hand() {
            self.note(event, now);
        }
        let len = ENVELOPE_BYTES as u64 + body.len();
        let id = self
            .core
            .send(to, len, is_awaited, now)
            .map_err(|error| match error {
                SendError::TooLong { .. } => Refusal::TooLong {
                    limit: self.body_limit(),
                },
                SendError::PeerLost { .. } => Refusal::Lost,
                SendError::NoSuchNode { .. } | SendError::ToSelf { .. } => {
                    unreachable!("the engine routes to other ranks of the job only")
                }
            })?;
        let envelope = *envelope;
        place_in(
            &mut self.outgoing,
            id.index(),
            Outgoing {
                id,
                to,
                envelope,
                body,
                token,
            },
        );
        Ok(id)
    }

    /// Hands out everything that is due, at first up to `room` packets at once. `send` answers how
    /// many packets it has room for now; this, whether it had none.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        mut room: u32,
        mut send: impl FnMut(&Parcel<'_>) -> u32,
    ) -> bool {
        while let Some(packet) = self.core.poll_transmit_run(now, room) {
            room = self.hand_out(&packet, &mut send);
            if room == 0 {
                return true;
            }
        }
        false
    }

    /// Hands out the message that `send` has just begun, if it is a short one that may go now.
    /// Answers whether it went; `note_sent` then starts its timer.
    #[inline]
    pub(crate) fn transmit_first(
        &mut self,
        id: OutgoingId,
        mut send: impl FnMut(&Parcel<'_>),
    ) -> bool {
        let packet = self.core.first_packet(id);
        if let Some(packet) = &packet {
            self.hand_out(packet, &mut send);
        }
        packet.is_some()
    }

    #[inline]
    pub(crate) fn note_sent(&mut self, id: OutgoingId, now: Instant) {
        self.core.note_sent(id, now);
    }

    #[inline]
    fn hand_out<R>(&self, packet: &Transmit, send: &mut impl FnMut(&Parcel<'_>) -> R) -> R {
        let mut parcel = Parcel {
            to: packet.to,
            header: &packet.header,
            packets: packet.packets,
            envelope: &[],
            body: Part::EMPTY,
        };
        let Some(id) = packet.message else {
            return send(&parcel);
        };
        let message = self
            .outgoing
            .get(id.index())
            .filter(|message| message.id == id)
            .expect("the core sends living messages only");
        let offset = usize::try_from(packet.offset).expect("a range of memory");
        if offset == 0 {
            // Packets hold at least an envelope: it is never cut.
            parcel.envelope = &message.envelope;
            parcel.body = message.body.part(0, packet.len - ENVELOPE_BYTES);
        } else {
            let bytes = packet.packets as usize * packet.len;
            parcel.body = message.body.part(offset - ENVELOPE_BYTES, bytes);
        }
        send(&parcel)
    }

    /// Whether something is to be handed out that should not wait.
    #[inline]
    pub(crate) fn is_pressed(&self) -> bool {
        self.core.is_pressed()
    }

    /// Finds out which messages the last packet has completed: `next_event` tells. Answers whether
    /// there may be any; then more may be ready to go out.
    #[inline]
    pub(crate) fn settle(&mut self) -> bool {
        self.core.settle()
    }

    /// Takes in the packet that `left` begins with. Answers where in `left` its payload is, which
    /// ends where the next packet begins, and `Arriving` if it begins a message: `land` needs the
    /// payload then.
    #[inline]
    pub(crate) fn take_packet(
        &mut self,
        from: NodeId,
        left: &[u8],
        now: Instant,
    ) -> (Range<usize>, Option<Event>) {
        let cut = self.core.cut(left);
        let packet = cut.filter(|packet| self.coalesces || packet.bytes() == left.len());
        let Some(packet) = packet else {
            // What is no packet is all header; the core counts it.
            let _ = self.core.handle_packet(from, left, 0, now);
            return (left.len()..left.len(), None);
        };
        let place = packet.bytes() - packet.payload.len()..packet.bytes();
        let placement = self.core.handle(from, &packet, now);
        // Dropped packets are counted by the core.
        let placement = placement.unwrap_or(Placement::None);
        (place, self.place(placement, (from, packet.payload), now))
    }

    /// The run of packets that `datagram` begins, if it is one packet of a kind that has them.
    #[inline]
    pub(crate) fn run_of(&self, datagram: &[u8]) -> Option<Run> {
        let packet = self.core.cut(datagram)?;
        Run::of(&packet).filter(|_| packet.bytes() == datagram.len())
    }

    /// Takes in a run of packets; `payload` answers that of each, by its place in the run.
    pub(crate) fn take_run<'a>(
        &mut self,
        from: NodeId,
        mut run: Run,
        payload: impl Fn(u32) -> &'a [u8],
        now: Instant,
    ) {
        let mut done = 0;
        while run.packets() > 0 {
            // Dropped packets are counted by the core.
            let (outcome, taken) = self.core.handle_run(from, &mut run, now);
            if let Ok(Placement::Data { message, offset }) = outcome {
                self.current = Some(message);
                let mut offset = usize::try_from(offset).expect("a range of memory");
                let known = self.incoming.get_mut(message.index());
                let place = &mut known.expect(LIVING).place;
                for number in done..done + taken {
                    let payload = payload(number);
                    place.write(offset - ENVELOPE_BYTES, payload);
                    offset += payload.len();
                }
            }
            done += taken;
        }
    }

    /// Does with the payload of a packet what the core says; answers `Arriving` if it begins a
    /// message, whose payload `land` needs.
    #[inline]
    fn place(
        &mut self,
        placement: Placement,
        (from, payload): (NodeId, &[u8]),
        now: Instant,
    ) -> Option<Event> {
        let in_place = self.in_place.take();
        match placement {
            Placement::First { message, len } => {
                let (incoming, arriving) = self.announce((message, from), (payload, len), now)?;
                self.fresh = Some(incoming);
                Some(arriving)
            }
            Placement::Early { message } => {
                let incoming = Incoming {
                    id: message,
                    from,
                    body_len: 0,
                    place: Place::Early(payload.to_vec()),
                };
                place_in(&mut self.incoming, message.index(), incoming);
                None
            }
            Placement::Data { message, offset } => {
                self.current = Some(message);
                if let Some(place) = in_place {
                    assert_eq!(place, (message, offset), "a header names one place");
                    return None;
                }
                let offset = usize::try_from(offset).expect("a range of memory");
                self.incoming
                    .get_mut(message.index())
                    .expect(LIVING)
                    .place
                    .write(offset - ENVELOPE_BYTES, payload);
                None
            }
            Placement::None => None,
        }
    }

    /// What is told of a message of `len` bytes whose first packet is here.
    #[inline]
    fn announce(
        &mut self,
        (id, from): (IncomingId, NodeId),
        (payload, len): (&[u8], u64),
        now: Instant,
    ) -> Option<(Incoming, Event)> {
        let Some((envelope, body_len)) = open_envelope(payload, len) else {
            // No engine of ours sends such a message.
            self.core.land(id, CoreLanding::Drop, now);
            return None;
        };
        let incoming = Incoming {
            id,
            from,
            body_len,
            place: Place::Held(Vec::new()),
        };
        let arriving = Event::Arriving {
            arrival: arrival_of(id),
            from: Peer(from.0),
            envelope,
            len: body_len,
        };
        Some((incoming, arriving))
    }

    /// The turn of a message that came early has come.
    fn announce_kept(&mut self, id: IncomingId, len: u64, now: Instant) -> Option<Event> {
        let Incoming { from, place, .. } = take(&mut self.incoming, id.index());
        let Place::Early(payload) = place else {
            unreachable!("a message that came early has not landed")
        };
        let (mut incoming, arriving) = self.announce((id, from), (&payload, len), now)?;
        incoming.place = Place::Held(payload[ENVELOPE_BYTES..].to_vec());
        place_in(&mut self.incoming, id.index(), incoming);
        Some(arriving)
    }

    /// `first`: payload of the packet that began the message, if it is still at hand; else it was
    /// kept.
    pub(crate) fn land(
        &mut self,
        arrival: Arrival,
        landing: Landing,
        first: Option<&[u8]>,
        now: Instant,
    ) -> Landed {
        let fresh = self.fresh.take_if(|fresh| arrival_of(fresh.id) == arrival);
        let Some(mut message) = fresh.or_else(|| self.incoming.take(arrival.0 as usize)) else {
            // Its sender is lost: the event that tells so waits to be polled.
            return Landed::Coming;
        };
        let Place::Held(kept) = &message.place else {
            panic!("the engine lands a message once")
        };
        let first = first.map_or(&kept[..], |payload| &payload[ENVELOPE_BYTES..]);
        let place = match landing {
            Landing::Later => Place::Held(first.to_vec()),
            Landing::Into(area) => {
                area.write(0, Span::of_read(first));
                Place::Into(area)
            }
            Landing::Bounce(_) if first.len() as u64 == message.body_len => {
                Place::Bounce(first.to_vec())
            }
            Landing::Bounce(most) => {
                let len = message.body_len.min(most);
                let len = usize::try_from(len).expect("a range of memory");
                let mut buffer = vec![0; len];
                Span::of(&mut buffer).write(0, first);
                Place::Bounce(buffer)
            }
        };
        let is_late = matches!(place, Place::Held(_));
        message.place = place;
        self.land_as(message, is_late, now)
    }

    /// Tells the core that `message` lands, and hears whether all of it is there.
    #[inline]
    fn land_as(&mut self, message: Incoming, is_late: bool, now: Instant) -> Landed {
        let id = message.id;
        let landing = if is_late {
            CoreLanding::Later
        } else {
            CoreLanding::Accept
        };
        self.core.land(id, landing, now);
        let mut event = self.core.event_at_hand();
        if event == Some(CoreEvent::Arrived(id)) {
            return Landed::Whole(message.place.into_body().map(Bounced::Buffer));
        }
        self.current = Some(id);
        place_in(&mut self.incoming, id.index(), message);
        let mut landed = Landed::Coming;
        while let Some(at_hand) = event {
            match at_hand {
                CoreEvent::Arrived(whole) if whole == id => {
                    let message = take(&mut self.incoming, id.index());
                    landed = Landed::Whole(message.place.into_body().map(Bounced::Buffer));
                }
                other => self.note(other, now),
            }
            event = self.core.event_at_hand();
        }
        landed
    }

    pub(crate) fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    #[inline]
    pub(crate) fn next_event(&mut self, now: Instant) -> Option<Event> {
        self.gather_events(now);
        self.events.pop_front()
    }

    #[inline]
    fn gather_events(&mut self, now: Instant) {
        while let Some(event) = self.core.poll_event() {
            self.note(event, now);
        }
    }

    fn note(&mut self, event: CoreEvent, now: Instant) {
        let event = match event {
            CoreEvent::Due { message, len } => match self.announce_kept(message, len, now) {
                Some(event) => event,
                None => return,
            },
            CoreEvent::Arrived(id) => Event::Arrived {
                arrival: arrival_of(id),
                bounced: take(&mut self.incoming, id.index()).place.into_body(),
            },
            CoreEvent::Sent(id) | CoreEvent::Refused(id) | CoreEvent::Cancelled(id) => {
                Event::Sent {
                    token: take(&mut self.outgoing, id.index()).token,
                }
            }
            CoreEvent::Aborted(id) => {
                let message = take(&mut self.incoming, id.index());
                let peer = Peer(message.from.0);
                Event::Lost(Box::new(Lost {
                    peer,
                    unfinished: vec![arrival_of(id)],
                    unsent: Vec::new(),
                    reason: ABORTED,
                }))
            }
            CoreEvent::Lost(node) => self.lose(node),
        };
        self.events.push_back(event);
    }

    fn lose(&mut self, node: NodeId) -> Event {
        let unfinished = self.incoming.take_all(|message| message.from == node);
        let unfinished = unfinished.into_iter().map(|(_, it)| arrival_of(it.id));
        let unsent = self.outgoing.take_all(|message| message.to == node);
        let unsent = unsent.into_iter().map(|(_, it)| it.token);
        Event::Lost(Box::new(Lost {
            peer: Peer(node.0),
            unfinished: unfinished.collect(),
            unsent: unsent.collect(),
            reason: SILENT,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer that is no library of ours announces a message, and gives it up.
    #[test]
    fn a_peer_that_aborts_what_it_announced_is_not_said_to_be_silent() {
        let now = Instant::ZERO;
        let config = Config::with_caps(2, 1000, Caps::FAST);
        let mut peer = Endpoint::new(NodeId(0), config.clone());
        let mut driver = Driver::new(NodeId(1), config);
        let message = peer.send(NodeId(1), 500, false, now).unwrap();
        let first = peer.poll_transmit(now).unwrap();
        let mut bytes = first.header.to_vec();
        bytes.resize(bytes.len() + first.len, 0);
        let (payload, event) = driver.take_packet(NodeId(0), &bytes, now);
        let Some(Event::Arriving { arrival, .. }) = event else {
            panic!("it is announced: {event:?}");
        };
        driver.land(arrival, Landing::Later, Some(&bytes[payload]), now);
        peer.abort(message, now);
        let null = peer.poll_transmit(now).unwrap();
        driver.take_packet(NodeId(0), &null.header, now);
        driver.settle();
        let Some(Event::Lost(lost)) = driver.next_event(now) else {
            panic!("the message will not come");
        };
        assert_eq!((lost.peer, lost.unfinished), (Peer(0), vec![arrival]));
        assert!(lost.reason.contains("gave up a message"), "{}", lost.reason);
        assert!(!lost.reason.contains("answered"), "{}", lost.reason);
    }
}
