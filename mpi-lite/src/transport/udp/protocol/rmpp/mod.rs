//! RMPP as a guest: gives the payload-free protocol its bytes. Which area an outgoing range is,
//! where an incoming range goes.

mod incoming;
mod shortcuts;
mod terms;

use core::ops::Deref;
use std::collections::VecDeque;

use rmpp_core::{
    Caps, Config, Endpoint, Event as CoreEvent, HeaderBytes, IncomingId, Landing as CoreLanding,
    Message, NodeId, OutgoingId, Placement, SendError, Transmit,
};

use incoming::{ABORTED, Destination, News, add_route, arrival_of};
use terms::Terms;

use super::{Agreed, OutgoingHeader, Parcel, Protocol, Route, SILENT};
use crate::clock::Instant;
use crate::data::{Area, AreaPart};
use crate::transport::sink::LinkEvent;
use crate::transport::{
    Arrival, ENVELOPE_BYTES, EnvelopeBytes, Incoming as Announced, Landing, Lost, Outbound, PeerId,
    Refusal, Sink, Tallies, Token, Unheard,
};

/// What a placement is relied upon for.
const LIVING: &str = "the core places data of living messages only";

/// What the core keeps with a message on its way out.
#[derive(Debug)]
struct Outgoing {
    envelope: EnvelopeBytes,
    body: Area,
    token: Token,
}

impl OutgoingHeader for HeaderBytes {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn behind(&self, count: u32) -> impl Deref<Target = [u8]> {
        (*self).behind(count)
    }
}

/// The endpoint and the bytes of the messages it moves.
pub struct Rmpp {
    /// With each message it keeps what is known here of it.
    core: Endpoint<Outgoing, Destination>,
    body_limit: u64,
    /// Packets share datagrams (rule J).
    shares_datagrams: bool,
    news: VecDeque<News>,
    /// Packets of long messages went or came since somebody last asked.
    has_moved: bool,
    /// The message that the last data was for: more of it is likely to come next.
    current: Option<IncomingId>,
    /// The message and offset of the payload that `awaited` has last returned.
    awaited: Option<(IncomingId, u64)>,
    /// The payload of the packet in hand was received at its place, which is this one.
    in_place: Option<(IncomingId, u64)>,
}

impl core::fmt::Debug for Rmpp {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Rmpp")
            .field("news", &self.news)
            .finish_non_exhaustive()
    }
}

/// The envelope in the first packet of a message of `len` bytes, and the length of the body.
fn open_envelope(payload: &[u8], len: u64) -> Option<(EnvelopeBytes, u64)> {
    let envelope = payload.first_chunk::<ENVELOPE_BYTES>()?;
    Some((*envelope, len.checked_sub(ENVELOPE_BYTES as u64)?))
}

impl Rmpp {
    pub(crate) fn with_config(me: NodeId, config: Config) -> Self {
        Self {
            shares_datagrams: config.caps.has(Caps::COALESCE),
            body_limit: config.longest() - ENVELOPE_BYTES as u64,
            core: Endpoint::new(me, config),
            news: VecDeque::new(),
            has_moved: false,
            current: None,
            awaited: None,
            in_place: None,
        }
    }

    #[inline]
    fn hand_out<R>(
        &mut self,
        packet: &Transmit,
        send: &mut impl FnMut(&Parcel<'_, HeaderBytes>) -> R,
    ) -> R {
        let mut parcel = Parcel {
            to: PeerId(packet.to.0),
            header: &packet.header,
            packets: packet.packets,
            envelope: &[],
            body: AreaPart::EMPTY,
        };
        let Some(id) = packet.message else {
            return send(&parcel);
        };
        let message = self.core.outgoing().kept(id);
        let message = message.expect("the core sends living messages only");
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

    /// Copies the payload of a packet to the place that the core has returned.
    #[inline]
    fn place(&mut self, placement: Placement, payload: &[u8], now: Instant) {
        match placement {
            Placement::Early { message } => {
                let early = Destination::Early(payload.to_vec());
                self.core
                    .incoming()
                    .land(message, CoreLanding::Later, early, now);
            }
            Placement::Data {
                message, offset, ..
            } => {
                self.has_moved = true;
                self.current = Some(message);
                if let Some(place) = self.in_place {
                    assert_eq!(place, (message, offset), "a header names one place");
                    return;
                }
                let offset = usize::try_from(offset).expect("a range of memory");
                let place = self.core.incoming().kept(message).expect(LIVING);
                place.write(offset - ENVELOPE_BYTES, payload);
            }
            Placement::First { .. } | Placement::None => {}
        }
    }

    /// Reports a message to `sink` whose first packet is here, and lands it. Returns false if it
    /// was no message of an engine.
    #[inline]
    fn announce(&mut self, first: First<'_>, now: Instant, sink: &mut impl Sink) -> bool {
        let First {
            id,
            from,
            payload,
            len,
            is_whole,
        } = first;
        let Some((envelope, len)) = open_envelope(payload, len) else {
            // No engine of ours sends such a message.
            let nothing = Destination::Held(Vec::new());
            self.core
                .incoming()
                .land(id, CoreLanding::Drop, nothing, now);
            return false;
        };
        let first = &payload[ENVELOPE_BYTES..];
        let arrival = arrival_of(id);
        let landing = sink.arriving(Announced {
            arrival,
            from: PeerId(from.0),
            envelope,
            len,
            is_whole,
        });
        match landing {
            Landing::Into(area) => {
                area.write(0, first);
                let is_complete = self.land_into(id, area, now);
                if is_complete && !is_whole {
                    sink.arrived(arrival);
                }
            }
            Landing::Later => {
                let held = Destination::Held(first.to_vec());
                self.core.incoming().land(id, CoreLanding::Later, held, now);
            }
        }
        true
    }

    /// The first packet of a message that came early. None if its sender has given the message up,
    /// or is lost, meanwhile.
    fn take_early(&mut self, id: IncomingId) -> Option<Vec<u8>> {
        match self.core.incoming().kept(id) {
            Some(Destination::Early(payload)) => Some(core::mem::take(payload)),
            _ => None,
        }
    }

    /// Gives the core the place where a message lands. Returns true if all of it is there.
    // Each message that is received passes here; a call of its own costs 30 instructions.
    #[inline(always)]
    fn land_into(&mut self, id: IncomingId, area: Area, now: Instant) -> bool {
        let place = Destination::Into(area);
        let whole = self
            .core
            .incoming()
            .land(id, CoreLanding::Accept, place, now);
        if whole.is_none() {
            self.current = Some(id);
        }
        whole.is_some()
    }

    fn note(&mut self, event: CoreEvent<Outgoing, Destination>) {
        let event = match event {
            CoreEvent::Due { message, from, len } => {
                return self.news.push_back(News::Due(message, from, len));
            }
            CoreEvent::Unheard { node, since } => {
                return self.news.push_back(News::Unheard(PeerId(node.0), since));
            }
            CoreEvent::Arrived(id, _) => LinkEvent::Arrived(arrival_of(id)),
            CoreEvent::Sent(_, message)
            | CoreEvent::Refused(_, message)
            | CoreEvent::Cancelled(_, message) => LinkEvent::Sent(message.token),
            CoreEvent::Aborted(id, from, place) => LinkEvent::Lost(Box::new(Lost {
                peer: PeerId(from.0),
                address: None,
                unfinished: known((id, place)).into_iter().collect(),
                unsent: Vec::new(),
                reason: ABORTED.into(),
            })),
            CoreEvent::Lost {
                node,
                unsent,
                unfinished,
            } => LinkEvent::Lost(Box::new(Lost {
                peer: PeerId(node.0),
                address: None,
                unfinished: unfinished.into_iter().filter_map(known).collect(),
                unsent: unsent.into_iter().map(|message| message.token).collect(),
                reason: SILENT.into(),
            })),
        };
        self.news.push_back(News::Event(event));
    }
}

impl Protocol for Rmpp {
    const NUMBER: u8 = crate::packets::RMPP;
    const HEADER_BYTES: usize = rmpp_core::FAST_HEADER_BYTES;

    fn new(agreed: &Agreed<'_>) -> Self {
        Self::with_config(NodeId(agreed.me.0), Terms::of(agreed.cards).config(agreed))
    }

    fn count(&self, tallies: &mut Tallies) {
        tallies.rmpp = self.core.state().counters.clone();
    }

    fn body_limit(&self) -> u64 {
        self.body_limit
    }

    #[inline]
    fn send(
        &mut self,
        to: PeerId,
        message: Outbound<'_>,
        now: Instant,
    ) -> Result<OutgoingId, Refusal> {
        let Outbound {
            envelope,
            body,
            token,
            is_awaited,
            // A send that needs a match learns of it by the landing: held messages are not
            // acknowledged.
            needs_match: _,
        } = message;
        let message = Message {
            len: ENVELOPE_BYTES as u64 + body.len(),
            is_awaited,
            kept: Outgoing {
                envelope: *envelope,
                body,
                token,
            },
        };
        let limit = self.body_limit;
        self.core
            .send(NodeId(to.0), message, now)
            .map_err(|error| match error {
                SendError::TooLong { .. } => Refusal::TooLong { limit },
                SendError::PeerLost { .. } => Refusal::Lost,
                SendError::NoSuchNode { .. } | SendError::ToSelf { .. } => {
                    unreachable!("the engine routes to other ranks of the job only")
                }
            })
    }

    fn transmit(
        &mut self,
        now: Instant,
        mut room: u32,
        mut send: impl FnMut(&Parcel<'_, HeaderBytes>) -> u32,
    ) -> bool {
        while let Some(packet) = self.core.poll_transmit(now, room) {
            self.has_moved |= packet.offset > 0;
            room = self.hand_out(&packet, &mut send);
            if room == 0 {
                return true;
            }
        }
        false
    }

    #[inline]
    fn take_packet(
        &mut self,
        from: PeerId,
        left: &[u8],
        now: Instant,
        sink: &mut impl Sink,
    ) -> (usize, bool) {
        let from = NodeId(from.0);
        let packet = self.core.cut(left, left.len());
        let payload = &left[packet.header_bytes()..packet.bytes()];
        let placement = self.core.handle(from, &packet, now);
        // Dropped packets are counted by the core.
        let placement = placement.unwrap_or(Placement::None);
        let is_told = match placement {
            Placement::First { message, len } => {
                let first = First {
                    id: message,
                    from,
                    payload,
                    len,
                    is_whole: payload.len() as u64 == len,
                };
                self.announce(first, now, sink)
            }
            other => {
                self.place(other, payload, now);
                false
            }
        };
        self.in_place = None;
        (packet.bytes(), is_told)
    }

    fn land(&mut self, arrival: Arrival, area: Area, now: Instant) -> bool {
        let id = self.core.incoming().at(arrival.0 as usize);
        let Some((id, place)) = id.and_then(|id| Some((id, self.core.incoming().kept(id)?))) else {
            // Its sender is lost, and the event is still to be reported.
            return false;
        };
        let Destination::Held(first) = place else {
            panic!("the engine lands a message once")
        };
        area.write(0, &first[..]);
        self.land_into(id, area, now)
    }

    #[inline]
    fn tell(
        &mut self,
        now: Instant,
        sink: &mut impl Sink,
        route: impl Fn(PeerId) -> Route,
    ) -> bool {
        let mut has_told = false;
        while sink.wants_more() {
            while let Some(event) = self.core.poll_event() {
                self.note(event);
            }
            let Some(news) = self.news.pop_front() else {
                break;
            };
            match news {
                News::Due(id, from, len) => {
                    let Some(payload) = self.take_early(id) else {
                        continue;
                    };
                    let first = First {
                        id,
                        from,
                        payload: &payload,
                        len,
                        // It may have gaps: the core decides whether it is complete.
                        is_whole: false,
                    };
                    if !self.announce(first, now, sink) {
                        continue;
                    }
                }
                News::Event(LinkEvent::Lost(mut lost)) => {
                    let route = route(lost.peer);
                    add_route(&mut lost, route);
                    sink.lost(*lost);
                }
                News::Unheard(peer, since) => {
                    let Route { address, hindrance } = route(peer);
                    sink.unheard(Unheard {
                        peer,
                        address,
                        carrier: "UDP",
                        waited: now.since(since),
                        hindrance,
                    });
                }
                News::Event(event) => event.deliver(sink),
            }
            has_told = true;
        }
        has_told
    }

    fn has_news(&self) -> bool {
        !self.news.is_empty() || self.core.state().has_events
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.core.state().next_timeout
    }

    #[inline]
    fn handle_timeout(&mut self, now: Instant) -> bool {
        let is_due = self.core.state().next_timeout.is_some_and(|due| due <= now);
        if is_due {
            self.core.handle_timeout(now);
        }
        is_due
    }

    fn is_quiet(&self) -> bool {
        self.core.state().is_quiet
    }
}

/// The first packet of a message of `len` bytes. `is_whole`: it has no other one.
#[derive(Clone, Copy, Debug)]
struct First<'a> {
    id: IncomingId,
    from: NodeId,
    payload: &'a [u8],
    len: u64,
    is_whole: bool,
}

/// The name of a message, if it was reported to the sink.
fn known((id, place): (IncomingId, Option<Destination>)) -> Option<Arrival> {
    let is_known = !matches!(place, Some(Destination::Early(_)));
    is_known.then(|| arrival_of(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a driver tells.
    #[derive(Default)]
    struct Heard {
        /// Messages that are not whole, and whether they are over.
        waiting: Vec<Arrival>,
        lost: Vec<Lost>,
    }

    impl Sink for Heard {
        fn arriving(&mut self, message: Announced) -> Landing {
            self.waiting.push(message.arrival);
            Landing::Later
        }

        fn arrived(&mut self, arrival: Arrival) {
            panic!("{arrival:?} is held");
        }

        fn sent(&mut self, token: Token) {
            panic!("{token:?} was not sent");
        }

        fn lost(&mut self, lost: Lost) {
            self.lost.push(lost);
        }

        fn wants_more(&self) -> bool {
            true
        }
    }

    /// The next packet of `peer`, with a payload of zeros.
    fn packet(peer: &mut Endpoint, now: Instant) -> Vec<u8> {
        let packet = peer.poll_transmit(now, 1).expect("it has one to send");
        let mut bytes = packet.header.to_vec();
        bytes.resize(bytes.len() + packet.len, 0);
        bytes
    }

    /// A peer that is no library of ours announces a message, and gives it up.
    #[test]
    fn a_peer_that_aborts_what_it_announced_is_not_said_to_be_silent() {
        let now = Instant::ZERO;
        let config = Config::with_caps(2, 1000, Caps::FAST);
        let mut peer: Endpoint = Endpoint::new(NodeId(0), config.clone());
        let mut driver = Rmpp::with_config(NodeId(1), config);
        let message = peer.send(NodeId(1), Message::of(500, false), now).unwrap();
        let mut heard = Heard::default();
        let first = packet(&mut peer, now);
        driver.take_packet(PeerId(0), &first, now, &mut heard);
        peer.outgoing().abort(message, now);
        let null = packet(&mut peer, now);
        driver.take_packet(PeerId(0), &null, now, &mut heard);
        driver.tell(now, &mut heard, |_| Route::default());
        let [lost] = &heard.lost[..] else {
            panic!("the message will not come");
        };
        assert_eq!((lost.peer, &lost.unfinished), (PeerId(0), &heard.waiting));
        assert_eq!(heard.waiting.len(), 1, "it is announced");
        assert!(lost.reason.contains("gave up a message"), "{}", lost.reason);
        assert!(!lost.reason.contains("answered"), "{}", lost.reason);
    }

    /// The sink knows nothing of a message that came before its turn, so it must not be told of
    /// the end of it.
    #[test]
    fn a_loss_ends_no_message_that_came_early_and_was_never_announced() {
        let now = Instant::ZERO;
        let mut config = Config::with_caps(2, 1000, Caps::FAST);
        config.lost_after = Some(core::time::Duration::from_secs(10));
        let mut peer: Endpoint = Endpoint::new(NodeId(0), config.clone());
        let mut driver = Rmpp::with_config(NodeId(1), config);
        let mut heard = Heard::default();
        let sent = [500, 500].map(|len| {
            peer.send(NodeId(1), Message::of(len, false), now).unwrap();
            packet(&mut peer, now)
        });
        driver.take_packet(PeerId(0), &sent[1], now, &mut heard);
        assert!(driver.core.incoming().at(0).is_some(), "it is kept");
        // It asks for what is missing, in vain.
        let own = Outbound {
            envelope: &[0; ENVELOPE_BYTES],
            body: Area::EMPTY,
            token: Token(1),
            is_awaited: true,
            needs_match: false,
        };
        driver.send(PeerId(0), own, now).unwrap();
        let mut now = now;
        while heard.lost.is_empty() {
            driver.transmit(now, 64, |_| 64);
            now = driver.next_timeout().expect("it waits for an answer");
            driver.handle_timeout(now);
            driver.tell(now, &mut heard, |_| Route::default());
        }
        assert!(heard.waiting.is_empty(), "its turn has not come");
        assert!(heard.lost[0].unfinished.is_empty(), "{:?}", heard.lost);
        assert_eq!(heard.lost[0].unsent, [Token(1)]);
    }
}
